#include "core/decompression.h"

#include <memory>
#include <vector>

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

namespace metafuse {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 18;

using TakeBytes = std::function<Result<void>(std::string_view)>;

struct Buffers {
  std::vector<char> input = std::vector<char>(kBlockBytes);
  std::vector<char> output = std::vector<char>(kBlockBytes);
};

Error broken(const std::string& path, Packing packing, const char* how) {
  return fail(Code::bad_data, fmt::format("{}: the {} data {}; fetch or compress the file again", path,
                                          name_of(packing), how));
}

Error damaged(const std::string& path, Packing packing) {
  return broken(path, packing, "is damaged");
}

Error ends_early(const std::string& path, Packing packing) {
  return broken(path, packing, "ends early");
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
      if (is_inside) return ends_early(path, Packing::gzip);
      return {};
    }
    stream.next_in = reinterpret_cast<Bytef*>(buffers.input.data());
    stream.avail_in = static_cast<uInt>(got);
    bool is_full = false;
    while (stream.avail_in > 0 || is_full) {
      if (!is_inside) {
        if (inflateReset(&stream) != Z_OK) return damaged(path, Packing::gzip);
        is_inside = true;
      }
      stream.next_out = reinterpret_cast<Bytef*>(buffers.output.data());
      stream.avail_out = static_cast<uInt>(buffers.output.size());
      const int status = inflate(&stream, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        return damaged(path, Packing::gzip);
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
  if (lzma_stream_decoder(&stream, UINT64_MAX, LZMA_CONCATENATED) != LZMA_OK)
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
    if (status == LZMA_BUF_ERROR) return ends_early(path, Packing::xz);
    if (status != LZMA_OK && status != LZMA_STREAM_END) return damaged(path, Packing::xz);
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
  std::size_t left = 0;  // 0 when a frame has just ended
  for (;;) {
    TRY(auto got, read(buffers.input.data(), buffers.input.size()));
    if (got == 0) {
      if (left != 0) return ends_early(path, Packing::zstd);
      return {};
    }
    ZSTD_inBuffer input{buffers.input.data(), got, 0};
    bool is_full = false;
    while (input.pos < input.size || is_full) {
      ZSTD_outBuffer output{buffers.output.data(), buffers.output.size(), 0};
      left = ZSTD_decompressStream(stream.get(), &output, &input);
      if (ZSTD_isError(left) != 0) return damaged(path, Packing::zstd);
      is_full = output.pos == output.size && left != 0;
      if (auto taken = take({buffers.output.data(), output.pos}); !taken) return taken;
    }
  }
}

}  // namespace

Packing packing_of(std::string_view head) {
  constexpr std::string_view kXz(
      "\xfd"
      "7zXZ\0",
      6);
  if (head.starts_with("\x1f\x8b")) return Packing::gzip;
  if (head.starts_with(kXz)) return Packing::xz;
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

Result<void> decompress(const std::string& path, Packing packing, const ReadBytes& read,
                        const TakeBytes& take) {
  switch (packing) {
    case Packing::gzip:
      return read_gzip(path, read, take);
    case Packing::xz:
      return read_xz(path, read, take);
    case Packing::zstd:
      return read_zstd(path, read, take);
    case Packing::none:
      break;
  }
  return read_plain(read, take);
}

}  // namespace metafuse
