#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/wait.h>

#include "core/text_file.h"
#include "tests/support/temporary_folder.h"

namespace metafuse::test {

/// The result of a program.
struct CommandResult {
  int status = -1;  ///< exit status; 128 + the signal's number if a signal ended it
  std::string out;
  std::string err;
};

/// Runs a program with arguments, which no shell interprets, and waits for its end.
inline CommandResult run_command(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  std::string line;
  for (const std::string& argument : arguments) {
    std::string quoted;
    for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'' + quoted + "' ";
  }
  line += "</dev/null >'" + folder.path("out") + "' 2>'" + folder.path("err") + "'";
  const int state = std::system(line.c_str());
  CommandResult result;
  result.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  const auto out = read_text(folder.path("out"), std::size_t{1} << 28);
  const auto err = read_text(folder.path("err"), std::size_t{1} << 28);
  if (!out || !err) throw std::runtime_error("no output of " + line);
  result.out = *out;
  result.err = *err;
  return result;
}

/// Runs this build's metafuse.
inline CommandResult run_metafuse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), METAFUSE_EXECUTABLE);
  return run_command(arguments);
}

}  // namespace metafuse::test
