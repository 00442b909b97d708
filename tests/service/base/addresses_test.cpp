#include "service/base/addresses.h"

#include <catch2/catch.hpp>

using namespace metafuse::service;

TEST_CASE("A range of one address is the longest prefix of each kind", "[service][addresses]") {
  const auto holds = [](const char* range, const char* address) {
    const auto parsed = parse_address_range(range);
    REQUIRE(parsed.has_value());
    return parsed->contains(address);
  };
  CHECK(holds("192.0.2.7/32", "192.0.2.7"));
  CHECK_FALSE(holds("192.0.2.7/32", "192.0.2.6"));
  CHECK(holds("192.0.2.7/31", "192.0.2.6"));
  CHECK(holds("2001:db8::1/128", "2001:db8::1"));
  CHECK_FALSE(holds("2001:db8::1/128", "2001:db8::2"));
  CHECK(parse_address_range("192.0.2.7/33").has_error());
  CHECK(parse_address_range("2001:db8::1/129").has_error());
}
