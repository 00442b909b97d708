#include "fetchers/engines/index/index_shape.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"
#include "fetchers/engines/index/word_lists.h"

namespace metafuse::fetchers {
namespace {

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_column_name(std::string_view name) {
  const auto is_part = [](char c) { return is_ascii_letter_or_digit(c) || c == '_'; };
  return !name.empty() && name.size() <= 64 && !is_ascii_digit(name.front()) && name != "rank" &&
         name != "rowid" && name != "documents" && std::all_of(name.begin(), name.end(), is_part);
}

}  // namespace

Result<IndexShape> shape_of_index(SqliteDatabase& database) {
  IndexShape shape;
  TRY(shape.lists, read_list_shape(database));
  TRY(auto rows, database.prepare("SELECT name FROM pragma_table_info('numbers') WHERE name <> 'id'"));
  TRY_VOID(rows.for_each_row([&](const SqliteRow& row) { shape.numbers.emplace_back(row.text(0)); }));
  return shape;
}

std::string joined_columns(const std::vector<std::string>& columns, bool as_marks) {
  std::string out;
  for (const std::string& column : columns)
    out += (out.empty() ? "" : ", ") + (as_marks ? std::string("?") : '"' + column + '"');
  return out;
}

Result<void> check_column_name(std::string_view name, const std::string& place) {
  if (is_column_name(name)) return {};
  return fail(
      Code::bad_data,
      fmt::format("{}: the field name \"{}\" cannot be a column; use letters, digits and _, a letter first",
                  place, name));
}

Result<void> check_document(const SourceDocument& document) {
  if (document.url.empty()) return fail(Code::bad_data, document.place + ": no \"url\"");
  for (const auto& [name, value] : document.fields) TRY_VOID(check_column_name(name, document.place));
  for (const auto& [name, value] : document.numbers) TRY_VOID(check_column_name(name, document.place));
  return {};
}

Result<NewFields> new_fields(const IndexShape& shape, const SourceDocument& document) {
  NewFields fields;
  const auto note = [&](const std::string& name, const std::vector<std::string>& known,
                        const std::vector<std::string>& others,
                        std::vector<std::string>& names) -> Result<void> {
    if (has_name(known, name)) return {};
    if (has_name(others, name))
      return fail(Code::bad_data, document.place + ": the field \"" + name +
                                      "\" is a text in one document and a number in another; use one type");
    names.push_back(name);
    if (known.size() + names.size() <= kMaxColumns) return {};
    return fail(Code::bad_data,
                document.place + ": more than " + std::to_string(kMaxColumns) + " different fields");
  };
  for (const auto& [name, value] : document.fields)
    TRY_VOID(note(name, shape.lists.columns, shape.numbers, fields.texts));
  for (const auto& [name, value] : document.numbers)
    TRY_VOID(note(name, shape.numbers, shape.lists.columns, fields.numbers));
  return fields;
}

}  // namespace metafuse::fetchers
