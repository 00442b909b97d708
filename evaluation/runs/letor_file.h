#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace metafuse::evaluation {

/// One `index:value` of a row. A row has no cell for a feature that it does not name.
struct LetorCell {
  std::uint32_t index = 0;   ///< from 1, ascending within a row
  bool is_unranked = false;  ///< the value was NULL
  double value = 0.0;        ///< as written; in an aggregation file, the rank

  friend bool operator==(const LetorCell&, const LetorCell&) = default;
};

/// One line `grade qid:ID index:value ... # comment`; its views are valid until the callback returns.
struct LetorRow {
  double grade = 0.0;
  std::string_view query;
  std::string_view document;  ///< X of a comment `#docid = X ...` or `# X ...`, empty without a comment
  std::span<const LetorCell> cells;
  std::size_t line = 0;
};

constexpr std::uint32_t kLargestFeature = 1U << 24;
/// Of a file to train on: a column is kept for each number up to the largest one, used or not.
constexpr std::uint32_t kLargestTrainedFeature = 1U << 16;

using TakeLetorRow = std::function<Result<void>(const LetorRow&)>;

/// Reads a LETOR file (SVMlight with qid), plain or compressed, row by row in file order.
///
/// in:     values_are_ranks - true for an aggregation file: a value is a rank (1 is best) or NULL; otherwise
///         it is any finite number or NULL
///         take - receives each row; an Error from it stops the reading
/// errors: those of for_each_block; bad_data with file and line: no grade, no qid, an index that is not a
///         number, zero, above kLargestFeature or not ascending, a value that is not finite, a rank below 1
///         or with decimals; a file without any row
/// cost:   one buffer; no allocation per line
Result<void> for_each_letor_row(const std::string& path, bool values_are_ranks, const TakeLetorRow& take);

/// The parser alone, for callers that read the blocks themselves (for example, one block per thread).
///
/// in:     path, first_line - for errors; lines - whole lines, as for_each_block gives them
Result<void> parse_letor_lines(const std::string& path, std::string_view lines, std::size_t first_line,
                               bool values_are_ranks, const TakeLetorRow& take);

/// errors: bad_data with file and line: the row has a feature above kLargestTrainedFeature
Result<void> check_trained_features(const std::string& path, const LetorRow& row);

/// The error for a file without any row.
Error no_letor_row(const std::string& path);

}  // namespace metafuse::evaluation
