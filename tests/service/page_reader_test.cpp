#include "service/reading/page_reader.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "service/base/digest.h"
#include "service/http/server.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

/// A web site on a free loopback port.
class TestSite {
 public:
  TestSite() {
    server_ = std::move(
        HttpServer::start({}, [this](HttpRequest request, std::shared_ptr<Responder> responder) {
          const std::lock_guard lock(mutex_);
          asked_.push_back(request.target);
          const auto at = pages_.find(request.path);
          responder->send(at == pages_.end() ? make_response(404, "text/html", "none") : at->second);
        }).value());
  }
  TestSite(const TestSite&) = delete;
  TestSite& operator=(const TestSite&) = delete;
  ~TestSite() { server_->stop(std::chrono::seconds(5)); }

  void put(const std::string& path, HttpResponse response) {
    const std::lock_guard lock(mutex_);
    pages_[path] = std::move(response);
  }
  void put(const std::string& path, const std::string& html) {
    put(path, make_response(200, "text/html", html));
  }
  void redirect(const std::string& path, const std::string& target) {
    HttpResponse response;
    response.status = 302;
    response.set("Location", target);
    put(path, std::move(response));
  }
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  std::string origin() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  std::string url(const std::string& path) const { return "http://" + origin() + path; }

 private:
  std::mutex mutex_;
  std::map<std::string, HttpResponse> pages_;
  std::vector<std::string> asked_;
  std::unique_ptr<HttpServer> server_;
};

std::string told(const Result<SharedPage>& page) {
  return page ? "read: " + (*page)->text : page.error().text;
}

JsonObject object_in(const std::string& response) {
  return parse_json(body_in(response), "answer").value().as_object();
}

}  // namespace

TEST_CASE("A page reader reads what robots.txt and the guard let it, and says why not", "[service][pages]") {
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
    return told(reader.read(std::span(&url, 1), fetchers::PageForm::text, std::chrono::seconds(5)).front());
  };
  CHECK(read(site.url("/a")).find("no public address") != std::string::npos);
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
  refused("/empty", "holds no text");
  refused("/none", "status 404");
  refused("/secret", "robots.txt");
  refused("/to-secret", "robots.txt");
  refused("/inside", "no public address");
  refused("/elsewhere", "robots.txt");
  CHECK(read("ftp://a.example/").find("no http or https URL") != std::string::npos);
  CHECK(read("http://user@" + site.origin() + "/a").find("without user name") != std::string::npos);
  const auto asked = site.asked();
  CHECK(std::count(asked.begin(), asked.end(), "/robots.txt") == 1);
  CHECK(std::count(asked.begin(), asked.end(), "/a") == 2);       // by itself and as a redirect's target
  CHECK(std::count(asked.begin(), asked.end(), "/secret") == 1);  // a redirect's target is known too late

  site.put("/a", "<p>changed</p>");
  CHECK(read(site.url("/a")) == "read: hello");  // kept
  clock.advance(std::chrono::minutes(6));
  CHECK(read(site.url("/a")) == "read: changed");
}

TEST_CASE("A site whose robots.txt fails is left alone", "[service][pages]") {
  TestSite site;
  site.put("/robots.txt", make_response(503, "text/plain", "later"));
  site.put("/a", "<p>hello</p>");
  const SteadyClock clock;
  PageReader reader(clock);
  PagesConfig config;
  config.allow_private = {site.origin()};
  reader.configure(config);
  const std::vector<std::string> urls = {site.url("/a"), "http://127.0.0.1:1/"};
  const auto read = reader.read(urls, fetchers::PageForm::text, std::chrono::seconds(5));
  CHECK(told(read[0]).find("robots.txt answers with status 503") != std::string::npos);
  CHECK(told(read[1]).find("no public address") != std::string::npos);
}

TEST_CASE("Tavily's /extract and the tool fetch_page read pages", "[service][pages][mcp]") {
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
  const std::size_t at = first.rfind("; start ");
  REQUIRE(at != std::string::npos);
  const std::string start = first.substr(at + 8, first.find(' ', at + 8) - at - 8);
  const std::string second =
      call(server, R"("url":")" + site.url("/a") + R"(","max_bytes":100000,"start":)" + start);
  CHECK(second.find("word1999") != std::string::npos);
  CHECK(second.find("goes on]") == std::string::npos);
  CHECK(call(server, R"("url":"http://192.168.1.1/")").find("no public address") != std::string::npos);
  CHECK(call(server, "").find("give the url") != std::string::npos);

  // who may have pages read is the configuration's to say
  TestServer off(TestServer::default_answer, "fetch_pages: {access: off}\n");
  CHECK(call(off, R"("url":"http://a.example/")").find("reads no pages") != std::string::npos);
  CHECK(status_in(off.post("/extract", "application/json", R"({"urls":"http://a.example/"})")) == 403);
  TestServer keyed(TestServer::default_answer,
                   "fetch_pages: {access: key}\nkeys: [{name: k, sha256: " + sha256_hex("right") + "}]\n");
  CHECK(status_in(keyed.post("/extract", "application/json", R"({"urls":"http://10.0.0.1/"})")) == 403);
  CHECK(status_in(keyed.post("/extract", "application/json", R"({"urls":"http://10.0.0.1/"})",
                             "X-API-Key: right\r\n")) == 200);
}
