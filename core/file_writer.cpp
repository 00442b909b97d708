#include "core/file_writer.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/atomic_file.h"
#include "core/contract.h"

namespace metafuse {

struct FileWriter::State {
  std::string path;
  std::string beside;  // empty: the target is written in place
  int descriptor = -1;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (descriptor > STDERR_FILENO) ::close(descriptor);
    if (!beside.empty()) ::unlink(beside.c_str());
  }
};

FileWriter::FileWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
FileWriter::FileWriter(FileWriter&&) noexcept = default;
FileWriter& FileWriter::operator=(FileWriter&&) noexcept = default;
FileWriter::~FileWriter() = default;

Result<FileWriter> FileWriter::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path == "-" ? "standard output" : path;
  struct stat status {};
  if (path == "-") {
    state->descriptor = STDOUT_FILENO;
  } else if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    state->descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    state->beside = path + ".XXXXXX";
    state->descriptor = ::mkostemp(state->beside.data(), O_CLOEXEC);
    if (state->descriptor < 0) state->beside.clear();
  }
  if (state->descriptor < 0) return write_error(state->path, errno);
  return FileWriter(std::move(state));
}

Result<void> FileWriter::write(std::string_view text) {
  require(state_ != nullptr && state_->descriptor >= 0, "the file is open");
  while (!text.empty()) {
    const ssize_t written = ::write(state_->descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return write_error(state_->path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> FileWriter::commit() {
  require(state_ != nullptr && state_->descriptor >= 0, "the file is open");
  if (state_->beside.empty()) {  // written in place
    if (state_->descriptor == STDOUT_FILENO) return {};
    const bool is_closed = ::close(std::exchange(state_->descriptor, -1)) == 0;
    if (!is_closed) return write_error(state_->path, errno);
    return {};
  }
  const bool is_safe = ::fchmod(state_->descriptor, 0644) == 0 && ::fsync(state_->descriptor) == 0;
  const int error = errno;
  const bool is_closed = ::close(state_->descriptor) == 0;
  state_->descriptor = -1;
  if (!is_safe) return write_error(state_->path, error);
  if (!is_closed || std::rename(state_->beside.c_str(), state_->path.c_str()) != 0)
    return write_error(state_->path, errno);
  state_->beside.clear();
  return {};
}

}  // namespace metafuse
