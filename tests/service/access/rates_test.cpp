#include "service/access/rates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/random.h"
#include "service/access/keys.h"
#include "service/http/exchange.h"
#include "tests/support/manual_clock.h"
#include "tests/support/sample_search.h"

using namespace metafuse;
using namespace metafuse::service;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("An address is limited by its prefix /32 or /48", "[service][limits]") {
  CHECK(address_prefix("192.0.2.7") == "192.0.2.7/32");
  CHECK(address_prefix("::ffff:192.0.2.7") == "192.0.2.7/32");
  CHECK(address_prefix("::ffff:c000:0207") == "192.0.2.7/32");
  CHECK(address_prefix("2001:db8:1:2:3:4:5:6") == "2001:db8:1::/48");
  CHECK(address_prefix("2001:DB8:1::") == "2001:db8:1::/48");
  CHECK(address_prefix("2001:db8:2::1") == "2001:db8:2::/48");
  CHECK(address_prefix("fe80::1%eth0") == "fe80::/48");
  CHECK(address_prefix("::1") == "::/48");
  for (const char* text : {"", "localhost", "1.2.3", "1.2.3.4.5", "01.2.3.4x", "1.2.3.4/8", "[::1]"})
    CHECK(address_prefix(text) == "unknown");
}

TEST_CASE("An address range contains all addresses of its prefix including mapped IPv4",
          "[service][limits]") {
  const auto holds = [](const char* range, const char* address) {
    return parse_address_range(range).value().contains(address);
  };
  CHECK(holds("192.0.2.7", "192.0.2.7"));
  CHECK(holds("192.0.2.7", "::ffff:192.0.2.7"));
  CHECK_FALSE(holds("192.0.2.7", "192.0.2.8"));
  CHECK(holds("10.0.0.0/8", "10.255.0.1"));
  CHECK_FALSE(holds("10.0.0.0/8", "11.0.0.0"));
  CHECK(holds("172.16.0.0/12", "172.31.255.255"));
  CHECK_FALSE(holds("172.16.0.0/12", "172.32.0.0"));
  CHECK(holds("0.0.0.0/0", "255.255.255.255"));
  CHECK_FALSE(holds("0.0.0.0/0", "::1"));
  CHECK(holds("2001:db8::/33", "2001:db8:7fff::1"));
  CHECK_FALSE(holds("2001:db8::/33", "2001:db8:8000::1"));
  CHECK(holds("::/0", "192.0.2.7"));
  CHECK_FALSE(holds("::/0", "proxy"));
  for (const char* text :
       {"", "proxy", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "10.0.0/8", "/8"})
    CHECK(parse_address_range(text).has_error());
}

TEST_CASE("A token bucket admits a burst and then its rate", "[service][limits]") {
  test::ManualClock clock;
  RateLimiter limiter(2, 3);
  for (int i = 0; i < 3; ++i) CHECK(limiter.take("a", clock.now()).is_admitted);
  const Admission refused = limiter.take("a", clock.now());
  CHECK_FALSE(refused.is_admitted);
  CHECK(refused.retry_after_seconds == Approx(0.5));
  CHECK(limiter.take("b", clock.now()).is_admitted);
  clock.advance(milliseconds(499));
  CHECK_FALSE(limiter.take("a", clock.now()).is_admitted);
  clock.advance(milliseconds(1));
  CHECK(limiter.take("a", clock.now()).is_admitted);
  clock.advance(seconds(1000));
  for (int i = 0; i < 3; ++i) CHECK(limiter.take("a", clock.now()).is_admitted);
  CHECK_FALSE(limiter.take("a", clock.now()).is_admitted);
}

TEST_CASE("A lowered rate applies to full buckets too", "[service][limits]") {
  test::ManualClock clock;
  RateLimiter limiter(1, 10);
  CHECK(limiter.take("a", clock.now()).is_admitted);
  limiter.set_rate(1, 2);
  for (int i = 0; i < 4; ++i) CHECK(limiter.take("a", clock.now()).is_admitted == (i < 2));
  CHECK(limiter.per_second() == 1);
  CHECK(limiter.burst() == 2);
  limiter.set_rate(1, 0.5);
  CHECK(limiter.burst() == 1);  // with less, nothing would ever pass
}

TEST_CASE("A rate of 0 means no limit and costs no memory", "[service][limits]") {
  test::ManualClock clock;
  RateLimiter limiter(0, 1);
  for (int i = 0; i < 100; ++i) CHECK(limiter.take("a", clock.now()).is_admitted);
  CHECK(limiter.size() == 0);
}

TEST_CASE("A request that costs more than the burst waits for a full bucket", "[service][limits]") {
  test::ManualClock clock;
  RateLimiter limiter(1, 4);
  CHECK(limiter.take("a", clock.now(), 100).is_admitted);
  const Admission refused = limiter.take("a", clock.now(), 100);
  CHECK(refused.retry_after_seconds == Approx(4));
}

TEST_CASE("Tokens given back never fill a bucket beyond its burst", "[service][limits]") {
  test::ManualClock clock;
  RateLimiter limiter(1, 2);
  CHECK(limiter.take("a", clock.now()).is_admitted);
  limiter.give_back("a", clock.now(), 1);
  limiter.give_back("a", clock.now(), 1);
  for (int i = 0; i < 3; ++i) CHECK(limiter.take("a", clock.now()).is_admitted == (i < 2));
}

TEST_CASE("What others used of a bucket is taken besides what was used meanwhile", "[service][limits]") {
  test::ManualClock clock;
  RateLimiter limiter(1, 10);
  CHECK(limiter.take("a", clock.now(), 4).is_admitted);
  REQUIRE(limiter.take_uses().size() == 1);
  CHECK(limiter.take_uses().empty());
  CHECK(limiter.take("a", clock.now(), 2).is_admitted);
  limiter.bound("a", 5);  // before the last two
  limiter.bound("unknown", 0);
  for (int i = 0; i < 4; ++i) CHECK(limiter.take("a", clock.now()).is_admitted == (i < 3));
}

TEST_CASE("The number of buckets is bounded and the least recently used is removed", "[service][limits]") {
  test::ManualClock clock;
  RateLimiter limiter(1, 1, 100);
  for (int i = 0; i < 10000; ++i) {
    CHECK(limiter.take(std::to_string(i), clock.now()).is_admitted);
    CHECK(limiter.size() <= 100);
  }
  CHECK_FALSE(limiter.take("9999", clock.now()).is_admitted);
  CHECK_FALSE(limiter.take("9900", clock.now()).is_admitted);
  CHECK(limiter.take("9899", clock.now()).is_admitted);
}

TEST_CASE("Token buckets agree with a model that keeps every bucket", "[service][limits]") {
  // The model: tokens of each client as exact eighths of a token, refilled by one eighth every 125 ms.
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    test::ManualClock clock;
    const std::int64_t burst = 1 + static_cast<std::int64_t>(random.below(5));
    RateLimiter limiter(1, static_cast<double>(burst), 50);
    std::map<std::string, std::int64_t> eighths;
    for (int step = 0; step < 400; ++step) {
      const auto ticks = static_cast<std::int64_t>(random.below(12));
      clock.advance(milliseconds(125) * ticks);
      for (auto& [client, tokens] : eighths) tokens = std::min(burst * 8, tokens + ticks);
      const std::string client = std::to_string(random.below(6));
      std::int64_t& tokens = eighths.try_emplace(client, burst * 8).first->second;
      const std::int64_t cost = std::min<std::int64_t>(burst, 1 + static_cast<std::int64_t>(random.below(2)));
      const Admission got = limiter.take(client, clock.now(), static_cast<double>(cost));
      REQUIRE(got.is_admitted == (tokens >= cost * 8));
      if (got.is_admitted)
        tokens -= cost * 8;
      else
        REQUIRE(got.retry_after_seconds == static_cast<double>(cost * 8 - tokens) / 8);
    }
  }
}

TEST_CASE("A key is found by its digest", "[service][keys]") {
  const KeyConfig keys[] = {{"ann", sha256_hex("key of ann"), {Role::search}, 0},
                            {"bob", sha256_hex("key of bob"), {Role::judge}, 0}};
  REQUIRE(find_key(keys, "key of ann") != nullptr);
  CHECK(find_key(keys, "key of ann")->name == "ann");
  CHECK(find_key(keys, "key of bob")->name == "bob");
  CHECK(find_key(keys, "key of eve") == nullptr);
  CHECK(find_key(keys, "") == nullptr);
  CHECK(find_key(keys, keys[0].sha256) == nullptr);
  CHECK(find_key({}, "key of ann") == nullptr);
}

TEST_CASE("A wrong key is remembered for its address until it becomes a right one", "[service][keys]") {
  const std::vector<KeyConfig> before = {{"ann", sha256_hex("key of ann"), {}, 0}};
  std::vector<KeyConfig> after = before;
  after.push_back({"bob", sha256_hex("key of bob"), {}, 0});
  test::ManualClock clock;
  KeyGuard guard(3);
  CHECK(guard.find_if_any(before, "key of ann", "a", clock.now())->name == "ann");
  for (int i = 0; i < 10; ++i) CHECK(guard.find_if_any(before, "key of bob", "a", clock.now()) == nullptr);
  CHECK_FALSE(guard.find(before, "guess", "a", clock.now()).retry_after_seconds);  // ten equal: one guess
  CHECK(guard.find_if_any(after, "key of bob", "a", clock.now())->name == "bob");
  // a key that was right at one address is unknown at another address that guesses
  for (int i = 0; i < 3; ++i) CHECK_FALSE(guard.find(before, "guess", "b", clock.now()).retry_after_seconds);
  CHECK(guard.find(before, "guess", "b", clock.now()).retry_after_seconds);
  CHECK(guard.find(before, "key of ann", "b", clock.now()).key == nullptr);
  CHECK(guard.find(before, "key of ann", "a", clock.now()).key != nullptr);
}
