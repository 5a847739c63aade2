#include "tuner/records/link_row.h"

#include <filesystem>

namespace hockney {
namespace {

constexpr bool kRequired = true;

constexpr Column<LinkRow> kLinkColumns[] = {
    {"level", &LinkRow::level, kRequired},
    {"rank_a", &LinkRow::rank_a, kRequired},
    {"rank_b", &LinkRow::rank_b, kRequired},
    {"host_a", &LinkRow::host_a},
    {"host_b", &LinkRow::host_b},
    {"size_bytes", &LinkRow::size_bytes, kRequired},
    {"pairs", &LinkRow::pairs},
    {"duplex", &LinkRow::duplex},
    {"time_us_median", &LinkRow::time_us_median, kRequired},
    {"time_us_ci_low", &LinkRow::time_us_ci_low},
    {"time_us_ci_high", &LinkRow::time_us_ci_high},
};

}  // namespace

std::span<const Column<LinkRow>> LinkRow::Columns() { return kLinkColumns; }

std::vector<LinkRow> ReadLinks(const std::string& path, std::vector<std::string>* notes) {
  const std::filesystem::path given(path);
  const bool is_folder = std::filesystem::is_directory(given);
  return ReadTable<LinkRow>((is_folder ? given / "links.csv" : given).string(), notes);
}

}  // namespace hockney
