#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/engines/index/cosine_engine.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/passage_source.h"
#include "fetchers/engines/index/vector_engine.h"
#include "fetchers/engines/sql/database.h"
#include "fetchers/model/engine.h"
#include "fetchers/model/fetched_list.h"
#include "fetchers/recording/har_archive.h"

namespace metafuse::fetchers {

/// An engine that answers without HTTP: the embedded index, a SQLite file, a database or a
/// program. Thread-safe.
class EmbeddedEngine {
 public:
  /// in: tracking - the parameters that the addresses of hits lack
  explicit EmbeddedEngine(const Engine& engine,
                          const TrackingParameters& tracking = default_tracking_parameters());

  /// True for an engine that may have to wait for something else, so that it must not be called on the thread
  /// that waits for all lists.
  bool blocks() const;

  /// in:     vector - the query's, if the engine has an embedding; else empty
  /// errors: try_again: the deadline passed; usage: a query that the engine refuses; else those of the engine
  Result<RankedList> search(std::string_view query, std::span<const float> vector, int depth, int offset,
                            const Deadline& deadline);

  /// As Fetcher::prepare(). A failure is left to the first search.
  void prepare();

  /// As Fetcher::passages(). A failure gives no passages: the results can be shown without them.
  std::vector<Passage> passages(std::string_view words, std::span<const Hit* const> hits,
                                const Deadline& deadline);

 private:
  Engine engine_;
  std::unique_ptr<LocalEngine> local_;
  std::unique_ptr<VectorEngine> vectors_;
  std::unique_ptr<CosineEngine> cosine_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<PassageSource> passages_;
};

/// Searches an engine that is not behind HTTP, in the calling thread.
///
/// in:     writer - where the exchange is recorded, or nullptr; vector - as in EmbeddedEngine::search
/// out:    fetched - reads its query and sets the rest
void search_embedded(EmbeddedEngine& engine, const FetchOptions& options, const Clock& clock,
                     HarWriter* writer, FetchedList& fetched, std::span<const float> vector = {});

/// Answers the query of `fetched` from a recording.
void replay_embedded(const HarArchive& archive, const FetchOptions& options, FetchedList& fetched);

}  // namespace metafuse::fetchers
