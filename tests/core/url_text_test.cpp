#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "core/url.h"

using namespace metafuse;

TEST_CASE("The parts of plain URLs equal those of the full parser", "[fetchers][url]") {
  // A capital letter in the scheme forces the full parser and changes nothing else.
  metafuse::Random random(11);
  constexpr std::string_view kPieces[] = {
      "127.0.0.1", "10.0.0.1", "example.org", "a-b.c", "localhost", ".",    "..", ":",
      "80",        "8080",     "65536",       "0",     "/",         "/a",   "/.", "/../",
      "?q=1",      "#x",       "@",           "u:p@",  "[::1]",     "0x7f", "1",  "256",
      "\\",        "%2e",      "%41",         "A",     " ",         "\"",   "-",  "//"};
  int read = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string rest = "ttp";
    rest += random.below(2) == 0 ? "s://" : "://";
    for (std::uint64_t left = 1 + random.below(6); left > 0; --left)
      rest += kPieces[random.below(std::size(kPieces))];
    const auto plain = parts_of_url("h" + rest), parsed = parts_of_url("H" + rest);
    INFO("h" << rest);
    REQUIRE(plain.has_value() == parsed.has_value());
    if (!plain) continue;
    ++read;
    CHECK(plain->scheme == parsed->scheme);
    CHECK(plain->host == parsed->host);
    CHECK(plain->port == parsed->port);
    CHECK(plain->path_and_query == parsed->path_and_query);
  }
  CHECK(read > 1000);
}
