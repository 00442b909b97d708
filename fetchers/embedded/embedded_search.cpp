#include "fetchers/embedded/embedded_search.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/child_process.h"
#include "core/encoding.h"
#include "core/languages.h"
#include "core/sqlite_database.h"
#include "core/text.h"
#include "core/url.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/recording/har_archive.h"
#include "fetchers/vectors/vector_rows.h"

namespace metafuse::fetchers {
namespace {

/// The exit status with which grep and similar programs report that they found nothing; higher ones
/// are failures.
constexpr int kNothingFound = 1;

constexpr std::size_t kMaxEmbeddedTitleBytes = 500;
constexpr std::size_t kMaxEmbeddedSnippetBytes = 2000;

/// The arguments with the query inserted, or an error if the query is not acceptable as an argument.
Result<std::vector<std::string>> filled_arguments(const CommandAccess& access, std::string_view query) {
  if (query.find_first_of(std::string_view("\0\n\r", 3)) != std::string_view::npos)
    return fail(Code::usage, "a query with a NUL byte or a line break cannot be passed as an argument");
  std::vector<std::string> out;
  bool is_behind_options_end = false;
  for (const std::string& argument : access.arguments) {
    if (argument != "{{QUERY}}") {
      is_behind_options_end = is_behind_options_end || (argument == "--" && !out.empty());
      out.push_back(argument);
      continue;
    }
    if (query.starts_with('-') && !is_behind_options_end)
      return fail(Code::usage,
                  "a query that begins with - would be read as an option of the program; put \"--\" before "
                  "\"{{QUERY}}\" if the program supports it");
    out.emplace_back(query);
  }
  return out;
}

Hit hit_of(const CommandAccess& access, std::string_view line) {
  Hit hit;
  for (std::size_t i = 0; i < access.fields.size(); ++i) {
    const bool is_last = i + 1 == access.fields.size();
    const std::size_t end = is_last ? line.size() : std::min(line.find(access.delimiter), line.size());
    const std::string_view value = line.substr(0, end);
    const std::string& field = access.fields[i];
    if (field == "url") hit.url = resolved_url(access.url_prefix + std::string(value), "").value_or("");
    if (field == "title") hit.title = clean_text(value, false, kMaxEmbeddedTitleBytes);
    if (field == "content") hit.snippet = clean_text(value, false, kMaxEmbeddedSnippetBytes);
    if (field == "published") hit.published = clean_date(value);
    if (field == "language") hit.language = language_tag(value);
    line.remove_prefix(std::min(end + access.delimiter.size(), line.size()));
  }
  if (hit.title.empty()) hit.title = hit.url;
  return hit;
}

}  // namespace

Result<RankedList> search_command(const CommandAccess& access, std::string_view query, int depth,
                                  const Deadline& deadline) {
  TRY(auto arguments, filled_arguments(access, query));
  ChildProcess process;
  TRY_VOID(process.start(std::move(arguments)));
  TRY(const auto output, process.read(access.max_bytes, deadline));
  if (output.empty()) {
    TRY(const int status, process.status(deadline));
    if (status > kNothingFound)
      return fail(Code::unavailable,
                  fmt::format("the program printed nothing and ended with status {}", status));
  }
  RankedList list;
  for (std::string_view rest = output; !rest.empty() && static_cast<int>(list.hits.size()) < depth;) {
    std::string_view line = take_until(rest, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    Hit hit = hit_of(access, line);
    if (!hit.url.empty()) list.hits.push_back(std::move(hit));
  }
  return list;
}

Result<RankedList> search_sqlite(const SqliteAccess& access, std::string_view query, int depth, int offset,
                                 const Deadline& deadline) {
  TRY(auto database, SqliteDatabase::open(access.database, {}));
  database.set_deadline(&deadline);
  auto statement = database.prepare(access.statement);
  if (!statement) return fail(Code::bad_config, "query_str: " + statement.error().text);
  statement->bind_named(":query", query);
  statement->bind_named(":wildcard", "%" + std::string(query) + "%");
  statement->bind_named(":limit", depth);
  // A statement without :offset also returns the rows before the window, which are skipped here.
  const int skipped = statement->bind_named(":offset", offset) ? 0 : offset;
  HitRows rows(access.url_format, depth, skipped);
  while (!rows.is_full()) {
    TRY(const auto row, statement->next());
    if (!row) break;
    // Names from before the first step may become invalid after it.
    std::vector<std::string_view> columns, values;
    for (int i = 0; i < row->columns(); ++i) {
      columns.push_back(row->name(i));
      values.push_back(row->text(i));
    }
    rows.add(columns, values);
  }
  return rows.take();
}

EmbeddedEngine::EmbeddedEngine(const Engine& engine) : engine_(engine) {
  if (const auto* local = std::get_if<LocalAccess>(&engine_.access))
    local_ = std::make_unique<LocalEngine>(*local);
  if (const auto* vectors = std::get_if<VectorAccess>(&engine_.access))
    vectors_ = std::make_unique<VectorEngine>(*vectors);
  if (const auto* cosine = std::get_if<CosineAccess>(&engine_.access))
    cosine_ = std::make_unique<CosineEngine>(*cosine);
  if (const auto* database = std::get_if<DatabaseAccess>(&engine_.access)) {
    const Duration timeout = engine_timeout(engine_);
    using Server = DatabaseAccess::Server;
    database_ = database->server == Server::postgresql ? make_postgresql(*database, timeout)
                : database->server == Server::mariadb  ? make_mariadb(*database, timeout)
                                                       : make_odbc(*database, timeout);
  }
}

bool EmbeddedEngine::blocks() const {
  return database_ != nullptr || std::holds_alternative<CommandAccess>(engine_.access);
}

Result<RankedList> EmbeddedEngine::search(std::string_view query, std::span<const float> vector, int depth,
                                          int offset, const Deadline& deadline) {
  const Deadline own = deadline.within(engine_timeout(engine_));
  if (local_) return local_->search(query, depth, offset, own);
  if (vectors_) return vectors_->search(query, vector, depth, offset, own);
  if (cosine_) return cosine_->search(query, depth, offset, own);
  if (database_)
    return database_->search({query, vector.empty() ? std::string() : vector_text(vector), depth, offset},
                             own);
  if (const auto* sqlite = std::get_if<SqliteAccess>(&engine_.access))
    return search_sqlite(*sqlite, query, depth, offset, own);
  const auto& command = std::get<CommandAccess>(engine_.access);
  auto list = search_command(command, query, depth + offset, own);
  if (list && offset > 0)
    list->hits.erase(list->hits.begin(),
                     list->hits.begin() + std::min<std::ptrdiff_t>(offset, std::ssize(list->hits)));
  return list;
}

namespace {

Failure failure_of(const Error& error) {
  switch (error.code) {
    case Code::try_again:
      return Failure::timeout;
    case Code::usage:
      return Failure::not_allowed;
    case Code::no_input:
    case Code::unavailable:
      return Failure::refused;
    default:
      return Failure::bad_answer;
  }
}

HttpRequest request_of(const FetchedList& fetched, const FetchOptions& options) {
  return embedded_request(fetched.query.engine, fetched.query.text, options.depth,
                          (options.page - 1) * options.depth);
}

}  // namespace

void search_embedded(EmbeddedEngine& engine, const FetchOptions& options, const Clock& clock,
                     HarWriter* writer, FetchedList& fetched, std::span<const float> vector) {
  const TimePoint begin = clock.now();
  auto list = engine.search(fetched.query.text, vector, options.depth, (options.page - 1) * options.depth,
                            options.deadline);
  fetched.elapsed = clock.now() - begin;
  if (!list) {
    fetched.failure = failure_of(list.error());
    fetched.message = list.error().text;
  }
  if (writer != nullptr) {
    HttpAnswer answer = embedded_answer(list, fetched.elapsed);
    answer.failure = fetched.failure;
    writer->append(request_of(fetched, options), answer);
  }
  if (list) fetched.list = std::move(*list);
}

void replay_embedded(const HarArchive& archive, const FetchOptions& options, FetchedList& fetched) {
  const HttpRequest request = request_of(fetched, options);
  const HttpAnswer* answer = archive.find(exchange_key(request));
  if (answer == nullptr) {
    fetched.failure = Failure::not_recorded;
    fetched.message = "the recording does not contain " + request.record_url;
    return;
  }
  fetched.elapsed = answer->elapsed;
  fetched.failure = answer->failure;
  fetched.message = answer->message;
  if (answer->failure != Failure::none) return;
  auto list = read_embedded_answer(*answer);
  if (list) {
    fetched.list = std::move(*list);
  } else {
    fetched.failure = Failure::bad_answer;
    fetched.message = list.error().text;
  }
}

}  // namespace metafuse::fetchers
