#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/deadline.h"
#include "core/result.h"

namespace metafuse {

/// What a program may use that reads bytes of unknown origin. It may also write no file and open no socket,
/// and gets no right that it was not started with.
struct ChildLimits {
  std::size_t memory_bytes = 0;  ///< of address space
  unsigned cpu_seconds = 0;
};

/// What a program is given besides its arguments.
struct ChildInput {
  std::string text{};                ///< the content of its standard input
  bool has_our_environment = false;  ///< passes on our environment variables; otherwise it gets none
  std::optional<ChildLimits> limits{};
};

/// A program whose standard output is read through a pipe. The destructor kills it with its whole process
/// group. The program inherits no other file descriptor of this process.
class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  /// in:     arguments - the program's path, then its arguments
  /// errors: unavailable: the program cannot be run; try_again: no pipe or no memory
  Result<void> start(std::vector<std::string> arguments, const ChildInput& input = {});

  /// Reads the output until it ends or exceeds `max_bytes`. Output that exceeds the limit is cut after the
  /// last complete line; the rest is neither read nor waited for.
  ///
  /// errors: try_again: the deadline passed before the output ended; bad_data: reading failed
  Result<std::string> read(std::size_t max_bytes, const Deadline& deadline);

  /// Waits for the program to end. Returns its exit status, or 128 plus the number of the signal that
  /// killed it.
  ///
  /// errors: try_again: the deadline passed before the program ended
  Result<int> status(const Deadline& deadline) const;

  /// Its number, which no other process gets while this lives; 0 before it is started.
  pid_t id() const { return id_; }

 private:
  int output_ = -1;
  pid_t id_ = 0;
};

}  // namespace metafuse
