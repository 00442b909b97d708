#include "service/access/quotas.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>

#include "tests/support/sample_search.h"

using namespace metafuse;
using namespace metafuse::service;

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

TEST_CASE("Of a block that goes beyond the quota only what is left of the quota is used", "[service][keys]") {
  std::uint64_t sum = 0;
  Quotas quotas(
      [&](std::string_view, std::int64_t, std::uint64_t amount) { return std::optional(sum += amount); });
  const KeyConfig key{"ann", "", {}, 130};  // a block of one, then blocks of two
  CHECK(quotas.charge(key, 1, test::kNewYear).left == 129);
  sum = 129;  // other processes used the rest but one
  const QuotaAnswer last = quotas.charge(key, 1, test::kNewYear);
  CHECK(last.is_within);
  CHECK(last.left == 0);
  CHECK_FALSE(quotas.charge(key, 1, test::kNewYear).is_within);
}

TEST_CASE("A request that midnight overtakes at the counter is refused, and the new day is whole",
          "[service][keys]") {
  const UnixTime today = test::kNewYear + 86399;
  const UnixTime tomorrow = test::kNewYear + 86400;
  const KeyConfig key{"ann", "", {}, 130};
  std::map<std::int64_t, std::uint64_t> sums;
  Quotas* meanwhile = nullptr;
  Quotas quotas([&](std::string_view, std::int64_t day, std::uint64_t amount) {
    if (meanwhile != nullptr) std::exchange(meanwhile, nullptr)->charge(key, 1, tomorrow);
    return std::optional(sums[day] += amount);
  });
  meanwhile = &quotas;
  const QuotaAnswer overtaken = quotas.charge(key, 100, today);
  CHECK_FALSE(overtaken.is_within);
  CHECK(overtaken.retry_after_seconds == 1);
  CHECK(quotas.charge(key, 1, tomorrow).left == 128);
}

TEST_CASE(
    "Requests of one key that ask the counter at the same time do not count on the same rest of a block",
    "[service][keys]") {
  std::uint64_t sum = 0;
  Quotas* meanwhile = nullptr;
  const KeyConfig key{"ann", "", {}, 130};  // a block of one, then blocks of two
  bool is_other_within = false;
  Quotas quotas([&](std::string_view, std::int64_t, std::uint64_t amount) {
    if (meanwhile != nullptr)
      is_other_within = std::exchange(meanwhile, nullptr)->charge(key, 10, test::kNewYear).is_within;
    return std::optional(sum += amount);
  });
  for (int i = 0; i < 2; ++i) REQUIRE(quotas.charge(key, 1, test::kNewYear).is_within);  // one is left over
  meanwhile = &quotas;
  const QuotaAnswer answer = quotas.charge(key, 10, test::kNewYear);
  CHECK(is_other_within);
  CHECK(answer.is_within);
  CHECK(answer.left == 130 - 22);
  // a refused request gives back what it reserved, and what it got
  CHECK(quotas.charge(key, 1, test::kNewYear).is_within);  // one is left over
  sum = 128;                                               // other processes used the rest but two
  CHECK_FALSE(quotas.charge(key, 20, test::kNewYear).is_within);
  CHECK(quotas.charge(key, 3, test::kNewYear).is_within);
}
