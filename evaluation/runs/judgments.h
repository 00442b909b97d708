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

/// The judgments of one base query, in ascending byte order of document ids; each document occurs once.
struct QueryJudgments {
  std::string_view query;
  std::vector<Judgment> documents;

  /// The judgment of a document, or nullptr if it was not judged. O(log n).
  const Judgment* find(std::string_view document) const;
};

/// A qrels file; the views point into `storage`.
struct Judgments {
  std::vector<QueryJudgments> queries;  ///< in ascending byte order of ids
  std::shared_ptr<const void> storage;

  const QueryJudgments* find(std::string_view query) const;
};

/// Reads a qrels file with lines `topic iteration document grade`, plain or compressed; lines that start with
/// '#' are comments.
///
/// errors: those of open_text; bad_data with file and line: too few or too many columns, a grade that is not
///         a whole number, a document judged twice in a topic; a file without any line
/// cost:   O(lines * log(documents per topic)), less when a topic's documents are already in order
Result<Judgments> read_qrels(const std::string& path);

/// Reads qrels whose second column names a judgment group (a judge): one Judgments per group, ascending by
/// name. Each group may judge a document once.
/// errors: as read_qrels
Result<std::vector<Judgments>> read_qrels_groups(const std::string& path);

}  // namespace metafuse::evaluation
