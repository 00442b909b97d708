#pragma once

#include <memory>
#include <string_view>

#include "core/deadline.h"
#include "core/ranked_list.h"
#include "core/result.h"
#include "fetchers/definition/engine.h"
#include "fetchers/embedded/local_engine.h"

namespace metafuse::fetchers {

/// An engine that answers without HTTP: the embedded index, a SQLite file, a program. Safe to use from
/// several threads.
class EmbeddedEngine {
 public:
  explicit EmbeddedEngine(const Engine& engine);

  /// errors: try_again: the deadline passed; usage: a query that the engine refuses; else as the engine says
  Result<RankedList> search(std::string_view query, int depth, int offset, const Deadline& deadline);

 private:
  Engine engine_;
  std::unique_ptr<LocalEngine> local_;
};

/// One SELECT on a file that is opened read-only; the query is a bound parameter.
Result<RankedList> search_sqlite(const SqliteAccess& access, std::string_view query, int depth, int offset,
                                 const Deadline& deadline);

/// One run of a program: no shell, empty environment, output and time limited.
///
/// errors: usage: a query with NUL or a line end, or one that begins with `-` and does not stand after `--`
Result<RankedList> search_command(const CommandAccess& access, std::string_view query, int depth,
                                  const Deadline& deadline);

}  // namespace metafuse::fetchers
