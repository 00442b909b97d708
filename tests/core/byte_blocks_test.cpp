#include "core/byte_blocks.h"

#include <algorithm>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "core/text.h"

namespace metafuse {
namespace {

/// Random texts of few different letters. Each ends where its memory ends, so that the address sanitizer sees
/// every byte that is read behind it.
class RandomTexts {
 public:
  std::string_view next(std::size_t size) {
    bytes_ = std::make_unique<char[]>(size);
    for (std::size_t i = 0; i < size; ++i) bytes_[i] = "aab.\xC3"[random_.below(5)];
    return {bytes_.get(), size};
  }
  std::size_t below(std::size_t bound) { return random_.below(bound); }

 private:
  Random random_{3};
  std::unique_ptr<char[]> bytes_;
};

}  // namespace

TEST_CASE("Bytes are found in blocks as they are one after another", "[core][byte_blocks]") {
  RandomTexts texts;
  for (std::size_t size = 0; size < 80; ++size)
    for (int i = 0; i < 40; ++i) {
      const std::string_view text = texts.next(size);
      const std::string shown(text);
      INFO(shown);
      REQUIRE(find_byte(text, [](ByteBlock bytes) { return bytes == '.'; }) ==
              std::min(text.find('.'), size));
      REQUIRE(find_byte(text, [](ByteBlock bytes) { return SignedBlock(bytes) < 0; }) ==
              std::min(text.find('\xC3'), size));
      REQUIRE(find_byte(text, [](ByteBlock bytes) { return bytes == 'z'; }) == size);
    }
}

TEST_CASE("Pairs of bytes are found in blocks as they are one after another", "[core][byte_blocks]") {
  RandomTexts texts;
  for (std::size_t size = 0; size < 80; ++size)
    for (int i = 0; i < 40; ++i) {
      const std::string_view text = texts.next(size);
      const std::string shown(text);
      const auto has_no = [&](unsigned char first, unsigned char second) {
        return holds_nowhere(
            text, [&](ByteBlock bytes, ByteBlock next) { return (bytes == first) & (next == second); });
      };
      INFO(shown);
      REQUIRE(has_no('b', '.') == (text.find("b.") == std::string_view::npos));
      REQUIRE(has_no('.', '.') == (text.find("..") == std::string_view::npos));
      REQUIRE(holds_nowhere(text, [](ByteBlock bytes, ByteBlock) { return bytes == '.'; }) ==
              (text.find('.') == std::string_view::npos));
    }
}

TEST_CASE("A text is found in another as find() finds it", "[core][text]") {
  RandomTexts texts;
  for (std::size_t size = 0; size < 60; ++size)
    for (int i = 0; i < 60; ++i) {
      const std::string part(texts.next(texts.below(6)));
      const std::string_view text = texts.next(size);
      const std::string shown = std::string(text) + " has " + part;
      INFO(shown);
      REQUIRE(contains_text(text, part) == (text.find(part) != std::string_view::npos));
    }
  CHECK(contains_text("some longer text with a word at its end", "end"));
  CHECK(contains_text("some longer text with a word at its end", "some longer text with a word at its end"));
  CHECK_FALSE(
      contains_text("some longer text with a word at its end", "some longer text with a word at its end."));
}

}  // namespace metafuse
