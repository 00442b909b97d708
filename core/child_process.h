#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/deadline.h"
#include "core/result.h"

namespace metafuse {

/// What a program gets beside its arguments.
struct ChildInput {
  std::string text{};                ///< on its standard input
  bool has_our_environment = false;  ///< else it has none
};

/// A program that runs with its standard output in a pipe; killed with its whole group when this goes away.
/// Nothing else of this process is inherited.
class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  /// in:     arguments - the program's path first
  /// errors: unavailable: it cannot be run; try_again: no pipe, no memory
  Result<void> start(std::vector<std::string> arguments, const ChildInput& input = {});

  /// All output up to the limit, at most to the end of a line there; what is beyond it is not waited for.
  ///
  /// errors: try_again: the deadline passed before the output ended; bad_data: it cannot be read
  Result<std::string> read(std::size_t max_bytes, const Deadline& deadline);

  /// What the program ended with: its status, or 128 and the signal that killed it.
  ///
  /// errors: try_again: the deadline passed before it ended
  Result<int> status(const Deadline& deadline) const;

 private:
  int output_ = -1;
  pid_t id_ = 0;
};

}  // namespace metafuse
