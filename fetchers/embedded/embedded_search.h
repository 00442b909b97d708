#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/databases/database.h"
#include "fetchers/definition/engine.h"
#include "fetchers/embedded/cosine_engine.h"
#include "fetchers/embedded/local_engine.h"
#include "fetchers/embedded/vector_engine.h"
#include "fetchers/fetcher.h"
#include "fetchers/recording/har_archive.h"

namespace metafuse::fetchers {

/// An engine that answers without HTTP: the embedded index, a SQLite file, a database or a
/// program. Thread-safe.
class EmbeddedEngine {
 public:
  explicit EmbeddedEngine(const Engine& engine);

  /// True for an engine that may have to wait for something else, so that it must not be called on the thread
  /// that waits for all lists.
  bool blocks() const;

  /// in:     vector - the query's, if the engine has an embedding; else empty
  /// errors: try_again: the deadline passed; usage: a query that the engine refuses; else those of the engine
  Result<RankedList> search(std::string_view query, std::span<const float> vector, int depth, int offset,
                            const Deadline& deadline);

 private:
  Engine engine_;
  std::unique_ptr<LocalEngine> local_;
  std::unique_ptr<VectorEngine> vectors_;
  std::unique_ptr<CosineEngine> cosine_;
  std::unique_ptr<Database> database_;
};

/// Runs one SELECT on a file that is opened read-only; the query is a bound parameter.
Result<RankedList> search_sqlite(const SqliteAccess& access, std::string_view query, int depth, int offset,
                                 const Deadline& deadline);

/// Runs a program once: no shell, an empty environment, limited output and time.
///
/// errors: usage: a query that contains a NUL or a line end, or begins with `-` without `--` in front of it
Result<RankedList> search_command(const CommandAccess& access, std::string_view query, int depth,
                                  const Deadline& deadline);

/// Searches an engine that is not behind HTTP, in the calling thread.
///
/// in:     writer - where the exchange is recorded, or nullptr; vector - as in EmbeddedEngine::search
/// out:    fetched - reads its query and sets the rest
void search_embedded(EmbeddedEngine& engine, const FetchOptions& options, const Clock& clock,
                     HarWriter* writer, FetchedList& fetched, std::span<const float> vector = {});

/// Answers the query of `fetched` from a recording.
void replay_embedded(const HarArchive& archive, const FetchOptions& options, FetchedList& fetched);

}  // namespace metafuse::fetchers
