#include "core/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/decompression.h"
#include "core/diagnostics.h"

namespace metafuse {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

/// An open file, closed by the destructor; standard input stays open.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : number_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ > STDERR_FILENO) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

Error cannot_read(const std::string& path, const char* remedy) {
  return fail(Code::no_input, path + ": " + std::strerror(errno) + "; " + remedy);
}

/// Reads and decompresses the whole input; `take` receives each block.
Result<void> for_each_read(const std::string& path,
                           const std::function<Result<void>(std::string_view)>& take) {
  const Descriptor file(path);
  if (file.number() < 0) return cannot_read(path, "check the path and its permissions");
  struct stat status {};
  if (::fstat(file.number(), &status) == 0 && S_ISDIR(status.st_mode))
    return fail(Code::no_input, path + ": is a folder; name a file");
  const auto read_some = [&](char* buffer, std::size_t size) -> Result<std::size_t> {
    for (;;) {
      const ssize_t got = ::read(file.number(), buffer, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return cannot_read(path, "check the disk");
    }
  };
  // The first bytes tell how the file is compressed; they are read first, then replayed in front of the rest.
  std::string head(6, '\0');
  std::size_t head_size = 0;
  while (head_size < head.size()) {
    TRY(auto got, read_some(head.data() + head_size, head.size() - head_size));
    if (got == 0) break;
    head_size += got;
  }
  head.resize(head_size);
  std::size_t given = 0;
  const auto read_all = [&](char* buffer, std::size_t size) -> Result<std::size_t> {
    if (given == head.size()) return read_some(buffer, size);
    const std::size_t part = head.copy(buffer, size, given);
    given += part;
    return part;
  };
  return decompress(path, packing_of(head), read_all, take);
}

std::string_view without_bom(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

Error too_large(const std::string& path, const TextLimits& limits) {
  return fail(Code::bad_data, path + ": larger than " + std::to_string(limits.max_bytes) + " bytes");
}

Error line_too_long(const std::string& path, std::size_t line, const TextLimits& limits) {
  return fail(Code::bad_data, located(path, {line, 0},
                                      "a line longer than " + std::to_string(limits.max_line_bytes) +
                                          " bytes; this is not the expected text file"));
}

/// Maps a plain regular file; `storage` stays empty when it is something else or cannot be mapped.
FileText map_plain_file(const std::string& path) {
  FileText file{path, {}, nullptr};
  const int descriptor = path == "-" ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return file;
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes != MAP_FAILED) {
      std::shared_ptr<const void> storage(bytes,
                                          [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
      const std::string_view text(static_cast<const char*>(bytes), size);
      if (packing_of(text) == Packing::none) {
        ::madvise(bytes, size, MADV_SEQUENTIAL);
        file.text = text;
        file.storage = std::move(storage);
      }
    }
  }
  ::close(descriptor);
  return file;
}

std::size_t count_lines(std::string_view text) {
  // Eight bytes at a time: a line end is a byte that is zero after the exclusive or.
  constexpr std::uint64_t kEnds = 0x0a0a0a0a0a0a0a0a;
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  std::size_t count = 0;
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data(), 8);
    eight ^= kEnds;
    const std::uint64_t found =
        ~(((eight & kLow) + kLow) | eight | kLow) >> 7;  // a 1 in the lowest bit of each such byte
    count += static_cast<std::size_t>(found * 0x0101010101010101 >> 56);
  }
  return count + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

using TakeBlock = std::function<Result<void>(std::string_view, std::size_t)>;

bool is_plain_file(const Descriptor& file) {
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  char head[8] = {};
  const ssize_t got = ::pread(file.number(), head, sizeof head, 0);
  return got > 0 && packing_of(std::string_view(head, static_cast<std::size_t>(got))) == Packing::none;
}

/// Reads until the buffer is full or the input ends; returns the bytes read, negative on an error.
ssize_t read_fully(int descriptor, char* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(descriptor, to + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return got;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

/// Reads a plain file through one buffer that stays in the cache. A mapped file would cost one page fault per
/// page, and its pages would count as memory of this process.
Result<void> give_plain_blocks(const std::string& path, const Descriptor& file, const TakeBlock& take,
                               const TextLimits& limits) {
  std::vector<char> buffer(kReadBytes);
  std::size_t kept = 0;  // bytes of a line that began in the previous block
  std::size_t line = 1;
  std::uint64_t total = 0;
  for (;;) {
    if (kept == buffer.size()) {
      if (buffer.size() > limits.max_line_bytes) return line_too_long(path, line, limits);
      buffer.resize(buffer.size() * 2);
    }
    const ssize_t got = read_fully(file.number(), buffer.data() + kept, buffer.size() - kept);
    if (got < 0)
      return fail(Code::no_input, path + ": cannot be read: " + std::strerror(errno) + "; check the file");
    const bool is_last = static_cast<std::size_t>(got) < buffer.size() - kept;
    std::string_view text(buffer.data(), kept + static_cast<std::size_t>(got));
    if (total == 0) text = without_bom(text);
    total += static_cast<std::uint64_t>(got);
    if (total > limits.max_bytes) return too_large(path, limits);
    const std::size_t end = is_last ? text.size() : text.rfind('\n') + 1;
    if (end > 0) {
      if (auto taken = take(text.substr(0, end), line); !taken) return taken;
      line += count_lines(text.substr(0, end));
    }
    if (is_last) return {};
    kept = text.size() - end;
    std::memmove(buffer.data(), text.data() + end, kept);
  }
}

Result<void> give_read_blocks(const std::string& path, const TakeBlock& take, const TextLimits& limits) {
  std::string pending;
  std::size_t line = 1;
  std::uint64_t total = 0;
  auto read = for_each_read(path, [&](std::string_view block) -> Result<void> {
    if (total == 0) block = without_bom(block);
    total += block.size();
    if (total > limits.max_bytes) return too_large(path, limits);
    const std::size_t end = block.rfind('\n');
    const std::size_t part = end == std::string_view::npos ? block.size() : end + 1;
    if (pending.size() + part > limits.max_line_bytes + kReadBytes) return line_too_long(path, line, limits);
    pending.append(block.substr(0, part));
    if (end == std::string_view::npos) return {};
    if (auto taken = take(pending, line); !taken) return taken;
    line += count_lines(pending);
    pending.assign(block.substr(part));
    return {};
  });
  if (!read || pending.empty()) return read;
  return take(pending, line);
}

}  // namespace

std::size_t FileText::line_of(const char* place) const {
  return 1 + count_lines(text.substr(0, static_cast<std::size_t>(place - text.data())));
}

Result<FileText> open_text(const std::string& path, const TextLimits& limits) {
  FileText file = map_plain_file(path);
  if (file.storage == nullptr) {
    auto bytes = std::make_shared<std::string>();
    auto read = for_each_read(path, [&](std::string_view block) -> Result<void> {
      if (bytes->size() + block.size() > limits.max_bytes) return too_large(path, limits);
      bytes->append(block);
      return {};
    });
    if (!read) return read.error();
    file.text = *bytes;
    file.storage = std::move(bytes);
  }
  if (file.text.size() > limits.max_bytes) return too_large(path, limits);
  file.text = without_bom(file.text);
  return file;
}

Result<void> for_each_block(const std::string& path, const TakeBlock& take, const TextLimits& limits) {
  if (path != "-") {
    const Descriptor file(path);
    if (is_plain_file(file)) return give_plain_blocks(path, file, take, limits);
  }
  return give_read_blocks(path, take, limits);
}

Result<void> for_each_line(const std::string& path,
                           const std::function<Result<void>(std::string_view, std::size_t)>& take,
                           const TextLimits& limits) {
  return for_each_block(
      path,
      [&](std::string_view block, std::size_t number) -> Result<void> {
        for (; !block.empty(); ++number) {
          const std::size_t end = std::min(block.find('\n'), block.size());
          std::string_view line = block.substr(0, end);
          block.remove_prefix(std::min(end + 1, block.size()));
          if (line.size() > limits.max_line_bytes) return line_too_long(path, number, limits);
          if (line.ends_with('\r')) line.remove_suffix(1);
          if (std::memchr(line.data(), 0, line.size()) != nullptr)
            return fail(Code::bad_data, located(path, {number, 0}, "a NUL byte; this is not a text file"));
          if (auto taken = take(line, number); !taken) return taken;
        }
        return {};
      },
      limits);
}

Result<std::string> read_text(const std::string& path, std::size_t max_bytes) {
  std::string text;
  auto read = for_each_read(path, [&](std::string_view block) -> Result<void> {
    if (text.size() + block.size() > max_bytes)
      return fail(Code::bad_data, path + ": larger than " + std::to_string(max_bytes) + " bytes");
    text.append(block);
    return {};
  });
  if (!read) return read.error();
  return text;
}

}  // namespace metafuse
