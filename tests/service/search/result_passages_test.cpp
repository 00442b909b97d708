#include "service/search/result_passages.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/calling/fetcher.h"
#include "tests/support/manual_clock.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

/// An index that knows a passage of every page, and notes until when it is waited for.
class PassageFetcher final : public fetchers::Fetcher {
 public:
  std::vector<fetchers::FetchedList> fetch(
      std::span<const ExpandedQuery>, const fetchers::FetchOptions&,
      const std::function<void(const fetchers::FetchedList&)>&) override {
    return {};
  }
  std::vector<fetchers::Passage> passages(std::string_view, std::string_view,
                                          std::span<const Hit* const> hits,
                                          const Deadline& deadline) override {
    end = deadline.at();
    return std::vector<fetchers::Passage>(hits.size(), {"the passage", {}});
  }

  TimePoint end;
};

}  // namespace

TEST_CASE("Passages have the rest of the search's time and a tenth of a second at least",
          "[service][search][passages]") {
  const test::ManualClock clock;
  const auto fetcher = std::make_shared<PassageFetcher>();
  Snapshot snapshot;
  snapshot.engines.fetcher = fetcher;
  const LoadedDomain domain;
  SearchAnswer found;
  found.lists.resize(1);
  found.lists[0].query.engine = "own";
  found.results.resize(1);
  found.results[0].placements = {{0, 1}};
  const auto answer = std::make_shared<const SearchAnswer>(std::move(found));
  for (const auto& [left, given] : {std::pair{3000, 3000}, {100, 100}, {99, 100}, {-5000, 100}}) {
    const PreparedSearch search{.snapshot = snapshot,
                                .domain = domain,
                                .request = {},
                                .queries = {},
                                .end = clock.now() + std::chrono::milliseconds(left)};
    CHECK(with_passages(search, answer, {}, clock)->results[0].hit.snippet == "the passage");
    CHECK(fetcher->end - clock.now() == std::chrono::milliseconds(given));
  }
}
