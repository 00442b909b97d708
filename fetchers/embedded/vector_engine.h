#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/definition/engine.h"

namespace metafuse::fetchers {

/// True for an index whose vectors are made without an endpoint; false also where there is none to be read.
bool is_lsi_index(const std::string& database);

/// The embedded vector engine: the documents of an index by the cosine of their vectors with the query's,
/// exact, largest first, then in the order of the documents. Safe to use from several threads.
///
/// cost: one byte per dimension and document in memory, read at the first search; a search of 30,000 x 384
///       takes about a millisecond
class VectorEngine {
 public:
  explicit VectorEngine(VectorAccess access);
  ~VectorEngine();
  VectorEngine(const VectorEngine&) = delete;
  VectorEngine& operator=(const VectorEngine&) = delete;

  /// in:     query - turned into a vector by latent semantic indexing, where the index was made so
  ///         given - the query's vector from the endpoint, where the index was made by one; else empty
  /// out:    documents with a cosine above `min_score`; none for a query without a known word
  /// errors: no_input: no such index; bad_config: it has no vectors, or such of another model or size than
  ///         the query's; bad_data: it is damaged; try_again: the deadline passed, or the vectors are still
  ///         being read
  Result<RankedList> search(std::string_view query, std::span<const float> given, int depth, int offset,
                            const Deadline& deadline);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace metafuse::fetchers
