#include "cli/standard_streams.h"

#include <initializer_list>

#include <fcntl.h>
#include <unistd.h>

namespace metafuse::cli {

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // the lowest free number is this one; opened the wrong way round, so that its use fails
    ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace metafuse::cli
