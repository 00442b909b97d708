#include "service/search/page_reader.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "service/http/server.h"
#include "service/search/guarded_transport.h"
#include "tests/support/manual_clock.h"
#include "tests/support/scripted_transport.h"
#include "tests/support/serve_process.h"
#include "tests/support/test_server.h"
#include "tests/support/test_site.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

std::string told(const Result<SharedPage>& page) {
  return page ? "read: " + (*page)->text : page.error().text;
}

JsonObject object_in(const std::string& response) {
  return parse_json(body_in(response), "answer").value().as_object();
}

}  // namespace

TEST_CASE("A page reader reads what robots.txt and the guard allow and explains refusals",
          "[service][pages]") {
  TestSite site;
  TestSite other;
  site.put("/robots.txt", make_response(200, "text/plain", "User-agent: *\nDisallow: /secret\n"));
  site.put("/a", "<title>T</title><p>hello</p>");
  site.put("/plain", make_response(200, "text/plain", "as it is"));
  site.put("/pdf", make_response(200, "application/pdf", "%PDF"));
  site.put("/large", std::string((1 << 20) + 1, 'x'));
  site.put("/empty", "<script>draw()</script>");
  site.put("/secret", "<p>secret</p>");
  site.redirect("/moved", "/a");
  site.redirect("/to-secret", "/secret");
  site.redirect("/inside", "http://127.0.0.2:1/");
  site.redirect("/elsewhere", other.url("/closed"));
  other.put("/robots.txt", make_response(200, "text/plain", "User-agent: metafuse\nDisallow: /closed\n"));
  other.put("/closed", "<p>closed</p>");
  ManualClock clock;
  PageReader reader(clock);
  const auto read = [&](const std::string& url) {
    return told(
        reader.read(std::span(&url, 1), fetchers::PageForm::text, std::chrono::seconds(5), "").front());
  };
  CHECK(read(site.url("/a")).find("not public") != std::string::npos);
  PagesConfig config;
  config.allow_private = {site.origin(), other.origin()};
  reader.configure(config);
  CHECK(read(site.url("/a")) == "read: hello");
  CHECK(read(site.url("/moved")) == "read: hello");
  CHECK(read(site.url("/plain")) == "read: as it is");
  const auto refused = [&](const std::string& path, const std::string& why) {
    INFO(path);
    CHECK(read(site.url(path)).find(why) != std::string::npos);
  };
  refused("/pdf", "application/pdf, neither HTML nor text");
  refused("/large", "larger than 1 MiB");
  refused("/empty", "has no text");
  refused("/none", "status 404");
  refused("/secret", "robots.txt");
  refused("/to-secret", "robots.txt");
  refused("/inside", "not public");
  refused("/elsewhere", "robots.txt");
  CHECK(read("ftp://a.example/").find("must be http or https") != std::string::npos);
  CHECK(read("http://user@" + site.origin() + "/a").find("without user name") != std::string::npos);
  const auto asked = site.asked();
  CHECK(std::count(asked.begin(), asked.end(), "/robots.txt") == 1);
  CHECK(std::count(asked.begin(), asked.end(), "/a") == 2);       // directly and as the target of a redirect
  CHECK(std::count(asked.begin(), asked.end(), "/secret") == 1);  // checked only after the redirect

  site.put("/a", "<p>changed</p>");
  CHECK(read(site.url("/a")) == "read: hello");  // kept
  clock.advance(std::chrono::minutes(6));
  CHECK(read(site.url("/a")) == "read: changed");
}

TEST_CASE("A site whose robots.txt fails is left alone", "[service][pages]") {
  TestSite site;
  site.put("/robots.txt", make_response(503, "text/plain", "later"));
  site.put("/a", "<p>hello</p>");
  const Clock& clock = machine_clock();
  PageReader reader(clock);
  PagesConfig config;
  config.allow_private = {site.origin()};
  reader.configure(config);
  const std::vector<std::string> urls = {site.url("/a"), "http://127.0.0.1:1/"};
  const auto read = reader.read(urls, fetchers::PageForm::text, std::chrono::seconds(5), "");
  CHECK(told(read[0]).find("robots.txt answers with status 503") != std::string::npos);
  CHECK(told(read[1]).find("not public") != std::string::npos);
}

TEST_CASE("Tavily's /extract and the MCP tool fetch_page read pages", "[service][pages][mcp]") {
  TestSite site;
  std::string words;
  for (int i = 0; i < 2000; ++i) words += "word" + std::to_string(i) + ' ';
  site.put("/a", "<title>Title</title><h1>Head</h1><p>" + words + "</p>");
  const std::string pages = "fetch_pages: {allow_private: [\"" + site.origin() + "\"]}\n";
  TestServer server(TestServer::default_answer, pages);
  const auto extract = [&](const std::string& body) {
    return server.post("/extract", "application/json", body);
  };
  const JsonObject both =
      object_in(extract(R"({"urls":[")" + site.url("/a") + R"(","http://10.0.0.1/x"],"format":"text"})"));
  REQUIRE(both.at("results").as_array().size() == 1);
  CHECK(both.at("results").at(0).at("url") == Json(site.url("/a")));
  CHECK(std::string_view(both.at("results").at(0).at("raw_content").as_string())
            .starts_with("Head\n\nword0 word1 "));
  REQUIRE(both.at("failed_results").as_array().size() == 1);
  CHECK(both.at("failed_results").at(0).at("url") == "http://10.0.0.1/x");
  CHECK(status_in(extract(R"({"urls":")" + site.url("/a") + R"("})")) == 200);
  for (const char* wrong :
       {"{}", R"({"urls":[]})", R"({"urls":[1]})", R"({"urls":"http://a.example","format":"x"})",
        R"({"urls":"http://a.example","timeout":0})"})
    CHECK(status_in(extract(wrong)) == 400);
  CHECK(body_in(extract("{}")).starts_with(R"({"detail":{"error":"urls is missing)"));

  const auto call = [&](TestServer& to, const std::string& arguments) {
    const JsonObject reply = object_in(to.post(
        "/mcp", "application/json",
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch_page","arguments":{)" +
            arguments + "}}}"));
    return std::string(reply.at("result").at("content").at(0).at("text").as_string());
  };
  const std::string first = call(server, R"("url":")" + site.url("/a") + R"(","max_bytes":1000)");
  CHECK(first.starts_with("Title\n" + site.url("/a") + "\n\n# Head\n\nword0 "));
  CHECK(first.size() < 1150);
  const std::size_t at = first.rfind("with start ");
  REQUIRE(at != std::string::npos);
  const std::string start = first.substr(at + 11, first.find(']', at + 11) - at - 11);
  const std::string second =
      call(server, R"("url":")" + site.url("/a") + R"(","max_bytes":100000,"start":)" + start);
  CHECK(second.find("word1999") != std::string::npos);
  CHECK(second.find("continue with start") == std::string::npos);
  CHECK(call(server, R"("url":"http://192.168.1.1/")").find("not public") != std::string::npos);
  CHECK(call(server, "").find("give the url") != std::string::npos);

  // the configuration decides who may have pages read
  TestServer off(TestServer::default_answer, "fetch_pages: {access: off}\n");
  CHECK(call(off, R"("url":"http://a.example/")").find("does not read pages") != std::string::npos);
  CHECK(status_in(off.post("/extract", "application/json", R"({"urls":"http://a.example/"})")) == 403);
  TestServer keyed(TestServer::default_answer,
                   "fetch_pages: {access: key}\nkeys: [{name: k, sha256: " + sha256_hex("right") + "}]\n");
  CHECK(status_in(keyed.post("/extract", "application/json", R"({"urls":"http://10.0.0.1/"})")) == 403);
  CHECK(status_in(keyed.post("/extract", "application/json", R"({"urls":"http://10.0.0.1/"})",
                             "X-API-Key: right\r\n")) == 200);
}

TEST_CASE("Pages and robots.txt are read up to exactly their limits", "[service][pages][security]") {
  TestSite site;
  ManualClock clock;
  PageReader reader(clock);
  PagesConfig config;
  config.allow_private = {site.origin()};
  reader.configure(config);
  const auto read = [&](const std::string& path, fetchers::PageForm form = fetchers::PageForm::text) {
    const std::vector<std::string> urls = {site.url(path)};
    return told(reader.read(urls, form, std::chrono::seconds(20), "").front());
  };
  const auto is_read = [&](const std::string& path) { return read(path).starts_with("read: "); };
  // robots.txt is fetched again every hour
  const auto with_robots = [&](int status, const std::string& text) {
    site.put("/robots.txt", make_response(status, "text/plain", text));
    clock.advance(std::chrono::hours(1));
    return is_read("/a");
  };
  site.put("/a", "<p>hello</p>");
  const std::string none = "User-agent: *\nDisallow: /\n";
  CHECK(with_robots(200, ""));
  CHECK_FALSE(with_robots(200, none));
  CHECK_FALSE(with_robots(299, none));
  CHECK(with_robots(300, none));  // a missing file forbids nothing
  CHECK(with_robots(404, none));
  CHECK(with_robots(499, none));
  CHECK_FALSE(with_robots(500, ""));
  CHECK_FALSE(with_robots(599, ""));
  CHECK(with_robots(200, std::string(500 * 1024, '\n')));
  CHECK_FALSE(with_robots(200, std::string(500 * 1024 + 1, '\n')));
  CHECK(with_robots(200, ""));
  const auto robots_asked = [&] {
    const auto asked = site.asked();
    return std::count(asked.begin(), asked.end(), "/robots.txt");
  };
  const auto before = robots_asked();
  clock.advance(std::chrono::hours(1) - std::chrono::milliseconds(1));
  CHECK(is_read("/a"));
  CHECK(robots_asked() == before);
  clock.advance(std::chrono::milliseconds(1));
  CHECK(is_read("/b") == false);
  CHECK(robots_asked() == before + 1);
  // statuses and sizes of pages
  for (const auto& [status, reads] : std::vector<std::pair<int, bool>>{
           {200, true}, {299, true}, {300, false}, {399, false}, {404, false}}) {
    INFO(status);
    const std::string path = "/status-" + std::to_string(status);
    site.put(path, make_response(status, "text/html", "<p>hello</p>"));
    CHECK(is_read(path) == reads);
  }
  const std::string text = "hello";
  site.put("/fits", make_response(200, "text/plain", text + std::string((1 << 20) - text.size(), '\n')));
  site.put("/larger",
           make_response(200, "text/plain", text + std::string((1 << 20) - text.size() + 1, '\n')));
  CHECK(is_read("/fits"));
  CHECK(read("/larger").find("larger than 1 MiB") != std::string::npos);
  // a page is kept for five minutes, separately in each form
  site.put("/kept", "<h1>one</h1>");
  CHECK(read("/kept", fetchers::PageForm::markdown) == "read: # one");
  CHECK(read("/kept", fetchers::PageForm::text) == "read: one");
  site.put("/kept", "<h1>two</h1>");
  clock.advance(std::chrono::minutes(5) - std::chrono::milliseconds(1));
  CHECK(read("/kept", fetchers::PageForm::text) == "read: one");
  clock.advance(std::chrono::milliseconds(1));
  CHECK(read("/kept", fetchers::PageForm::text) == "read: two");
  // a URL may have 8 KB
  const std::string longest = site.url("/") + std::string(8192 - site.url("/").size(), 'a');
  CHECK(told(reader.read(std::vector<std::string>{longest}, {}, std::chrono::seconds(5), "").front())
            .find("at most 8 KB") == std::string::npos);
  CHECK(told(reader.read(std::vector<std::string>{longest + "a"}, {}, std::chrono::seconds(5), "").front())
            .find("at most 8 KB") != std::string::npos);
  // a kept page is not shown once its site may no longer be reached
  config.allow_private.clear();
  reader.configure(config);
  CHECK(read("/kept").find("not public") != std::string::npos);
}

TEST_CASE("At most eighty pages have places, and at most twenty of one sender",
          "[service][pages][security]") {
  PagePlaces places;
  {
    std::vector<PagePlaces::Hold> holds;
    for (const char* sender : {"a", "b", "c"}) holds.push_back(places.take(sender, 20));
    for (const PagePlaces::Hold& hold : holds) CHECK(hold);
    CHECK_FALSE(places.take("a", 1));
    {
      const PagePlaces::Hold none = places.take("f", 0), none_again = places.take("f", 0);
      CHECK_FALSE(none);  // all pages are known already
      CHECK_FALSE(none_again);
    }
    CHECK(places.take("d", 20));
    holds.push_back(places.take("d", 19));
    CHECK(holds.back());
    CHECK_FALSE(places.take("e", 2));
    CHECK_FALSE(places.take("d", 2));
    CHECK(places.take("e", 1));
  }
  CHECK_FALSE(places.take("a", 21));
  CHECK(places.take("a", 20));
}

TEST_CASE("A sender that has twenty pages read waits until they are", "[service][pages][security]") {
  std::mutex mutex;
  std::vector<std::shared_ptr<Responder>> waiting;
  std::atomic<int> asked = 0;
  bool is_open = false;
  const auto server =
      std::move(HttpServer::start({}, [&](const HttpRequest&, std::shared_ptr<Responder> responder) {
                  const std::lock_guard lock(mutex);
                  ++asked;
                  if (is_open) return responder->send(make_response(200, "text/plain", "hello"));
                  waiting.push_back(std::move(responder));
                }).value());
  const std::string origin = "127.0.0.1:" + std::to_string(server->port());
  const Clock& clock = machine_clock();
  PageReader reader(clock);
  PagesConfig config;
  config.allow_private = {origin};
  reader.configure(config);
  const auto read = [&](const std::string& sender, int first, int count) {
    std::vector<std::string> urls;
    for (int i = first; i < first + count; ++i) urls.push_back("http://" + origin + "/" + std::to_string(i));
    return reader.read(urls, fetchers::PageForm::text, std::chrono::seconds(60), sender);
  };
  const auto is_refused = [&](const std::string& sender, int count) {
    return told(read(sender, 900, count).front()).find("too many pages are being read") != std::string::npos;
  };
  std::thread most([&] { CHECK(read("a", 0, 19).size() == 19); });
  REQUIRE(becomes_true([&] { return asked == 1; }));  // the request for robots.txt
  CHECK(is_refused("a", 2));
  std::thread last([&] { CHECK(told(read("a", 100, 1).front()).starts_with("read: ")); });
  REQUIRE(becomes_true([&] { return asked == 2; }));
  CHECK(is_refused("a", 1));
  {
    const std::lock_guard lock(mutex);
    is_open = true;
    for (const auto& responder : waiting) responder->send(make_response(404, "text/plain", "none"));
    waiting.clear();  // no responder may outlive the server
  }
  most.join();
  last.join();
  CHECK(told(read("a", 900, 1).front()).starts_with("read: "));
  server->stop(std::chrono::seconds(5));
}

TEST_CASE("A late answer that nothing waits for any more is dropped", "[service][pages][security]") {
  HoldingTransport::Held held;
  HoldingTransport transport(held);
  fetchers::EngineRequest request;
  request.timeout = Duration(0);
  const auto answers = answers_to(transport, {request});
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].failure == fetchers::Failure::timeout);
  REQUIRE(held.size() == 1);
  held[0].second(answer_of("late"));
  CHECK(answers[0].body.empty());
}

TEST_CASE("The configuration decides who may have pages read", "[service][pages][security]") {
  using Access = PagesConfig::Access;
  for (const auto& [access, without, with] :
       {std::tuple{Access::off, false, false}, {Access::key, false, true}, {Access::search, true, true}}) {
    PagesConfig config;
    config.access = access;
    CHECK(check_page_access(config, false).has_value() == without);
    CHECK(check_page_access(config, true).has_value() == with);
  }
}
