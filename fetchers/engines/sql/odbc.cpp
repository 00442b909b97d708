// Any database with an ODBC driver. Drivers may wait for their servers indefinitely, whatever time limit is
// set, and a thread inside a driver cannot be stopped. Therefore each search runs in a process
// metafuse_odbc (odbc_program), which is killed when its time is over. A driver that crashes
// affects nothing else.

#include <algorithm>
#include <vector>

#include <unistd.h>

#include "core/child_process.h"
#include "core/json.h"
#include "core/json_members.h"
#include "core/module.h"
#include "core/text.h"
#include "fetchers/engines/sql/database.h"

namespace metafuse::fetchers {
namespace {

constexpr const char* kOdbcProgram = "metafuse_odbc";
constexpr std::size_t kMaxOdbcAnswerBytes = std::size_t{8} << 20;

Error odbc_answer_error(const JsonObject& line) {
  const auto* code = JsonMembers(line).integer("code");
  const auto* text = JsonMembers(line).text("error");
  if (code == nullptr || text == nullptr)
    return fail(Code::bad_data, "ODBC: malformed answer from metafuse_odbc");
  return fail(static_cast<Code>(*code), std::string(*text));
}

std::vector<std::string_view> texts_of_line(const JsonArray& line) {
  std::vector<std::string_view> out;
  for (const Json& text : line)
    if (text.is_string()) out.emplace_back(text.get_string());
  return out;
}

class Odbc final : public Database {
 public:
  using Database::Database;

  Result<RankedList> search(const SqlWindow& window, const Deadline& deadline) override {
    TRY(const auto text, with_marks(access_.statement, SqlStatementText::Marks::question));
    // Skip the rows before the window here if the statement does not do it itself.
    const int skipped = text.has("offset") ? 0 : window.offset;
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(timeout_).count();
    JsonArray values;
    for (const SqlArgument& argument : text.arguments(window))
      std::visit([&](const auto& value) { values.emplace_back(value); }, argument);
    const JsonObject request{{"connection", access_.connection},
                             {"statement", text.text},
                             {"values", std::move(values)},
                             {"seconds", std::max<std::int64_t>(1, seconds)},
                             {"rows", window.depth + skipped}};
    const std::string path = module_path(kOdbcProgram);
    if (::access(path.c_str(), X_OK) != 0) return left_out("ODBC", "unixodbc-dev");
    ChildProcess program;
    TRY_VOID(program.start({path}, {to_text(request), true}));
    TRY(const auto answer, program.read(kMaxOdbcAnswerBytes, deadline));
    return read_answer(answer, HitRows(access_.url_format, window.depth, skipped));
  }

 private:
  static Result<RankedList> read_answer(std::string_view answer, HitRows rows) {
    if (answer.empty()) return fail(Code::unavailable, "ODBC: metafuse_odbc ended without an answer");
    Json first;
    std::vector<std::string_view> columns;
    while (!answer.empty()) {
      TRY(auto line, parse_json(take_until(answer, '\n'), "ODBC"));
      if (const JsonArray* texts = line.if_array()) {
        const auto row = texts_of_line(*texts);
        if (row.size() == columns.size()) rows.add(columns, row);
      } else if (line.is_object() && first.is_null() && line.get_object().contains("columns")) {
        first = std::move(line);
        if (const JsonArray* names = first.get_object().at("columns").if_array())
          columns = texts_of_line(*names);
      } else {
        return odbc_answer_error(line.is_object() ? line.get_object() : JsonObject());
      }
    }
    return rows.take();
  }
};

}  // namespace

std::unique_ptr<Database> make_odbc(const DatabaseAccess& access, Duration timeout) {
  return std::make_unique<Odbc>(access, timeout);
}

}  // namespace metafuse::fetchers
