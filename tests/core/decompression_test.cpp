#include <catch2/catch.hpp>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "core/random.h"
#include "core/text_file.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;

namespace {

std::string some_text() {
  Random random(3);
  std::string text;
  for (int i = 0; i < 60000; ++i) text += std::to_string(random.below(1000000)) + (i % 7 == 0 ? "\n" : " ");
  return text;
}

std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(compressBound(text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string xzipped(const std::string& text, std::uint32_t window_bytes = 1 << 20) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  lzma_options_lzma options;
  REQUIRE_FALSE(lzma_lzma_preset(&options, 1));
  options.dict_size = window_bytes;
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  REQUIRE(lzma_stream_buffer_encode(
              filters, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
              text.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) == LZMA_OK);
  out.resize(size);
  return out;
}

std::string zstandard(const std::string& text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

}  // namespace

TEST_CASE("Compressed files are read as their text even with several members", "[core][decompression]") {
  const test::TemporaryFolder folder;
  const std::string text = some_text();
  for (const auto& packed : {gzipped(text), xzipped(text), zstandard(text)}) {
    const auto once = read_text(folder.write("once", packed), std::size_t{1} << 30);
    REQUIRE(once.has_value());
    CHECK(*once == text);
    const auto twice = read_text(folder.write("twice", packed + packed), std::size_t{1} << 30);
    REQUIRE(twice.has_value());
    CHECK(*twice == text + text);
  }
}

TEST_CASE("A compressed file that ends early or is damaged is an error at every length",
          "[core][decompression]") {
  const test::TemporaryFolder folder;
  const std::string text = some_text();
  for (const auto& packed : {gzipped(text), xzipped(text), zstandard(text)}) {
    for (const std::size_t cut : {packed.size() - 1, packed.size() - 4, packed.size() / 2, std::size_t{20}}) {
      const auto read = read_text(folder.write("cut", packed.substr(0, cut)), std::size_t{1} << 30);
      INFO(cut);
      REQUIRE(read.has_error());
      CHECK(read.error().code == Code::bad_data);
      CHECK(read.error().text.find("ends early") != std::string::npos);
    }
    std::string damaged = packed;
    for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 40; ++i)
      damaged[i] = static_cast<char>(~damaged[i]);
    const auto read = read_text(folder.write("damaged", damaged), std::size_t{1} << 30);
    REQUIRE(read.has_error());
    CHECK(read.error().code == Code::bad_data);
  }
}

TEST_CASE("A compressed file that asks for a window of more than 128 MiB is refused",
          "[core][decompression][security]") {
  const test::TemporaryFolder folder;
  const auto read = [&](const std::string& bytes) {
    return read_text(folder.write("window", bytes), std::size_t{1} << 20);
  };
  const auto is_refused = [](const Result<std::string>& got) {
    return got.has_error() && got.error().code == Code::bad_data &&
           got.error().text.find("more than 128 MiB") != std::string::npos;
  };
  CHECK(*read(xzipped("text", 64 << 20)) == "text");
  CHECK(is_refused(read(xzipped("text", 512 << 20))));
  // a frame header with its window descriptor (RFC 8878, 3.1.1.1.2), and an empty last block
  const auto frame = [](char window) {
    return std::string("\x28\xb5\x2f\xfd\0", 5) + window + std::string("\1\0\0", 3);
  };
  CHECK(*read(frame((27 - 10) << 3)) == "");
  CHECK(is_refused(read(frame((27 - 10) << 3 | 1))));
}
