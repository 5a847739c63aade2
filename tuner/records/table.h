#pragma once

#include <algorithm>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tuner/records/csv.h"
#include "tuner/records/fields.h"

namespace hockney {

// One column of a CSV file: its name (with unit) and the member of Row it is written from and read
// into.
template <class Row>
struct Column {
  template <class T>
  using Optional = std::optional<T> Row::*;
  using Member = std::variant<std::string Row::*, std::int64_t Row::*, std::uint64_t Row::*,
                              double Row::*, bool Row::*, Status Row::*, Collective Row::*,
                              Optional<std::int64_t>, Optional<std::uint64_t>, Optional<double>,
                              Optional<bool>, Optional<DataType>, Optional<ReduceOp>>;

  std::string_view name;
  Member member;
  bool required = false;  // a file without this column is not read
};

// A struct with one list of columns; header, writer and reader all follow it.
template <class T>
concept Record = std::default_initializable<T> && requires {
  { T::Columns() } -> std::convertible_to<std::span<const Column<T>>>;
};

// Returns the row of column names, ended by a line feed.
template <Record Row>
std::string NamesLine() {
  std::string line;
  for (const Column<Row>& column : Row::Columns()) line.append(column.name).append(",");
  line.back() = '\n';
  return line;
}

// Returns the row as one line, ended by a line feed. Throws std::invalid_argument naming the column
// if a text holds a line break.
template <Record Row>
std::string RowLine(const Row& row) {
  std::string line;
  for (const Column<Row>& column : Row::Columns()) {
    try {
      line += std::visit([&row](auto member) { return FormatField(row.*member); }, column.member);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(std::string(column.name) + ": " + error.what());
    }
    line += ',';
  }
  line.back() = '\n';
  return line;
}

// Reads all rows of a file this program wrote: unknown columns are left out, columns the file lacks
// keep their default, an empty optional is missing. A last line without end is dropped unless
// `unfinished` says otherwise; `notes`, if given, then gets a line saying so. Throws InputError for
// a missing required column and for a field that cannot be read.
template <Record Row>
std::vector<Row> ReadTable(const std::string& path, std::vector<std::string>* notes = nullptr,
                           UnfinishedLine unfinished = UnfinishedLine::kDrop) {
  CsvReader reader(path, unfinished);
  if (notes != nullptr && !reader.note().empty()) notes->push_back(reader.note());
  const auto& names = reader.names();
  std::vector<std::pair<const Column<Row>*, std::size_t>> found;  // column, field
  for (const Column<Row>& column : Row::Columns()) {
    const auto name = std::find(names.begin(), names.end(), column.name);
    if (name != names.end()) {
      found.emplace_back(&column, static_cast<std::size_t>(name - names.begin()));
    } else if (column.required) {
      reader.Fail(1, "expected a column named " + std::string(column.name));
    }
  }
  std::vector<Row> rows;
  std::vector<CsvField> fields;
  while (reader.Next(&fields)) {
    Row& row = rows.emplace_back();
    for (const auto& [column, index] : found) {
      const CsvField& field = fields[index];
      try {
        std::visit([&](auto member) { ParseField(field.text, &(row.*member)); }, column->member);
      } catch (const std::invalid_argument& error) {
        reader.Fail(field.column,
                    std::string(column->name) + ": \"" + field.text + "\": " + error.what());
      }
    }
  }
  return rows;
}

}  // namespace hockney
