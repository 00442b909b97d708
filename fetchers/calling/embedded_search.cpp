#include "fetchers/calling/embedded_search.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "fetchers/engines/command/command_engine.h"
#include "fetchers/engines/sql/sqlite_file.h"
#include "fetchers/engines/vector/vector_rows.h"

namespace metafuse::fetchers {
namespace {

constexpr std::chrono::minutes kLongestPreparation{5};

}  // namespace

EmbeddedEngine::EmbeddedEngine(const Engine& engine, const TrackingParameters& tracking) : engine_(engine) {
  if (const auto* local = std::get_if<LocalAccess>(&engine_.access))
    local_ = std::make_unique<LocalEngine>(*local);
  if (const auto* vectors = std::get_if<VectorAccess>(&engine_.access))
    vectors_ = std::make_unique<VectorEngine>(*vectors);
  if (const auto* cosine = std::get_if<CosineAccess>(&engine_.access))
    cosine_ = std::make_unique<CosineEngine>(*cosine);
  for (const std::string* index : {local_ ? &std::get<LocalAccess>(engine_.access).database : nullptr,
                                   vectors_ ? &std::get<VectorAccess>(engine_.access).database : nullptr,
                                   cosine_ ? &std::get<CosineAccess>(engine_.access).database : nullptr})
    if (index != nullptr) passages_ = std::make_unique<PassageSource>(*index, tracking);
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
  if (database_) {
    auto list =
        database_->search({query, vector.empty() ? std::string() : vector_text(vector), depth, offset}, own);
    if (list) return list;
    Error error = list.error();  // drivers repeat parts of what they connected with
    redact(error.text, std::get<DatabaseAccess>(engine_.access).secrets);
    return error;
  }
  if (const auto* sqlite = std::get_if<SqliteAccess>(&engine_.access))
    return search_sqlite(*sqlite, query, depth, offset, own);
  const auto& command = std::get<CommandAccess>(engine_.access);
  auto list = search_command(command, query, depth + offset, own);
  if (list && offset > 0)
    list->hits.erase(list->hits.begin(),
                     list->hits.begin() + std::min<std::ptrdiff_t>(offset, std::ssize(list->hits)));
  return list;
}

void EmbeddedEngine::prepare() {
  if (!passages_) return;
  const Clock& clock = machine_clock();
  const Deadline deadline(clock, kLongestPreparation);
  const std::string word = "a";
  if (local_) static_cast<void>(local_->search(word, 1, 0, deadline));
  if (vectors_) static_cast<void>(vectors_->search(word, {}, 1, 0, deadline));
  if (cosine_) static_cast<void>(cosine_->search(word, 1, 0, deadline));
  static_cast<void>(passages_->passages(word, {}, deadline));
}

std::vector<Passage> EmbeddedEngine::passages(std::string_view words, std::span<const Hit* const> hits,
                                              const Deadline& deadline) {
  if (!passages_) return {};
  auto found = passages_->passages(words, hits, deadline);
  return found ? std::move(*found) : std::vector<Passage>();
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

EngineRequest request_of(const FetchedList& fetched, const FetchOptions& options) {
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
    if (const auto recorded = writer->append(request_of(fetched, options), answer); !recorded) {
      fetched.failure = Failure::not_recorded;
      fetched.message = recorded.error().text;
      return;
    }
  }
  if (list) fetched.list = std::move(*list);
}

void replay_embedded(const HarArchive& archive, const FetchOptions& options, FetchedList& fetched) {
  const EngineRequest request = request_of(fetched, options);
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
