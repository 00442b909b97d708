#include "core/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <lzma.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "core/diagnostics.h"
#include "core/text.h"

namespace metafuse {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;
constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
/// The window of earlier bytes that a compressed file may ask the reader to keep: as for xz -9 and zstd
/// --ultra -22, both of which need less. A file of a few bytes may ask for gigabytes.
constexpr int kMaxWindowBits = 27;
constexpr std::uint64_t kMaxXzBytes = std::uint64_t{1} << kMaxWindowBits;

/// Reads up to `size` bytes into `buffer`; returns their number, 0 at the end.
using ReadBytes = std::function<Result<std::size_t>(char* buffer, std::size_t size)>;
using TakeBytes = std::function<Result<void>(std::string_view)>;

struct Buffers {
  std::vector<char> input = std::vector<char>(kBlockBytes);
  std::vector<char> output = std::vector<char>(kBlockBytes);
};

Error needs_too_much(const std::string& path) {
  return fail(Code::bad_data,
              fmt::format("{}: decompressing it needs more than {} MiB of memory; compress it again with a "
                          "smaller window, such as by xz -6 or zstd -19",
                          path, kMaxXzBytes >> 20));
}

/// in:     what - "gzip data", and what is wrong with them
Error broken(const std::string& path, const char* what) {
  return fail(Code::bad_data, fmt::format("{}: the {}; fetch or compress the file again", path, what));
}

Result<void> read_plain(const ReadBytes& read, const TakeBytes& take) {
  Buffers buffers;
  for (;;) {
    TRY(auto got, read(buffers.input.data(), buffers.input.size()));
    if (got == 0) return {};
    if (auto taken = take({buffers.input.data(), got}); !taken) return taken;
  }
}

Result<void> read_gzip(const std::string& path, const ReadBytes& read, const TakeBytes& take) {
  Buffers buffers;
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return fail(Code::try_again, "out of memory for decompression");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  bool is_inside = false;  // inside a gzip member
  for (;;) {
    TRY(auto got, read(buffers.input.data(), buffers.input.size()));
    if (got == 0) {
      if (is_inside) return broken(path, "gzip data ends early");
      return {};
    }
    stream.next_in = reinterpret_cast<Bytef*>(buffers.input.data());
    stream.avail_in = static_cast<uInt>(got);
    bool is_full = false;
    while (stream.avail_in > 0 || is_full) {
      if (!is_inside) {
        if (inflateReset(&stream) != Z_OK) return broken(path, "gzip data is damaged");
        is_inside = true;
      }
      stream.next_out = reinterpret_cast<Bytef*>(buffers.output.data());
      stream.avail_out = static_cast<uInt>(buffers.output.size());
      const int status = inflate(&stream, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        return broken(path, "gzip data is damaged");
      is_full = stream.avail_out == 0 && status == Z_OK;
      is_inside = status != Z_STREAM_END;
      if (auto taken = take({buffers.output.data(), buffers.output.size() - stream.avail_out}); !taken)
        return taken;
    }
  }
}

Result<void> read_xz(const std::string& path, const ReadBytes& read, const TakeBytes& take) {
  Buffers buffers;
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxXzBytes, LZMA_CONCATENATED) != LZMA_OK)
    return fail(Code::try_again, "out of memory for decompression");
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> guard(&stream, lzma_end);
  lzma_action action = LZMA_RUN;
  for (;;) {
    if (stream.avail_in == 0 && action == LZMA_RUN) {
      TRY(auto got, read(buffers.input.data(), buffers.input.size()));
      stream.next_in = reinterpret_cast<const std::uint8_t*>(buffers.input.data());
      stream.avail_in = got;
      if (got == 0) action = LZMA_FINISH;
    }
    stream.next_out = reinterpret_cast<std::uint8_t*>(buffers.output.data());
    stream.avail_out = buffers.output.size();
    const lzma_ret status = lzma_code(&stream, action);
    if (status == LZMA_MEMLIMIT_ERROR) return needs_too_much(path);
    if (status == LZMA_BUF_ERROR) return broken(path, "xz data ends early");
    if (status != LZMA_OK && status != LZMA_STREAM_END) return broken(path, "xz data is damaged");
    if (auto taken = take({buffers.output.data(), buffers.output.size() - stream.avail_out}); !taken)
      return taken;
    if (status == LZMA_STREAM_END) return {};
  }
}

Result<void> read_zstd(const std::string& path, const ReadBytes& read, const TakeBytes& take) {
  Buffers buffers;
  const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                             ZSTD_freeDStream);
  if (stream == nullptr) return fail(Code::try_again, "out of memory for decompression");
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, kMaxWindowBits);
  std::size_t left = 0;  // 0 when a frame has just ended
  for (;;) {
    TRY(auto got, read(buffers.input.data(), buffers.input.size()));
    if (got == 0) {
      if (left != 0) return broken(path, "zstd data ends early");
      return {};
    }
    ZSTD_inBuffer input{buffers.input.data(), got, 0};
    bool is_full = false;
    while (input.pos < input.size || is_full) {
      ZSTD_outBuffer output{buffers.output.data(), buffers.output.size(), 0};
      left = ZSTD_decompressStream(stream.get(), &output, &input);
      if (ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge) return needs_too_much(path);
      if (ZSTD_isError(left) != 0) return broken(path, "zstd data is damaged");
      is_full = output.pos == output.size && left != 0;
      if (auto taken = take({buffers.output.data(), output.pos}); !taken) return taken;
    }
  }
}

/// Passes on the decompressed bytes, block by block. Consecutive gzip members, xz streams or zstd frames are
/// read as one stream, as gunzip, unxz and unzstd do.
using Decompress = Result<void> (*)(const std::string& path, const ReadBytes& read, const TakeBytes& take);

/// The decompressor for a file that begins like this; nullptr if the file is not compressed.
Decompress decompressor_of(std::string_view head) {
  constexpr std::string_view kXz(
      "\xfd"
      "7zXZ\0",
      6);
  if (head.starts_with("\x1f\x8b")) return read_gzip;
  if (head.starts_with(kXz)) return read_xz;
  if (head.starts_with("\x28\xb5\x2f\xfd")) return read_zstd;
  return nullptr;
}

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
Result<void> for_each_read(const std::string& path, const TakeBytes& take) {
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
  const Decompress decompress = decompressor_of(head);
  return decompress == nullptr ? read_plain(read_all, take) : decompress(path, read_all, take);
}

std::string_view without_bom(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

Error too_large(const std::string& path, std::uint64_t max_bytes) {
  return fail(Code::bad_data, path + ": larger than " + std::to_string(max_bytes) + " bytes");
}

Error line_too_long(const std::string& path, std::size_t line, const TextLimits& limits) {
  return fail(Code::bad_data, located(path, {line, 0},
                                      "a line longer than " + std::to_string(limits.max_line_bytes) +
                                          " bytes; this is not the expected text file"));
}

/// Why a whole line cannot be read; nullopt if it can.
std::optional<Error> flaw_of(std::string_view line, const std::string& path, std::size_t number,
                             const TextLimits& limits) {
  if (line.size() > limits.max_line_bytes) return line_too_long(path, number, limits);
  if (std::memchr(line.data(), 0, line.size()) != nullptr)
    return fail(Code::bad_data, located(path, {number, 0}, "a NUL byte; this is not a text file"));
  return std::nullopt;
}

/// Tells of a line that cannot be read, or returns the error if nobody is to be told.
Result<void> leave_out_line(const Error& why, const TextLimits& limits) {
  if (!limits.leave_out) return why;
  limits.leave_out(why);
  return {};
}

/// Passes over the rest of a line that is too long, of which only the beginning was read.
class LineSkipper {
 public:
  void begin() { is_inside_ = true; }

  /// The part of the text behind the line; empty if the line does not end in it.
  ///
  /// in:     line - the number of the line
  std::string_view rest_of(std::string_view text, std::size_t& line) {
    if (!is_inside_) return text;
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return text.substr(text.size());
    is_inside_ = false;
    ++line;
    return text.substr(end + 1);
  }

 private:
  bool is_inside_ = false;
};

/// Maps a plain regular file; `storage` stays empty when it is something else or cannot be mapped.
FileText map_plain_file(const std::string& path) {
  FileText file{path, {}, nullptr};
  const Descriptor opened(path);
  struct stat status {};
  if (path == "-" || ::fstat(opened.number(), &status) != 0 || !S_ISREG(status.st_mode)) return file;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.number(), 0);
  if (bytes == MAP_FAILED) return file;  // also for an empty file
  std::shared_ptr<const void> storage(bytes, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  const std::string_view text(static_cast<const char*>(bytes), size);
  if (is_compressed(text)) return file;
  ::madvise(bytes, size, MADV_SEQUENTIAL);
  file.text = text;
  file.storage = std::move(storage);
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
  return got > 0 && !is_compressed(std::string_view(head, static_cast<std::size_t>(got)));
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
  LineSkipper skipper;
  for (;;) {
    if (kept == buffer.size() && buffer.size() > limits.max_line_bytes) {
      TRY_VOID(leave_out_line(line_too_long(path, line, limits), limits));
      skipper.begin();
      kept = 0;
    } else if (kept == buffer.size()) {
      buffer.resize(buffer.size() * 2);
    }
    const ssize_t got = read_fully(file.number(), buffer.data() + kept, buffer.size() - kept);
    if (got < 0)
      return fail(Code::no_input, path + ": cannot be read: " + std::strerror(errno) + "; check the file");
    const bool is_last = static_cast<std::size_t>(got) < buffer.size() - kept;
    std::string_view text(buffer.data(), kept + static_cast<std::size_t>(got));
    if (total == 0) text = without_bom(text);
    total += static_cast<std::uint64_t>(got);
    if (total > limits.max_bytes) return too_large(path, limits.max_bytes);
    text = skipper.rest_of(text, line);
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
  LineSkipper skipper;
  auto read = for_each_read(path, [&](std::string_view block) -> Result<void> {
    if (total == 0) block = without_bom(block);
    total += block.size();
    if (total > limits.max_bytes) return too_large(path, limits.max_bytes);
    if (pending.size() + block.size() > limits.max_line_bytes + kReadBytes) {
      TRY_VOID(leave_out_line(line_too_long(path, line, limits), limits));
      skipper.begin();
      pending.clear();
    }
    block = skipper.rest_of(block, line);
    const std::size_t end = block.rfind('\n');
    const std::size_t part = end == std::string_view::npos ? block.size() : end + 1;
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

bool is_compressed(std::string_view head) {
  return decompressor_of(head) != nullptr;
}

std::size_t FileText::line_of(const char* place) const {
  return 1 + count_lines(text.substr(0, static_cast<std::size_t>(place - text.data())));
}

Result<FileText> open_text(const std::string& path, const TextLimits& limits) {
  FileText file = map_plain_file(path);
  if (file.storage == nullptr) {
    TRY(auto text, read_text(path, limits.max_bytes));
    auto bytes = std::make_shared<std::string>(std::move(text));
    file.text = *bytes;
    file.storage = std::move(bytes);
  }
  if (file.text.size() > limits.max_bytes) return too_large(path, limits.max_bytes);
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
          std::string_view line = take_until(block, '\n');
          if (const auto flaw = flaw_of(line, path, number, limits)) {
            TRY_VOID(leave_out_line(*flaw, limits));
            continue;
          }
          if (line.ends_with('\r')) line.remove_suffix(1);
          if (auto taken = take(line, number); !taken) return taken;
        }
        return {};
      },
      limits);
}

Result<std::string> read_beginning(const std::string& path, std::size_t bytes) {
  std::string text;
  const auto read = for_each_read(path, [&](std::string_view block) -> Result<void> {
    text.append(block.substr(0, bytes - text.size()));
    if (text.size() >= bytes) return fail(Code::try_again, "enough has been read");
    return {};
  });
  if (!read && text.size() < bytes) return read.error();
  return text;
}

Result<std::string> read_text(const std::string& path, std::size_t max_bytes) {
  std::string text;
  auto read = for_each_read(path, [&](std::string_view block) -> Result<void> {
    if (text.size() + block.size() > max_bytes) return too_large(path, max_bytes);
    text.append(block);
    return {};
  });
  if (!read) return read.error();
  return text;
}

}  // namespace metafuse
