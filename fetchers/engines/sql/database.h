#pragma once

// What all engines that query a database share: a statement with named values, rows as results, and the
// connection to a server.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/model/engine.h"

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
  /// $1, $2, ..., a ? for each, or the names as they are, which SQLite understands.
  enum class Marks { numbered, question, named };

  std::string text;
  std::vector<std::string> names;

  bool has(std::string_view name) const;
  std::vector<SqlArgument> arguments(const SqlWindow& window) const;
};

/// Replaces each `:name` by the driver's mark. String literals, quoted names (SQLite's in brackets, too),
/// comments, dollar quotes, `::` and `:=` are left alone.
///
/// errors: bad_config: an unknown name; a ? or $1 in the statement itself, which the driver would take for
///         a mark
Result<SqlStatementText> with_marks(std::string_view sql, SqlStatementText::Marks marks);

/// Turns rows into hits by the columns url, title, content, published, language and score. Rows before the
/// window, and rows without a URL or a part of it, are left out.
class HitRows {
 public:
  /// in:     url_format - "https://host/{COLUMN}", or empty if there is a column url
  ///      to_skip - rows before the window that the statement does not skip itself
  HitRows(std::string url_format, int depth, int to_skip)
      : url_format_(std::move(url_format)), depth_(depth), to_skip_(to_skip) {}

  /// Whether further rows change nothing.
  bool is_full() const { return static_cast<int>(list_.hits.size()) >= depth_ || !unknown_.empty(); }
  /// Requires equally many columns and values.
  void add(std::span<const std::string_view> columns, std::span<const std::string_view> values);
  /// errors: bad_config: url_format names a column that the rows do not have
  Result<RankedList> take();

 private:
  std::string url_format_;
  int depth_;
  int to_skip_;
  std::string unknown_;  ///< a column of url_format that the rows lack
  RankedList list_;
};

/// The error of an engine that this build leaves out.
/// in:     package - the Debian package with which it would be there
Error left_out(std::string_view what, std::string_view package);

/// How many unused connections to one database are kept for later searches.
inline constexpr std::size_t kMostIdleConnections = 8;

/// A database that is queried with one read-only statement with bound values. Calls block; they may come from
/// any thread.
class Database {
 public:
  Database(DatabaseAccess access, Duration timeout) : access_(std::move(access)), timeout_(timeout) {}
  virtual ~Database() = default;

  /// errors: unavailable: no server answers, or it rejected us; bad_config: it does not accept the statement;
  ///         try_again: not finished in time; bad_data: it cannot accept a value
  virtual Result<RankedList> search(const SqlWindow& window, const Deadline& deadline) = 0;

 protected:
  DatabaseAccess access_;
  Duration timeout_;
};

/// in:     access - with its secrets filled in; timeout - the limit that the server itself sets on
///         a statement
std::unique_ptr<Database> make_postgresql(const DatabaseAccess& access, Duration timeout);
std::unique_ptr<Database> make_mariadb(const DatabaseAccess& access, Duration timeout);
std::unique_ptr<Database> make_odbc(const DatabaseAccess& access, Duration timeout);

}  // namespace metafuse::fetchers
