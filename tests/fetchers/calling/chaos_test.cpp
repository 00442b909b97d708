// Searches engines with every fault of the chaos server: all must end in time and leak nothing.

#include <algorithm>
#include <chrono>

#include <catch2/catch.hpp>

#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/fetchers/calling/holdings.h"
#include "tests/support/chaos_server.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

std::string definition_of(const ChaosServer& server, const Fault& fault, const std::string& timeout) {
  const bool is_trusted = fault.name.starts_with("tls-") && fault.name != "tls-self-signed";
  return block(std::string(fault.name), server.url(fault.name), is_trusted ? server.trust() : "", timeout);
}

}  // namespace

TEST_CASE("Every kind of fault ends in time with a list or a named reason", "[fetchers][chaos]") {
  const Holdings before;
  {
    const ChaosServer server;
    for (const Fault& fault : faults()) {
      INFO(fault.name);
      const auto fetcher = fetcher_of(definition_of(server, fault, "0.7"));
      const auto begin = std::chrono::steady_clock::now();
      const FetchedList list = fetch_one(*fetcher, std::string(fault.name));
      const auto took = std::chrono::steady_clock::now() - begin;
      INFO(name_of(list.failure) << ": " << list.message);
      CHECK(std::find(fault.outcomes.begin(), fault.outcomes.end(), list.failure) != fault.outcomes.end());
      CHECK(list.list.hits.size() == (list.has_failed() ? 0U : 3U));
      CHECK(list.has_failed() == !list.message.empty());
      CHECK(took < seconds(8));  // 2 s on idle cores; faults that hang would last for ever
    }
  }
  const Holdings after;
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.threads <= before.threads);  // a thread of an earlier test may just have ended
  CHECK(faults().size() >= 60);
}

TEST_CASE("Each fault repeated 75 times ends in time and leaks nothing", "[fetchers][chaos][full]") {
  const Holdings before;
  {
    const ChaosServer server;
    std::string blocks;
    std::vector<ExpandedQuery> queries;
    for (const Fault& fault : faults()) {
      blocks += definition_of(server, fault, "0.2");
      queries.push_back({"t", std::string(fault.name), "q"});
    }
    const auto fetcher = fetcher_of(blocks, {.uses_breaker = false, .learned_wait = {.is_on = false}});
    const Clock& clock = machine_clock();
    std::size_t heap_after_some = 0;
    for (int episode = 0; episode < 75; ++episode) {
      const auto begin = clock.now();
      const auto lists = fetcher->fetch(queries, {.deadline = Deadline(clock, milliseconds(500))}, {});
      CHECK(clock.now() - begin < milliseconds(600));
      REQUIRE(lists.size() == queries.size());
      for (const FetchedList& list : lists)
        CHECK((list.has_failed() ? !list.message.empty() : !list.list.hits.empty()));
      if (episode == 14) heap_after_some = Holdings().heap_bytes;
    }
    if (kMeasuresMemory) CHECK(Holdings().heap_bytes < heap_after_some + (std::size_t{512} << 10));
  }
  const Holdings after;
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.threads <= before.threads);  // a thread of an earlier test may just have ended
}
