#include "service/access/rates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/random.h"
#include "service/access/keys.h"
#include "service/access/quotas.h"
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

TEST_CASE("A quota counts the expanded queries of a day", "[service][keys]") {
  const UnixTime noon = test::kNewYear + 43200;
  Quotas quotas;
  const KeyConfig key{"ann", "", {}, 10};
  CHECK(quotas.charge(key, 6, noon).left == 4);
  const QuotaAnswer refused = quotas.charge(key, 5, noon);
  CHECK_FALSE(refused.is_within);
  CHECK(refused.retry_after_seconds == 43200);
  CHECK(quotas.charge(key, 4, noon).is_within);
  CHECK_FALSE(quotas.charge(key, 1, noon).is_within);
  CHECK(quotas.charge({"bob", "", {}, 10}, 10, noon).is_within);
  CHECK_FALSE(quotas.charge({"bob", "", {}, 10}, 11, noon + 86400).is_within);
  CHECK(quotas.charge(key, 10, noon + 86400).left == 0);
  CHECK(quotas.charge({"free", "", {}, 0}, 1000000, noon).is_within);
}

TEST_CASE("Processes share a quota through a counter and count alone while it is away", "[service][keys]") {
  std::uint64_t sum = 0;
  bool is_there = true;
  const SharedUsage shared = [&](std::string_view, std::int64_t, std::uint64_t amount) {
    return is_there ? std::optional(sum += amount) : std::nullopt;
  };
  Quotas first(shared);
  Quotas second(shared);
  const KeyConfig key{"ann", "", {}, 10};
  CHECK(first.charge(key, 6, test::kNewYear).left == 4);
  CHECK(second.charge(key, 4, test::kNewYear).left == 0);
  CHECK_FALSE(second.charge(key, 1, test::kNewYear).is_within);
  CHECK_FALSE(first.charge(key, 1, test::kNewYear).is_within);
  is_there = false;
  CHECK(first.charge(key, 7, test::kNewYear + 86400).left == 3);
  CHECK_FALSE(first.charge(key, 4, test::kNewYear + 86400).is_within);
}

TEST_CASE("Usage that a process counted alone is added to the counter later", "[service][keys]") {
  std::uint64_t sum = 0;
  bool is_there = false;
  const SharedUsage shared = [&](std::string_view, std::int64_t, std::uint64_t amount) {
    return is_there ? std::optional(sum += amount) : std::nullopt;
  };
  Quotas first(shared);
  Quotas second(shared);
  const KeyConfig key{"ann", "", {}, 100};
  CHECK(first.charge(key, 30, test::kNewYear).is_within);
  CHECK(first.charge(key, 20, test::kNewYear).is_within);
  CHECK(second.charge(key, 10, test::kNewYear).is_within);
  is_there = true;
  CHECK(first.charge(key, 5, test::kNewYear).is_within);
  CHECK(sum == 55);
  CHECK(second.charge(key, 5, test::kNewYear).left == 30);
  CHECK(sum == 70);
  CHECK_FALSE(second.charge(key, 31, test::kNewYear).is_within);
  CHECK(first.charge(key, 30, test::kNewYear).left == 0);
  CHECK(sum == 100);
}

TEST_CASE("A process uses up its block of a shared quota before asking the counter again",
          "[service][keys]") {
  std::uint64_t sum = 0;
  int asked = 0;
  const SharedUsage shared = [&](std::string_view, std::int64_t, std::uint64_t amount) {
    ++asked;
    return std::optional(sum += amount);
  };
  Quotas quotas(shared);
  const KeyConfig ann{"ann", "", {}, 640};  // blocks of one, two, four, eight, and then of ten
  std::uint64_t used = 0;
  for (const std::uint64_t block : {1, 2, 4, 8, 10, 10}) {
    CHECK_FALSE(quotas.charge_at_once(ann, 1, test::kNewYear));  // the counter would have to be asked
    const int before = asked;
    for (std::uint64_t i = 0; i < block; ++i) {
      const QuotaAnswer answer = quotas.charge(ann, 1, test::kNewYear);
      CHECK(answer.is_within);
      CHECK(answer.left == 640 - ++used);
      CHECK(asked == before + 1);
    }
  }
  CHECK(quotas.charge(ann, 1, test::kNewYear).is_within);
  CHECK_FALSE(quotas.charge_at_once(ann, 10, test::kNewYear));
  CHECK(quotas.charge_at_once(ann, 9, test::kNewYear)->left == 640 - 45);
  CHECK(asked == 7);
  CHECK(quotas.charge(ann, 25, test::kNewYear).is_within);  // more than a block
  CHECK(sum == 70);
  // of the last block only the part that is left of the quota
  sum = 129;
  const KeyConfig bob{"bob", "", {}, 130};  // blocks of two
  const QuotaAnswer last = quotas.charge(bob, 1, test::kNewYear);
  CHECK(last.is_within);
  CHECK(last.left == 0);
  const int before = asked;
  CHECK_FALSE(quotas.charge(bob, 1, test::kNewYear).is_within);
  CHECK_FALSE(quotas.charge_at_once(bob, 1, test::kNewYear)->is_within);
  CHECK(asked == before);
  // a block of yesterday is worth nothing today
  sum = 0;
  CHECK(quotas.charge(ann, 1, test::kNewYear + 86400).left == 639);
  CHECK(sum == 1);
}

TEST_CASE("A process that ends loses at most as much as it used plus 1/4096 of the quota",
          "[service][keys]") {
  const KeyConfig key{"ann", "", {}, 4'096'000};
  for (const std::uint64_t used : {1, 999, 1'000, 1'001, 2'999, 3'001, 50'000, 200'000}) {
    std::uint64_t sum = 0;
    Quotas quotas(
        [&](std::string_view, std::int64_t, std::uint64_t amount) { return std::optional(sum += amount); });
    for (std::uint64_t i = 0; i < used; ++i) REQUIRE(quotas.charge(key, 1, test::kNewYear).is_within);
    INFO(used);
    CHECK(sum >= used);
    CHECK(sum - used <= std::min<std::uint64_t>(used + 1'000, 64'000));
  }
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
