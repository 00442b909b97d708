#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse::evaluation {

struct Judgment {
  std::string_view document;
  int grade = 0;
};

/// The judgments of one base query, ascending by document id (bytewise), each document once.
struct QueryJudgments {
  std::string_view query;
  std::vector<Judgment> documents;

  /// The judgment of a document, or nullptr when it was not judged. O(log n).
  const Judgment* find(std::string_view document) const;
};

/// A qrels file; the views point into `storage`.
struct Judgments {
  std::vector<QueryJudgments> queries;  ///< ascending by id, bytewise
  std::shared_ptr<const void> storage;

  const QueryJudgments* find(std::string_view query) const;
};

}  // namespace metafuse::evaluation
