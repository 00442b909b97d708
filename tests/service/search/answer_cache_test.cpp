#include "service/search/answer_cache.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "service/search/list_fusion.h"
#include "service/search/typed_conditions.h"
#include "service/store/redis_client.h"
#include "tests/support/manual_clock.h"
#include "tests/support/redis_server.h"

using namespace metafuse;
using namespace metafuse::service;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

LoadedDomain shoe_domain() {
  LoadedDomain domain;
  domain.domain.name = "shoes";
  domain.domain.depth = 10;
  domain.etag = "e1";
  return domain;
}

SearchAnswer answer_with(std::size_t hits, const std::string& text = "x") {
  SearchAnswer answer;
  answer.query = text;
  std::vector<fetchers::FetchedList> lists(2);
  for (std::size_t j = 0; j < lists.size(); ++j) {
    lists[j].query = {"t" + std::to_string(j), "e", text};
    lists[j].list.suggestions = {"boots"};
    for (std::size_t i = 0; i < hits; ++i)
      lists[j].list.hits.push_back({"http://example.org/" + std::to_string(i * (j + 1)), "t\"\n", "s\xc3\xbc",
                                    "2024-01-01", "", i == 0 ? std::optional(0.1) : std::nullopt});
    keep_best_of_each(lists[j].list, 0);
  }
  fuse_lists(shoe_domain(), std::move(lists), answer);
  return answer;
}

/// The cache by its definition: entries in the order of their last use, each with its expiry.
struct SlowCache {
  struct Entry {
    std::string key;
    TimePoint until;
    std::size_t bytes;
  };
  std::list<Entry> entries;
  std::size_t most;
  std::size_t most_bytes;
  Duration lifetime;

  bool get(const std::string& key, TimePoint now, std::size_t bytes) {
    const auto at =
        std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == key; });
    if (at != entries.end() && at->until > now) {
      entries.splice(entries.begin(), entries, at);
      return true;
    }
    if (at != entries.end()) entries.erase(at);
    if (bytes > most_bytes) return false;
    entries.push_front({key, now + lifetime, bytes});
    while (entries.size() > most || sum() > most_bytes) entries.pop_back();
    return false;
  }
  std::size_t sum() const {
    std::size_t out = 0;
    for (const Entry& entry : entries) out += entry.bytes;
    return out;
  }
};

}  // namespace

TEST_CASE("The cache of answers agrees with its definition on random use", "[service][cache]") {
  std::vector<SearchAnswer> answers;
  for (std::size_t i = 0; i < 8; ++i) answers.push_back(answer_with(i * 3));
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    test::ManualClock clock;
    const std::size_t most = 1 + random.below(6);
    const std::size_t most_bytes = memory_of(answers[7]) * (1 + random.below(4));
    AnswerCache cache(most, seconds(10), clock, most_bytes);
    SlowCache slow{{}, most, most_bytes, seconds(10)};
    for (int step = 0; step < 300; ++step) {
      clock.advance(milliseconds(500) * static_cast<int>(random.below(6)));
      const std::size_t which = random.below(8);
      const std::string key = std::to_string(which);
      bool was_cached = false;
      const auto got = cache.get(
          key, [&] { return Result<SearchAnswer>(answers[which]); }, was_cached);
      REQUIRE(got.has_value());
      REQUIRE((*got)->results.size() == answers[which].results.size());
      REQUIRE(was_cached == slow.get(key, clock.now(), memory_of(answers[which]) + 2 * key.size()));
      REQUIRE(cache.size() == slow.entries.size());
      REQUIRE(cache.bytes() == slow.sum());
    }
    cache.clear();
    CHECK(cache.bytes() == 0);
  }
}

TEST_CASE("The memory of an answer counts the texts of what is folded below its results",
          "[service][cache]") {
  SearchAnswer answer = answer_with(3);
  const std::size_t unfolded = memory_of(answer);
  Hit folded = answer.results[0].hit;
  folded.snippet.assign(1000, 's');
  folded.key.assign(500, 'k');
  answer.results[0].alike = {folded};
  const std::size_t with_one = memory_of(answer);
  CHECK(with_one >= unfolded + sizeof(FoldedHit) + 1500);
  answer.results[2].same_site = {folded, folded};
  CHECK(memory_of(answer) >= with_one + 2 * (sizeof(FoldedHit) + 1500));
}

TEST_CASE("The memory of an answer counts its typed queries, and of the further ones only conditions",
          "[service][cache]") {
  SearchRequest request;
  request.text = "a";
  SearchAnswer one, many;
  set_typed(request, one);
  std::string letters = "b";
  while (letters.size() < 1500) letters += " b";
  request.alternatives.assign(16, letters);
  set_typed(request, many);
  CHECK(memory_of(many) <= memory_of(one) + 16 * 100);
  request.alternatives.assign(16, letters + " -" + std::string(1000, 'c'));
  SearchAnswer conditions;
  set_typed(request, conditions);
  CHECK(memory_of(conditions) >= memory_of(many) + 16 * (sizeof(templates::Condition) + 1000));
  request.text = letters;
  set_typed(request, many);
  CHECK(memory_of(many) >= memory_of(one) + 750 * sizeof(templates::TypedTerm));
}

TEST_CASE("Simultaneous equal requests share one piece of work whether it fails or not", "[service][cache]") {
  test::ManualClock clock;
  AnswerCache cache(10, seconds(10), clock);
  for (const int way : {0, 1, 2}) {
    std::atomic<int> calls{0};
    std::atomic<int> errors{0};
    std::atomic<int> thrown{0};
    const auto make = [&]() -> Result<SearchAnswer> {
      ++calls;
      while (cache.waiting() < 7) std::this_thread::yield();
      if (way == 1) return fail(Code::usage, "no");
      if (way == 2) throw std::runtime_error("broken");
      return answer_with(2);
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        bool was_cached = false;
        try {
          if (cache.get("same", make, was_cached).has_error()) ++errors;
        } catch (const std::runtime_error&) {
          ++thrown;
        }
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(calls == 1);
    CHECK(errors == (way == 0 ? 0 : way == 1 ? 8 : 7));
    CHECK(thrown == (way == 2 ? 1 : 0));
    CHECK(cache.waiting() == 0);
    cache.clear();
  }
}

TEST_CASE("An answer whose work began before the cache was cleared is not kept", "[service][cache]") {
  const test::ManualClock clock;
  AnswerCache cache(10, seconds(60), clock);
  bool was_cached = false;
  const auto text_of = [&](const std::function<Result<SearchAnswer>()>& make) {
    return (*cache.get("q", make, was_cached))->query;
  };
  const auto old_then_new = [&]() -> Result<SearchAnswer> {
    cache.clear();  // the index changes while the search reads the old one
    CHECK(text_of([] { return answer_with(1, "new"); }) == "new");  // and does not wait for it
    return answer_with(1, "old");
  };
  CHECK(text_of(old_then_new) == "old");
  CHECK(text_of([] { return answer_with(1, "newer"); }) == "new");
  CHECK(was_cached);
}

TEST_CASE("Answers with failed engines and too large answers are not kept", "[service][cache]") {
  test::ManualClock clock;
  SearchAnswer failed = answer_with(2);
  failed.lists[0].failure = fetchers::Failure::timeout;
  AnswerCache cache(10, seconds(10), clock, memory_of(answer_with(20)));
  bool was_cached = true;
  CHECK(cache
            .get(
                "a", [&] { return Result<SearchAnswer>(failed); }, was_cached)
            .has_value());
  SearchAnswer hurried = answer_with(2);
  hurried.not_asked = {{"t@e", "e", WhyNotAsked::settled}, {"u@e", "e", WhyNotAsked::deadline}};
  CHECK(cache
            .get(
                "c", [&] { return Result<SearchAnswer>(hurried); }, was_cached)
            .has_value());
  CHECK(cache
            .get(
                "b", [&] { return Result<SearchAnswer>(answer_with(100)); }, was_cached)
            .has_value());
  CHECK(cache.size() == 0);
  AnswerCache none(0, seconds(10), clock);
  CHECK(none.get(
                "a", [&] { return Result<SearchAnswer>(answer_with(1)); }, was_cached)
            .has_value());
  CHECK(none.size() == 0);
  AnswerCache without_time(10, seconds(0), clock);
  CHECK(without_time
            .get(
                "a", [&] { return Result<SearchAnswer>(answer_with(1)); }, was_cached)
            .has_value());
  CHECK(without_time.size() == 0);
}

TEST_CASE("An answer is popular from its second request until it expires", "[service][cache]") {
  test::ManualClock clock;
  AnswerCache cache(4, seconds(60), clock, std::size_t{1} << 20);
  bool was_cached = false;
  const auto get = [&] {
    return cache
        .get(
            "k", [] { return Result<SearchAnswer>(answer_with(1)); }, was_cached, TimePoint::max())
        .value();
  };
  const TimePoint made_at = clock.now();
  const SharedAnswer first = get();
  CHECK_FALSE(was_cached);
  CHECK_FALSE(cache.popular_until("k", *first));
  CHECK(get() == first);
  CHECK(was_cached);
  CHECK(cache.popular_until("k", *first) == made_at + seconds(60));
  const SearchAnswer other = *first;
  CHECK_FALSE(cache.popular_until("k", other));  // this answer is not the one in the cache
  CHECK_FALSE(cache.popular_until("other", *first));
  clock.advance(seconds(60));
  CHECK_FALSE(cache.popular_until("k", *first));
}

TEST_CASE("An answer is the same after it was written to and read from the shared cache",
          "[service][cache]") {
  const SearchAnswer answer = answer_with(7, "red \"shoes\"");
  SearchRequest request;
  const auto back = read_answer_text(answer_text(answer), shoe_domain(), request, 1);
  REQUIRE(back.has_value());
  CHECK(back->query == answer.query);
  CHECK(back->windows == 1);
  CHECK(read_answer_text(answer_text(answer), shoe_domain(), request, 3)->windows == 3);
  CHECK(back->domain == "shoes");
  CHECK(back->suggestions == answer.suggestions);
  REQUIRE(back->results.size() == answer.results.size());
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    CHECK(back->results[i].hit == answer.results[i].hit);
    CHECK(back->results[i].score == answer.results[i].score);
  }
  SearchAnswer with_parameter;  // of a server that keeps this parameter
  fetchers::FetchedList kept = answer.lists[0];
  kept.list.hits[0].url = kept.list.hits[0].key = "http://example.org/?utm_source=x";
  fuse_lists(shoe_domain(), {kept}, with_parameter);
  CHECK(read_answer_text(answer_text(with_parameter), shoe_domain(), request, 1)->results[0].hit.url ==
        kept.list.hits[0].url);
  fetchers::FetchedList short_list = answer.lists[0];
  short_list.in_window = {3, 4};  // of ten
  SearchAnswer of_two;
  of_two.windows = 2;
  fuse_lists(shoe_domain(), {short_list}, of_two);
  const auto windows = read_answer_text(answer_text(of_two), shoe_domain(), request, 2);
  REQUIRE(windows.has_value());
  CHECK(windows->lists[0].in_window == short_list.in_window);
  CHECK(windows->results[3].placements[0].rank == 11);
  CHECK(windows->results[3].window == 1);
  of_two.lists = answer_with(12).lists;
  of_two.lists[0].in_window = {11, 1};  // more than a window has
  CHECK_FALSE(read_answer_text(answer_text(of_two), shoe_domain(), request, 2).has_value());
  const auto is_read = [&](const std::string& text) {
    const auto read = read_answer_text(text, shoe_domain(), request, 1);
    if (!read) CHECK(read.error().code == Code::bad_data);
    return read.has_value();
  };
  const auto with_list = [](const std::string& list) {
    return R"({"version":6,"query":"","not_asked":[],"lists":[)" + list + "]}";
  };
  const auto with_hit = [&](const std::string& hit) {
    return with_list(R"({"template":"t","engine":"e","text":"x","suggestions":["y"],"hits":[)" + hit + "]}");
  };
  const auto with_windows = [&](const std::string& counts) {
    return with_list(R"({"template":"t","engine":"e","text":"x","suggestions":[],"hits":[)"
                     R"(["http://a.example/","t","s","","","a","",null,0,"page",{}],)"
                     R"(["http://b.example/","t","s","","","b","",null,0,"page",{}]],"windows":)" +
                     counts + "}");
  };
  CHECK(is_read(with_windows("[1,1]")));
  CHECK(is_read(with_windows("[0,2,0]")));
  for (const char* counts :
       {"1", "[1]", "[1,2]", "[-1,3]", "[\"1\",1]", "[0.5,1.5]", "[11,-9]", "[1,1,0,0,0,0,0,0,0,0,0]"}) {
    INFO(counts);
    CHECK_FALSE(is_read(with_windows(counts)));
  }
  CHECK(is_read(with_list("")));
  CHECK(is_read(with_hit("")));
  CHECK(is_read(with_hit(R"(["http://a.example/","t","s","","","a.example/","",null,0,"page",{}])")));
  CHECK(is_read(
      with_hit(R"(["http://a.example/","t","s","","","a.example/","",0.5,0,"image",{"width":"3"}])")));
  for (const std::string& text :
       {std::string(),
        std::string("{}"),
        std::string("[]"),
        std::string(R"({"version":5,"query":"","not_asked":[],"lists":[]})"),
        std::string(R"({"version":"6","query":"","not_asked":[],"lists":[]})"),
        std::string(R"({"query":"","not_asked":[],"lists":[]})"),
        std::string(R"({"version":6,"query":1,"not_asked":[],"lists":[]})"),
        std::string(R"({"version":6,"not_asked":[],"lists":[]})"),
        std::string(R"({"version":6,"query":"","not_asked":[],"lists":{}})"),
        std::string(R"({"version":6,"query":"","not_asked":[]})"),
        std::string(R"({"version":6,"query":"","lists":[]})"),
        std::string(R"({"version":6,"query":"","not_asked":[["t@e","e","why"]],"lists":[]})"),
        std::string(R"({"version":6,"query":"","not_asked":[["t@e","limit"]],"lists":[]})"),
        with_list("1"),
        with_list("{}"),
        with_list("[]"),
        with_list(R"({"template":1,"engine":"e","text":"x","suggestions":[],"hits":[]})"),
        with_list(R"({"template":"t","engine":"e","suggestions":[],"hits":[]})"),
        with_list(R"({"template":"t","engine":"e","text":"x","suggestions":{},"hits":[]})"),
        with_list(R"({"template":"t","engine":"e","text":"x","suggestions":[1],"hits":[]})"),
        with_list(R"({"template":"t","engine":"e","text":"x","suggestions":[],"hits":{}})"),
        with_list(R"({"template":"t","engine":"e","text":"x","suggestions":[]})"),
        with_hit("1"),
        with_hit("{}"),
        with_hit("[]"),
        with_hit(R"(["u","t"])"),
        with_hit(R"(["http://a.example/","t","s","","","k","",null,0,"thing",{}])"),
        with_hit(R"(["http://a.example/","t","s","","","k","",null,0,"page",{"nothing":"1"}])"),
        with_hit(R"(["http://a.example/","t","s","","","k",""])"),
        with_hit(R"(["http://a.example/","t","s","","","k","",null,0,"page",{},null])"),
        with_hit(R"([1,"t","s","","","k","",null,0,"page",{}])"),
        with_hit(R"(["http://a.example/","t","s","","","k",1,null,0,"page",{}])"),
        with_hit(R"(["http://a.example/","t","s","","","k","","1",0,"page",{}])")}) {
    INFO(text);
    CHECK_FALSE(is_read(text));
  }
}

TEST_CASE("Different requests have different keys whatever their text", "[service][cache]") {
  const LoadedDomain domain = shoe_domain();
  std::vector<SearchRequest> requests(9);
  requests[1].text = "a";
  requests[2].slots.slots = {{"a", ""}};
  requests[3].slots.slots = {{"", "a"}};
  requests[4].variants = {{"a", "", false}};
  requests[5].variants = {{"a", "", true}};
  requests[6].engines = {"a"};
  requests[7].language = "a";
  requests[8].time_range = "a";
  std::map<std::string, int> keys;
  for (const SearchRequest& request : requests) ++keys[shared_key(domain, request)];
  CHECK(keys.size() == requests.size());
  CHECK(shared_key(domain, requests[1]).size() == std::string("metafuse:2:").size() + 64);
  LoadedDomain edited = domain;
  edited.etag = "e2";
  CHECK(shared_key(edited, requests[1]) != shared_key(domain, requests[1]));
}

TEST_CASE("A Redis address is parsed or refused without showing its password", "[service][redis]") {
  CHECK(*parse_redis_url("redis://h:1/2") == RedisAddress{"h", 1, 2, ""});
  CHECK(*parse_redis_url("redis://h") == RedisAddress{"h", 6379, 0, ""});
  CHECK(*parse_redis_url("redis://h/") == RedisAddress{"h", 6379, 0, ""});
  CHECK(*parse_redis_url("redis://:p@s:s@[::1]:7/3") == RedisAddress{"::1", 7, 3, "p@s:s"});
  for (const char* url :
       {"", "h:1", "http://h", "redis://", "redis://h:x", "redis://h:0", "redis://h:65536", "redis://h/x",
        "redis://u:secret@h", "redis://:secret@", "redis://[::1", "redis://:secret@h:99999999999"}) {
    const auto address = parse_redis_url(url);
    INFO(url);
    REQUIRE(address.has_error());
    CHECK(address.error().text.find("secret") == std::string::npos);
  }
}

TEST_CASE("Processes share answers and counters through Redis", "[service][redis]") {
  const auto server = test::RedisServer::start();
  if (server == nullptr) return;
  const Clock& clock = machine_clock();
  SharedAnswers first({"127.0.0.1", server->port(), 3, ""}, seconds(100), clock);
  SharedAnswers second({"127.0.0.1", server->port(), 3, ""}, seconds(100), clock);
  const SearchAnswer answer = answer_with(5);
  const std::string key = shared_key(shoe_domain(), {});
  CHECK_FALSE(second.find(key, shoe_domain(), {}, 1).has_value());
  first.keep(key, answer);
  const auto found = second.find(key, shoe_domain(), {}, 1);
  REQUIRE(found.has_value());
  CHECK(found->results.size() == answer.results.size());
  CHECK(*first.redis().add("n", 5, seconds(100)) == 5);
  CHECK(*second.redis().add("n", 2, seconds(100)) == 7);
  // A value that another program wrote there is not an answer, and not counted as a failure.
  CHECK(first.redis().set(key, "garbage", seconds(100)));
  CHECK_FALSE(second.find(key, shoe_domain(), {}, 1).has_value());
  const std::string bytes("\0\xff\r\n", 4);
  CHECK(first.redis().set("bytes", bytes, seconds(100)));
  CHECK(*second.redis().get("bytes") == bytes);
  CHECK(first.redis().failures() + second.redis().failures() == 0);
}

TEST_CASE("A Redis that dies or hangs or comes back never fails a call", "[service][redis]") {
  const auto server = test::RedisServer::start();
  if (server == nullptr) return;
  test::ManualClock clock;
  RedisClient client({"127.0.0.1", server->port(), 0, ""}, clock);
  CHECK(client.set("a", "1", seconds(100)));
  server->stop();
  CHECK_FALSE(client.get("a").has_value());
  CHECK(client.failures() == 1);
  // After a failure it is not even tried for a second.
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(client.set("a", "1", seconds(100)));
  CHECK(client.failures() == 1);
  server->run();
  CHECK_FALSE(client.get("a").has_value());
  // On busy cores Redis may take longer than the client waits, so it is asked again until it is in time.
  const auto succeeds = [&](const auto& call) {
    for (int i = 0; i < 100; ++i) {
      clock.advance(seconds(2));
      if (call()) return true;
    }
    return false;
  };
  CHECK(succeeds([&] { return client.set("a", "2", seconds(100)); }));
  CHECK(succeeds([&] { return client.get("a") == "2"; }));
  const auto failures = client.failures();
  ::kill(server->id(), SIGSTOP);
  CHECK_FALSE(client.get("a").has_value());
  CHECK(client.failures() == failures + 1);
  ::kill(server->id(), SIGCONT);
  CHECK(succeeds([&] { return client.get("a") == "2"; }));
  RedisClient locked({"127.0.0.1", server->port(), 0, "wrong"}, clock);
  CHECK_FALSE(locked.get("a").has_value());
}
