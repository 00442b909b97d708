#include "core/text_file.h"

#include <array>
#include <cstring>
#include <fstream>
#include <iostream>
#include <vector>

#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <sys/stat.h>

#include "core/diagnostics.h"

namespace metafuse {
namespace {

namespace io = boost::iostreams;

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

enum class Packing { none, gzip, xz, zstd };

Packing packing_of(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return Packing::gzip;
  if (head.starts_with(std::string_view("\xfd"
                                        "7zXZ\0",
                                        6)))
    return Packing::xz;
  if (head.starts_with("\x28\xb5\x2f\xfd")) return Packing::zstd;
  return Packing::none;
}

const char* name_of(Packing packing) {
  switch (packing) {
    case Packing::gzip:
      return "gzip";
    case Packing::xz:
      return "xz";
    case Packing::zstd:
      return "zstd";
    case Packing::none:
      break;
  }
  return "plain";
}

/// An opened input: the file, the decompressor in front of it, and what it is called in errors.
struct Input {
  std::ifstream file;
  io::filtering_istream stream;
  Packing packing = Packing::none;
};

Result<void> open_input(const std::string& path, Input& input) {
  if (path == "-") {
    input.stream.push(std::cin);
    return {};
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return fail(Code::no_input, path + ": " + std::strerror(errno) + "; check the path");
  if (S_ISDIR(status.st_mode)) return fail(Code::no_input, path + ": is a folder; name a file");
  input.file.open(path, std::ios::binary);
  if (!input.file)
    return fail(Code::no_input, path + ": " + std::strerror(errno) + "; check its permissions");
  std::array<char, 6> head{};
  input.file.read(head.data(), head.size());
  input.packing = packing_of(std::string_view(head.data(), static_cast<std::size_t>(input.file.gcount())));
  input.file.clear();
  input.file.seekg(0);
  switch (input.packing) {
    case Packing::gzip:
      input.stream.push(io::gzip_decompressor(), kBlockBytes);
      break;
    case Packing::xz:
      input.stream.push(io::lzma_decompressor(), kBlockBytes);
      break;
    case Packing::zstd:
      input.stream.push(io::zstd_decompressor(), kBlockBytes);
      break;
    case Packing::none:
      break;
  }
  input.stream.push(input.file, kBlockBytes);
  return {};
}

/// Reads blocks until the end; `take` gets each block.
Result<void> for_each_block(const std::string& path,
                            const std::function<Result<void>(std::string_view)>& take) {
  Input input;
  if (auto opened = open_input(path, input); !opened) return opened.error();
  std::vector<char> block(kBlockBytes);
  try {
    for (;;) {
      const std::streamsize got =
          io::read(input.stream, block.data(), static_cast<std::streamsize>(block.size()));
      if (got <= 0) return {};
      if (auto taken = take(std::string_view(block.data(), static_cast<std::size_t>(got))); !taken)
        return taken;
    }
  } catch (const std::exception&) {
    return fail(Code::bad_data, path + ": the " + name_of(input.packing) +
                                    " data is damaged or ends early; fetch or compress the file again");
  }
}

}  // namespace

Result<void> for_each_line(const std::string& path,
                           const std::function<Result<void>(std::string_view, std::size_t)>& take,
                           const TextLimits& limits) {
  std::string pending;
  std::size_t number = 0;
  std::uint64_t total = 0;
  const auto give = [&](std::string_view line) -> Result<void> {
    ++number;
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::memchr(line.data(), 0, line.size()) != nullptr)
      return fail(Code::bad_data, located(path, {number, 0}, "a NUL byte; this is not a text file"));
    return take(line, number);
  };
  auto read = for_each_block(path, [&](std::string_view block) -> Result<void> {
    total += block.size();
    if (total > limits.max_bytes)
      return fail(Code::bad_data, path + ": larger than " + std::to_string(limits.max_bytes) + " bytes");
    for (;;) {
      const std::size_t end = block.find('\n');
      const std::size_t part = end == std::string_view::npos ? block.size() : end;
      if (pending.size() + part > limits.max_line_bytes)
        return fail(Code::bad_data, located(path, {number + 1, 0},
                                            "a line longer than " + std::to_string(limits.max_line_bytes) +
                                                " bytes; this is not the expected text file"));
      if (end == std::string_view::npos) {
        pending.append(block);
        return {};
      }
      if (pending.empty()) {
        if (auto given = give(block.substr(0, end)); !given) return given;
      } else {
        pending.append(block.substr(0, end));
        if (auto given = give(pending); !given) return given;
        pending.clear();
      }
      block.remove_prefix(end + 1);
    }
  });
  if (!read) return read;
  if (!pending.empty()) return give(pending);
  return {};
}

Result<std::string> read_text(const std::string& path, std::size_t max_bytes) {
  std::string text;
  auto read = for_each_block(path, [&](std::string_view block) -> Result<void> {
    if (text.size() + block.size() > max_bytes)
      return fail(Code::bad_data, path + ": larger than " + std::to_string(max_bytes) + " bytes");
    text.append(block);
    return {};
  });
  if (!read) return read.error();
  return text;
}

}  // namespace metafuse
