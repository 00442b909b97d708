#pragma once

// What all engines that query a database by a statement share: named parameters, and rows as results.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/query.h"
#include "core/result.h"

namespace metafuse::fetchers {

/// The values that a statement may refer to: `:query`, `:wildcard` (%query%), `:vector`, `:limit`
/// and `:offset`.
struct SqlWindow {
  std::string_view query;
  std::string vector;  ///< "[0.25,-0.5]"
  int depth = 30;
  int offset = 0;
};

using SqlArgument = std::variant<std::string, std::int64_t>;

/// A statement in the form that a driver accepts, with the names of its values in order.
struct SqlStatementText {
  enum class Marks { numbered, question };  ///< $1, $2, ... or a ? for each

  std::string text;
  std::vector<std::string> names;

  bool has(std::string_view name) const;
  std::vector<SqlArgument> arguments(const SqlWindow& window) const;
};

/// Replaces each `:name` by the driver's mark. String literals, quoted names, comments, dollar quotes, `::`
/// and `:=` are left alone.
///
/// errors: bad_config: an unknown name; a ? or $1 in the statement itself, which the driver would take for
///         a mark
Result<SqlStatementText> with_marks(std::string_view sql, SqlStatementText::Marks marks);

/// Turns rows into hits by the columns url, title, content, published, language and score. Rows before the
/// window and rows without a URL are left out.
class HitRows {
 public:
  /// in:     url_format - "https://host/{COLUMN}", or empty if there is a column url
  ///      to_skip - rows before the window that the statement does not skip itself
  HitRows(std::string url_format, int depth, int to_skip)
      : url_format_(std::move(url_format)), depth_(depth), to_skip_(to_skip) {}

  bool is_full() const { return static_cast<int>(list_.hits.size()) >= depth_; }
  /// Requires equally many columns and values.
  void add(std::span<const std::string_view> columns, std::span<const std::string_view> values);
  RankedList take() { return std::move(list_); }

 private:
  std::string url_format_;
  int depth_;
  int to_skip_;
  RankedList list_;
};

}  // namespace metafuse::fetchers
