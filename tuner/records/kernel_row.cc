#include "tuner/records/kernel_row.h"

#include <filesystem>

namespace hockney {
namespace {

constexpr bool kRequired = true;

constexpr Column<KernelRow> kKernelColumns[] = {
    {"host", &KernelRow::host},
    {"kernel", &KernelRow::kernel, kRequired},
    {"dtype", &KernelRow::dtype, kRequired},
    {"store", &KernelRow::store, kRequired},
    {"ranks_at_once", &KernelRow::ranks_at_once, kRequired},
    {"size_bytes", &KernelRow::size_bytes, kRequired},
    {"size_class", &KernelRow::size_class, kRequired},
    {"time_us_median", &KernelRow::time_us_median, kRequired},
    {"time_us_ci_low", &KernelRow::time_us_ci_low},
    {"time_us_ci_high", &KernelRow::time_us_ci_high},
    {"rate_GBps", &KernelRow::rate_GBps, kRequired},
};

}  // namespace

std::span<const Column<KernelRow>> KernelRow::Columns() { return kKernelColumns; }

std::vector<KernelRow> ReadKernels(const std::string& path, std::vector<std::string>* notes) {
  const std::filesystem::path given(path);
  const bool is_folder = std::filesystem::is_directory(given);
  return ReadTable<KernelRow>((is_folder ? given / "kernels.csv" : given).string(), notes);
}

}  // namespace hockney
