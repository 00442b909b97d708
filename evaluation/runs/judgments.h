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

/// Reads a qrels file: `topic iteration document grade` a line, plain or compressed; lines that start with
/// '#' are comments.
///
/// errors: those of open_text; bad_data with file and line: too few or too many columns, a grade that is no
///         whole number, a document judged twice in a topic; a file without any line
/// cost:   O(lines log documents of a topic), less when a topic's documents stand in order
Result<Judgments> read_qrels(const std::string& path);

/// Reads qrels whose second column names a judgment group (a judge): one Judgments a group, ascending by
/// name. A document may stand once in each group.
/// errors: as read_qrels
Result<std::vector<Judgments>> read_qrels_groups(const std::string& path);

}  // namespace metafuse::evaluation
