#include "fetchers/documents/table_documents.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/json.h"
#include "core/text_file.h"
#include "fetchers/answers/answer_text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostTableBytes = std::size_t{1} << 30;

// CSV (RFC 4180)

/// Reads one row from `text`, starting at byte `at`.
/// out:    its cells; `at` and `line` are moved past it
Result<std::vector<std::string>> read_csv_row(std::string_view text, std::size_t& at, std::size_t& line,
                                              const std::string& path) {
  std::vector<std::string> cells(1);
  const std::size_t first_line = line;
  bool is_quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') ++line;
    if (is_quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        cells.back() += text[++at];
      } else {
        is_quoted = false;
      }
    } else if (c == '"' && cells.back().empty()) {
      is_quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '\n') {
      ++at;
      return cells;
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  if (is_quoted)
    return fail(Code::bad_data,
                fmt::format("{}:{}: a quoted cell has no closing \"; add it", path, first_line));
  return cells;
}

/// A row with the names of its columns.
Result<SourceDocument> csv_document(const std::vector<std::string>& names, std::vector<std::string> cells,
                                    const std::string& path, std::size_t line) {
  SourceDocument document;
  document.place = fmt::format("{}:{}", path, line);
  document.file = path;
  if (cells.size() != names.size())
    return fail(Code::bad_data, fmt::format("{}: {} cells, but the first row names {} columns",
                                            document.place, cells.size(), names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "url")
      document.url = std::move(cells[i]);
    else
      set_field(document, names[i].c_str(), std::move(cells[i]));
  }
  return document;
}

/// Passes a row's document on. What is wrong with one row costs no other.
Result<void> give_row(Result<SourceDocument> document, const TakeDocument& take,
                      const LeaveOutRow& leave_out) {
  const auto taken = document ? take(std::move(*document)) : Result<void>(document.error());
  if (taken || taken.error().code != Code::bad_data) return taken;
  leave_out(taken.error().text);
  return {};
}

}  // namespace

Result<void> read_csv(const std::string& path, const TakeDocument& take, const LeaveOutRow& leave_out) {
  TRY(const auto bytes, read_text(path, kMostTableBytes));
  const std::string text = decoded_text(bytes);
  std::size_t at = 0;
  std::size_t line = 1;
  TRY(const auto names, read_csv_row(text, at, line, path));
  if (std::find(names.begin(), names.end(), "url") == names.end())
    return fail(
        Code::bad_data,
        path + ":1: there is no column url; the first row must name the columns, such as url,title,text");
  while (at < text.size()) {
    const std::size_t row = line;
    auto cells = read_csv_row(text, at, line, path);
    if (cells && cells->size() == 1 && cells->front().empty()) continue;
    auto document = cells ? csv_document(names, std::move(*cells), path, row) : cells.error();
    TRY_VOID(give_row(std::move(document), take, leave_out));
  }
  return {};
}

// JSON lines

namespace {

Result<SourceDocument> line_document(std::string_view line, std::size_t number, const std::string& path) {
  JsonLimits limits;
  limits.first_line = number;
  TRY(const auto json, parse_json(line, path, Code::bad_data, limits));
  const std::string place = path + ":" + std::to_string(number);
  const JsonObject* object = json.if_object();
  if (object == nullptr)
    return fail(Code::bad_data, place + ": not a JSON object; write {\"url\":...,\"title\":...}");
  TRY(auto document, json_document(*object, place));
  if (path != "-") document.file = path;
  return document;
}

/// The text of a text, a number, true or false; nothing for anything else.
std::optional<std::string> text_of_value(const Json& value) {
  if (value.is_string()) return std::string(value.as_string());
  if (value.is_number() || value.is_bool()) return to_text(value);
  return std::nullopt;
}

std::string joined_texts(const JsonArray& list) {
  std::string out;
  for (const Json& entry : list)
    if (const auto text = text_of_value(entry)) out += (out.empty() ? "" : ", ") + *text;
  return out;
}

}  // namespace

Result<void> read_json_lines(const std::string& path, const TakeDocument& take,
                             const LeaveOutRow& leave_out) {
  return for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return {};
    return give_row(line_document(line, number, path), take, leave_out);
  });
}

Result<SourceDocument> json_document(const JsonObject& object, const std::string& place) {
  SourceDocument document;
  document.place = place;
  for (const auto& [key, value] : object) {
    if (value.is_null()) continue;
    if (key == "url") {
      if (!value.is_string()) return fail(Code::bad_data, place + ": the url is not a text");
      document.url = std::string(value.as_string());
    } else if (value.is_number()) {
      document.numbers.emplace(key, value.to_number<double>());
    } else if (const JsonArray* list = value.if_array()) {
      if (auto text = joined_texts(*list); !text.empty()) document.fields.emplace(key, std::move(text));
    } else if (auto text = text_of_value(value)) {
      document.fields.emplace(key, std::move(*text));
    }
  }
  return document;
}

}  // namespace metafuse::fetchers
