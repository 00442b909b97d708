#include "fetchers/engines/index/packed_text.h"

#include <catch2/catch.hpp>

#include "fetchers/engines/index/index_update.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

std::string cafes() {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "caf\xC3\xA9 ";
  return text;
}

}  // namespace

TEST_CASE("A kept text is read back and a damaged one is refused", "[fetchers][passages]") {
  const std::string text = cafes();
  const std::string packed = packed_text(text);
  CHECK(packed.size() < text.size() / 10);
  CHECK(*unpacked_text(packed, text.size()) == text);
  CHECK_FALSE(unpacked_text(packed, text.size() - 1).has_value());
  for (std::size_t i = 0; i < packed.size(); ++i) {
    std::string damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    if (const auto read = unpacked_text(damaged, text.size())) CHECK(read->size() <= text.size());
  }
  CHECK_FALSE(unpacked_text("", text.size()).has_value());
  CHECK_FALSE(unpacked_text(packed.substr(0, packed.size() / 2), text.size()).has_value());
}

TEST_CASE("An index keeps long documents compressed and short ones as they are", "[fetchers][update]") {
  SourceDocument document;
  document.fields = {{"title", "Short"}, {"text", "a few words"}};
  document.numbers = {{"stars", 3}};
  for (const bool is_long : {false, true}) {
    INFO(is_long);
    if (is_long) document.fields["text"] = cafes();
    const std::string kept = kept_fields(document);
    CHECK(kept.starts_with('{') == !is_long);
    const auto read = kept_document(kept, "pages.db");
    REQUIRE(read.has_value());
    CHECK(read->fields == document.fields);
    CHECK(read->numbers == document.numbers);
    const auto damaged = kept_document(kept.substr(0, kept.size() / 2), "pages.db");
    REQUIRE_FALSE(damaged.has_value());
    CHECK(damaged.error().text.starts_with("pages.db:"));
  }
}
