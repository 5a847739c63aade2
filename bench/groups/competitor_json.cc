#include "bench/groups/competitor_json.h"

#include <nlohmann/json.hpp>

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

template <class Row>
Json RowJson(const Row& row) {
  Json fields = Json::array();
  for (const Column<Row>& column : Row::Columns()) {
    if (const auto* text = std::get_if<std::string Row::*>(&column.member)) {
      fields.push_back(row.**text);  // may hold what a CSV field may not
    } else {
      fields.push_back(
          std::visit([&row](auto member) { return FormatField(row.*member); }, column.member));
    }
  }
  return fields;
}

template <class Row>
Row ReadRow(const Json& fields) {
  Row row;
  std::size_t i = 0;
  for (const Column<Row>& column : Row::Columns()) {
    const auto text = fields.at(i++).get<std::string>();
    std::visit([&](auto member) { ParseField(text, &(row.*member)); }, column.member);
  }
  return row;
}

}  // namespace

Json ToJson(const Competitor& competitor) {
  Json samples = Json::array();
  for (const SampleRow& sample : competitor.samples) samples.push_back(RowJson(sample));
  return {{"row", RowJson(competitor.row)},
          {"samples", std::move(samples)},
          {"times_us", competitor.times_us},
          {"rank_us", competitor.rank_us},
          {"call_us", competitor.call_us}};
}

Competitor ReadCompetitor(const Json& json) {
  Competitor competitor;
  competitor.row = ReadRow<SweepRow>(json.at("row"));
  for (const Json& sample : json.at("samples")) {
    competitor.samples.push_back(ReadRow<SampleRow>(sample));
  }
  competitor.times_us = json.at("times_us").get<std::vector<double>>();
  competitor.rank_us = json.at("rank_us").get<std::vector<double>>();
  competitor.call_us = json.at("call_us").get<std::vector<double>>();
  return competitor;
}

}  // namespace hockney
