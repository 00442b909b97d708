#include "service/search/result_pages.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "core/random.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

using Urls = std::vector<std::string>;

constexpr std::size_t kDrawnDepth = 4;
constexpr std::size_t kDrawnDocuments = 60;
constexpr std::size_t kDrawnHosts = 20;
constexpr std::size_t kDrawnTexts = 40;

const std::string kCuratorHeader = "Authorization: Bearer admin-key\r\n";

std::string curator_config() {
  return "store: metafuse.db\nkeys:\n  - {name: admin, sha256: " + sha256_hex("admin-key") +
         ", roles: [admin, search]}\n";
}

std::string templates_with(const std::string& options) {
  return "version: 1\ndomain: pages\ndepth: 4\n" + options +
         "slots: {NAME: {required: true}}\ntemplates:\n  - {id: plain, engine: [one, two], query: "
         "'{NAME}'}\n  - {id: exact, engine: one, query: '\"{NAME}\"'}\n";
}

std::string drawn_url(std::size_t document) {
  return "http://h" + std::to_string(document % kDrawnHosts) + ".example/" + std::to_string(document);
}

/// Documents of one text are alike, others have no word in common.
Hit drawn_hit(std::size_t document) {
  const std::string text = "t" + std::to_string(document % kDrawnTexts);
  Hit hit;
  hit.url = drawn_url(document);
  hit.title = text;
  for (const char* word : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) hit.snippet += text + word + ' ';
  return hit;
}

/// What an engine finds for a query in each of its windows.
using Windows = std::vector<std::vector<std::size_t>>;

/// Some windows, most of them not full, that may overlap.
Windows random_windows(Random& random) {
  Windows out(1 + random.below(5));
  for (auto& window : out)
    for (std::size_t i = random.below(kDrawnDepth + 3); i > 0 && window.size() < kDrawnDepth; --i)
      window.push_back(random.below(kDrawnDocuments));
  return out;
}

/// Engines whose windows for each query are drawn once.
class DrawnEngines {
 public:
  explicit DrawnEngines(std::uint64_t seed) : seed_(seed) {}

  fetchers::FetchedList window(const ExpandedQuery& query, int number) const {
    Random random(digest_seed(std::to_string(seed_) + query.feature_name() + ' ' + query.text));
    const Windows windows = random_windows(random);
    fetchers::FetchedList list;
    if (static_cast<std::size_t>(number) <= windows.size())
      for (const std::size_t document : windows[static_cast<std::size_t>(number - 1)])
        list.list.hits.push_back(drawn_hit(document));
    return list;
  }

 private:
  std::uint64_t seed_;
};

/// A server that asks such engines.
struct DrawnServer {
  explicit DrawnServer(std::uint64_t seed, const std::string& options = "")
      : engines(seed),
        server([this](const ExpandedQuery& query) { return engines.window(query, 1); }, curator_config(),
               templates_with(options)) {
    server.fetcher().set_further(
        [this](const ExpandedQuery& query, int number) { return engines.window(query, number); });
  }

  JsonObject page(const std::string& query, std::size_t limit, std::size_t number, const std::string& sites) {
    const std::string response =
        server.post("/v1/search", "application/json",
                    to_text(JsonObject{{"query", query},
                                       {"limit", limit},
                                       {"page", number},
                                       {"sites", parse_json(sites, "sites").value()}}),
                    kCuratorHeader);
    REQUIRE(status_in(response) == 200);
    return parse_json(body_in(response), "answer").value().as_object();
  }

  DrawnEngines engines;
  TestServer server;
};

Urls urls_in(const JsonObject& answer) {
  Urls out;
  for (const Json& result : answer.at("results").as_array()) out.emplace_back(result.at("url").as_string());
  return out;
}

/// Asks page after page until there are no more, and checks them against each other and one page of all.
void check_pages(DrawnServer& drawn, const std::string& query, std::size_t limit, const std::string& sites) {
  INFO(query << ", limit " << limit << ", sites " << sites);
  Urls together;
  JsonObject page;
  std::size_t number = 0;
  do {
    page = drawn.page(query, limit, ++number, sites);
    const Urls urls = urls_in(page);
    if (!urls.empty()) CHECK(page.at("results").at(0).at("rank") == Json(together.size() + 1));
    together.insert(together.end(), urls.begin(), urls.end());
  } while (page.at("has_more").as_bool() && number < 100);
  CHECK(std::set<std::string>(together.begin(), together.end()).size() == together.size());
  CHECK(urls_in(drawn.page(query, 200, 1, sites)) == together);
  const Urls first = urls_in(drawn.page(query, limit, 1, sites));
  CHECK(std::equal(first.begin(), first.end(), together.begin()));
}

std::string query_named(std::size_t number) {
  return "q" + std::to_string(number);
}

std::string some_urls(Random& random, std::size_t most) {
  std::set<std::string> urls;
  for (std::size_t i = random.below(most + 1); i > 0; --i)
    urls.insert(drawn_url(random.below(kDrawnDocuments)));
  std::string out;
  for (const std::string& url : urls) out += (out.empty() ? "\"" : ",\"") + url + '"';
  return '[' + out + ']';
}

std::string random_sites(Random& random) {
  std::map<std::string, std::string> lists;
  for (std::size_t host = 0; host < kDrawnHosts; ++host) {
    const std::size_t drawn = random.below(8);
    if (drawn > 2) continue;
    std::string& list = lists[std::vector<std::string>{"raise", "lower", "block"}[drawn]];
    list += (list.empty() ? "\"h" : ",\"h") + std::to_string(host) + ".example\"";
  }
  std::string out;
  for (const auto& [name, list] : lists) out += (out.empty() ? "\"" : ",\"") + name + "\":[" + list + ']';
  return '{' + out + '}';
}

}  // namespace

TEST_CASE("The pages of a search together are its one long page, with results folded and sites grouped",
          "[service][paging]") {
  Random random(31);
  DrawnServer plain(1), grouped(2, "group: site\n");
  for (std::size_t i = 0; i < 25; ++i)
    for (DrawnServer* drawn : {&plain, &grouped})
      check_pages(*drawn, query_named(i), 1 + random.below(9), "{}");
}

TEST_CASE("The pages of a reader who raises, lowers and blocks sites together are one long page",
          "[service][paging][sites]") {
  Random random(32);
  DrawnServer plain(3), grouped(4, "group: site\n");
  for (std::size_t i = 0; i < 25; ++i)
    for (DrawnServer* drawn : {&plain, &grouped})
      check_pages(*drawn, query_named(i), 1 + random.below(9), random_sites(random));
}

TEST_CASE("The pages of a query with pinned, added and hidden results together are one long page",
          "[service][paging][curation]") {
  Random random(33);
  DrawnServer plain(5), grouped(6, "group: site\n");
  constexpr std::size_t kQueries = 25;
  for (DrawnServer* drawn : {&plain, &grouped}) {
    std::string queries;
    for (std::size_t i = 0; i < kQueries; ++i)
      queries += (i == 0 ? "" : ",") + ("{\"query\":\"" + query_named(i)) +
                 "\",\"pinned\":" + some_urls(random, 4) + ",\"hidden\":" + some_urls(random, 15) +
                 ",\"added\":[{\"url\":\"" + drawn_url(random.below(kDrawnDocuments)) +
                 "\",\"title\":\"Added\"}]}";
    const std::string before = drawn->server.get("/v1/curation/pages", kCuratorHeader);
    const std::size_t etag = before.find("ETag: ") + 6;
    const std::string saved = drawn->server.post(
        "/v1/curation/pages", "application/json", "{\"queries\":[" + queries + "]}",
        kCuratorHeader + "If-Match: " + before.substr(etag, before.find('\r', etag) - etag) + "\r\n", "PUT");
    REQUIRE(status_in(saved) == 200);
    for (std::size_t i = 0; i < kQueries; ++i)
      check_pages(*drawn, query_named(i), 1 + random.below(9), i % 2 == 0 ? "{}" : random_sites(random));
  }
}

namespace {

/// Engine one finds six results in each window, engine two ten.
fetchers::FetchedList uneven(const ExpandedQuery& query, int window) {
  const int count = query.engine == "one" ? 6 : 10;
  Urls hosts;
  for (int i = 0; i < count; ++i)
    hosts.push_back(query.engine + '-' + std::to_string((window - 1) * count + i) + ".example");
  return window <= 3 ? list_of(hosts) : fetchers::FetchedList();
}

struct UnevenServer {
  UnevenServer() { server.fetcher().set_further(uneven); }

  TestServer server{[](const ExpandedQuery& query) { return uneven(query, 1); }};
};

/// The addresses of results in a text, in their order.
Urls urls_in_text(const std::string& text, const std::string& before) {
  Urls out;
  for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
    const std::size_t begin = at + before.size();
    out.push_back("http://" + text.substr(begin, text.find('/', begin) - begin) + '/');
  }
  return out;
}

}  // namespace

TEST_CASE("A list whose first window is not full gets the ranks of its second one behind a full one",
          "[service][paging]") {
  UnevenServer uneven_lists;
  const auto page = [&](int number) {
    const std::string body = R"({"query":"ada","limit":15,"page":)" + std::to_string(number) + "}";
    return parse_json(body_in(uneven_lists.server.post("/v1/search", "application/json", body)), "answer")
        .value()
        .as_object();
  };
  const Urls first = urls_in(page(1)), second = urls_in(page(2));
  CHECK(first.size() == 15);
  REQUIRE(second.size() == 15);
  CHECK(second.front() == "http://two-9.example/");  // the first window's sixteenth
  for (const std::string& url : second) CHECK(std::find(first.begin(), first.end(), url) == first.end());
  CHECK(std::find(second.begin(), second.end(), "http://one-6.example/") != second.end());
  const JsonObject answer = page(2);
  for (const Json& result : answer.at("results").as_array())
    if (result.at("url") == "http://one-6.example/")
      CHECK(result.at("placements").at(0).at("rank") == Json(11));
}

TEST_CASE("A page beyond everything says that no more follow", "[service][paging]") {
  TestServer server([](const ExpandedQuery& query) { return uneven(query, 1); });
  const auto page = [&](int number) {
    const std::string body = R"({"query":"ada","limit":200,"page":)" + std::to_string(number) + "}";
    return parse_json(body_in(server.post("/v1/search", "application/json", body)), "answer")
        .value()
        .as_object();
  };
  CHECK(page(1).at("results").as_array().size() == 16);
  for (const int number : {2, 4, 10, 1000}) {
    const JsonObject answer = page(number);
    INFO(number);
    CHECK(answer.at("results").as_array().empty());
    CHECK(answer.at("has_more") == false);
  }
}

TEST_CASE("A list that fills half of each window is followed to its end", "[service][paging]") {
  const auto half = [](const ExpandedQuery& query, int window) {
    if (query.engine != "one" || window > 3) return fetchers::FetchedList();
    Urls hosts;
    for (int i = 0; i < 5; ++i) hosts.push_back("h" + std::to_string(5 * window + i) + ".example");
    return list_of(hosts);
  };
  TestServer server([&](const ExpandedQuery& query) { return half(query, 1); });
  server.fetcher().set_further(half);
  Urls together;
  bool has_more = true;
  for (int number = 1; has_more; ++number) {
    const std::string body = R"({"query":"ada","limit":5,"page":)" + std::to_string(number) + "}";
    const JsonObject answer =
        parse_json(body_in(server.post("/v1/search", "application/json", body)), "answer")
            .value()
            .as_object();
    for (std::string& url : urls_in(answer)) together.push_back(std::move(url));
    has_more = answer.at("has_more").as_bool() && number < 9;
  }
  CHECK(together.size() == 15);
}

TEST_CASE("Every dialect with pages shows the same ones", "[service][paging]") {
  UnevenServer lists;
  TestServer& server = lists.server;
  for (int number = 1; number <= 6; ++number) {
    const std::string n = std::to_string(number);
    const auto native =
        urls_in(parse_json(body_in(server.post("/v1/search", "application/json",
                                               R"({"query":"ada","limit":9,"page":)" + n + "}")),
                           "answer")
                    .value()
                    .as_object());
    CHECK(native.size() == (number < 6 ? 9 : 3));
    const std::string parameters = "?q=ada&limit=9&pageno=" + n;
    CHECK(urls_in(parse_json(body_in(server.get("/search" + parameters + "&format=json")), "answer")
                      .value()
                      .as_object()) == native);
    CHECK(urls_in_text(body_in(server.get("/search" + parameters)), "<h2><a href=\"http://") == native);
    const std::string stream = server.get("/v1/search/stream" + parameters);
    CHECK(urls_in_text(stream.substr(stream.find("event: final")), "\"url\":\"http://") == native);
    const std::string tool = body_in(server.post(
        "/mcp", "application/json",
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_pages","arguments":)"
        R"({"query":"ada","limit":9,"page":)" +
            n + "}}}"));
    CHECK(urls_in_text(tool, "\\nhttp://") == native);
  }
}

TEST_CASE("The pages of a tool that is asked for some sites together are all their results",
          "[service][paging][mcp]") {
  UnevenServer lists;
  Urls together;
  for (int number = 1; number <= 12; ++number) {
    const std::string text = body_in(lists.server.post(
        "/mcp", "application/json",
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_pages","arguments":)"
        R"({"query":"ada","limit":5,"sites":["one-1.example","one-7.example","two-25.example"],"page":)" +
            std::to_string(number) + "}}}"));
    for (std::string& url : urls_in_text(text, "\\nhttp://")) together.push_back(std::move(url));
  }
  CHECK(together == Urls{"http://one-1.example/", "http://one-7.example/", "http://two-25.example/"});
}

TEST_CASE("A page within the lists' depth may be short and the next one goes on where it ended",
          "[service][paging]") {
  TestServer server([](const ExpandedQuery& query) {
    return query.engine == "one" ? list_of({"a", "b", "c", "d", "e", "f", "g", "h"})
                                 : fetchers::FetchedList();
  });
  server.fetcher().set_further([](const ExpandedQuery& query, int window) {
    return query.engine == "one" && window == 2 ? list_of({"i", "j", "k"}) : fetchers::FetchedList();
  });
  const auto page = [&](int number) {
    return urls_in(
        parse_json(body_in(server.get("/search?q=ada&format=json&limit=10&pageno=" + std::to_string(number))),
                   "answer")
            .value()
            .as_object());
  };
  CHECK(page(1).size() == 8);
  CHECK(server.fetcher().fetches() == 1);
  CHECK(page(2) == Urls{"http://i/", "http://j/", "http://k/"});
  CHECK(page(1).size() == 8);
  const std::string shown = body_in(server.get("/search?q=ada&limit=10&pageno=2"));
  CHECK(shown.find("rel=\"next\"") == std::string::npos);
  CHECK(shown.find("start=\"9\"") != std::string::npos);
}
