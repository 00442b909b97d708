#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// True for an index whose vectors are made by latent semantic indexing, without an endpoint. Also false if
/// the index cannot be read.
bool is_lsi_index(const std::string& database);

/// The embedded vector engine: ranks the documents of an index exactly, by the cosine of their vectors with
/// the query's; ties in the order of the documents. Thread-safe.
///
/// cost:   one byte per dimension and document in memory, read at the first search; a search of 30,000 x 384
///         takes about a millisecond
class VectorEngine {
 public:
  explicit VectorEngine(VectorAccess access);
  ~VectorEngine();
  VectorEngine(const VectorEngine&) = delete;
  VectorEngine& operator=(const VectorEngine&) = delete;

  /// in:     query - turned into a vector here if the index uses latent semantic indexing
  ///         given - the query's vector from the endpoint if the index was made with one; else empty
  /// out:    documents with a cosine above `min_score`; none for a query without a known word
  /// errors: no_input: no such index; bad_config: it has no vectors, or their model or size differs from
  ///         the query's; bad_data: it is damaged; try_again: the deadline passed, or the vectors are still
  ///         being read
  Result<RankedList> search(std::string_view query, std::span<const float> given, int depth, int offset,
                            const Deadline& deadline);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace metafuse::fetchers
