#include "core/atomic_file.h"

#include <cerrno>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

#include "core/file_writer.h"

namespace metafuse {

Error write_error(const std::string& path, int number) {
  const bool is_full = number == ENOSPC || number == EDQUOT;
  const bool is_beyond_limit = number == EFBIG;
  const Code code = is_full || is_beyond_limit || number == EIO ? Code::try_again : Code::no_input;
  const char* remedy = is_full           ? "free some space and try again"
                       : is_beyond_limit ? "raise the limit on the size of files (ulimit -f) and try again"
                                         : "check the path and its permissions";
  return fail(code, path + ": cannot write: " + std::strerror(number) + "; " + remedy);
}

Result<void> check_writable(const std::string& path) {
  struct stat status {};
  if (path == "-") return {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return write_error(path, EISDIR);
    if (!S_ISREG(status.st_mode)) {  // a device or a pipe is written in place
      if (::access(path.c_str(), W_OK) != 0) return write_error(path, errno);
      return {};
    }
  } else if (errno != ENOENT) {
    return write_error(path, errno);
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return write_error(path, errno);
  return {};
}

Result<void> write_file(const std::string& path, std::string_view content) {
  TRY(auto writer, FileWriter::open(path));
  if (auto written = writer.write(content); !written) return written;
  return writer.commit();
}

}  // namespace metafuse
