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

/// Reads the rows of a text one after the other.
class CsvRows {
 public:
  CsvRows(std::string_view text, const std::string& path, char separator)
      : text_(text), path_(path), separator_(separator) {}

  bool has_more() const { return at_ < text_.size(); }
  std::size_t line() const { return line_; }  ///< where the next row begins

  /// The cells of the next row.
  Result<std::vector<std::string>> next() {
    std::vector<std::string> cells(1);
    const std::size_t first_line = line_;
    bool is_quoted = false;
    for (; has_more(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (is_quoted) {
        if (c != '"') {
          cells.back() += c;
        } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
          cells.back() += text_[++at_];
        } else {
          is_quoted = false;
        }
      } else if (c == '"' && cells.back().empty()) {
        is_quoted = true;
      } else if (c == separator_) {
        cells.emplace_back();
      } else if (c == '\n') {
        ++at_;
        return cells;
      } else if (c != '\r') {
        cells.back() += c;
      }
    }
    if (is_quoted)
      return fail(Code::bad_data,
                  fmt::format("{}:{}: a quoted cell has no closing \"; add it", path_, first_line));
    return cells;
  }

 private:
  std::string_view text_;
  const std::string& path_;
  char separator_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

/// A table whose first row has been read.
struct CsvTable {
  CsvRows rows;
  std::vector<std::string> names;  ///< of the columns
};

/// Reads the first row, and by it tells what separates cells: commas, or else semicolons, as spreadsheets of
/// many countries write, or tabs.
Result<CsvTable> open_table(std::string_view text, const std::string& path) {
  for (const char separator : {',', ';', '\t'}) {
    CsvRows rows(text, path, separator);
    TRY(auto names, rows.next());
    if (std::find(names.begin(), names.end(), "url") != names.end()) return CsvTable{rows, std::move(names)};
  }
  return fail(
      Code::bad_data,
      path + ":1: there is no column url; the first row must name the columns, such as url,title,text");
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
  if (!document) {
    leave_out(document.error().text);
    return {};
  }
  TRY(const auto refusal, take(std::move(*document)));
  if (refusal) leave_out(refusal->why);
  return {};
}

}  // namespace

Result<void> read_csv(const std::string& path, const TakeDocument& take, const LeaveOutRow& leave_out) {
  TRY(const auto bytes, read_text(path, kMostTableBytes));
  const std::string text = decoded_text(bytes);
  TRY(auto table, open_table(text, path));
  while (table.rows.has_more()) {
    const std::size_t row = table.rows.line();
    auto cells = table.rows.next();
    if (cells && cells->size() == 1 && cells->front().empty()) continue;
    auto document = cells ? csv_document(table.names, std::move(*cells), path, row) : cells.error();
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
  TextLimits limits;
  limits.leave_out = [&](const Error& why) { leave_out(why.text); };
  const auto take_line = [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return {};
    return give_row(line_document(line, number, path), take, leave_out);
  };
  return for_each_line(path, take_line, limits);
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
