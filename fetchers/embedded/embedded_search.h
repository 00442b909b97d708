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

/// An engine that answers without HTTP: the embedded index, a SQLite file, a database, a program. Safe to use
/// from several threads.
class EmbeddedEngine {
 public:
  explicit EmbeddedEngine(const Engine& engine);

  /// True for an engine that waits for others, so that it must not be asked on the thread that waits for
  /// all lists.
  bool blocks() const;

  /// errors: try_again: the deadline passed; usage: a query that the engine refuses; else as the engine says
  /// in:     vector - of the query, from the engine's embedding; empty where it has none
  Result<RankedList> search(std::string_view query, std::span<const float> vector, int depth, int offset,
                            const Deadline& deadline);

 private:
  Engine engine_;
  std::unique_ptr<LocalEngine> local_;
  std::unique_ptr<VectorEngine> vectors_;
  std::unique_ptr<CosineEngine> cosine_;
  std::unique_ptr<Database> database_;
};

/// One SELECT on a file that is opened read-only; the query is a bound parameter.
Result<RankedList> search_sqlite(const SqliteAccess& access, std::string_view query, int depth, int offset,
                                 const Deadline& deadline);

/// One run of a program: no shell, empty environment, output and time limited.
///
/// errors: usage: a query with NUL or a line end, or one that begins with `-` and does not stand after `--`
Result<RankedList> search_command(const CommandAccess& access, std::string_view query, int depth,
                                  const Deadline& deadline);

/// Asks an engine that is no HTTP engine, in this thread.
///
/// in:  writer - where the exchange is recorded, or nullptr; vector - as EmbeddedEngine::search
/// out: fetched - its query is asked; the rest is set
void search_embedded(EmbeddedEngine& engine, const FetchOptions& options, const Clock& clock,
                     HarWriter* writer, FetchedList& fetched, std::span<const float> vector = {});

/// The same from a recording.
void replay_embedded(const HarArchive& archive, const FetchOptions& options, FetchedList& fetched);

}  // namespace metafuse::fetchers
