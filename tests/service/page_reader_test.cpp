#include "service/reading/page_reader.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "service/base/digest.h"
#include "service/http/server.h"
#include "service/reading/picture_reader.h"
#include "tests/support/manual_clock.h"
#include "tests/support/serve_process.h"
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

namespace {

using namespace std::string_literals;

/// The first bytes of a picture of that size, as its format has them.
std::string png_of(unsigned char width, unsigned char height) {
  return "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0"s + static_cast<char>(width) + "\0\0\0"s +
         static_cast<char>(height) + "\x08\x06\0\0\0"s;
}

/// What "picture?..." links of a page say, unescaped.
std::vector<std::string> picture_links(const std::string& body) {
  std::vector<std::string> out;
  for (std::size_t at = body.find("src=\"/picture?"); at != std::string::npos;
       at = body.find("src=\"/picture?", at + 1)) {
    std::string link = body.substr(at + 5, body.find('"', at + 5) - at - 5);
    for (std::size_t amp = link.find("&amp;"); amp != std::string::npos; amp = link.find("&amp;"))
      link.replace(amp, 5, "&");
    out.push_back(link);
  }
  return out;
}

}  // namespace

TEST_CASE("The first bytes say what a picture is, and how large", "[service][pictures]") {
  const auto said = [](const std::string& bytes) {
    const PictureType type = picture_type(bytes);
    return std::string(type.media_type) + ' ' + std::to_string(type.width) + 'x' +
           std::to_string(type.height);
  };
  CHECK(said(png_of(16, 32)) == "image/png 16x32");
  CHECK(said("GIF89a\x10\0\x20\0"s) == "image/gif 16x32");
  // an APP0 segment of four bytes before the start of frame
  CHECK(said("\xff\xd8\xff\xe0\0\x04\x01\x02\xff\xc0\0\x11\x08\0\x20\0\x10\x03"s) == "image/jpeg 16x32");
  CHECK(said("RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x0f\0\0\x1f\0\0"s) == "image/webp 16x32");
  CHECK(said("RIFF\x20\0\0\0WEBPVP8L\x0a\0\0\0\x2f\x0f\xc0\x07\0\0"s) == "image/webp 16x32");
  CHECK(said("RIFF\x20\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a\x10\0\x20\0"s) == "image/webp 16x32");
  CHECK(said("\0\0\1\0\1\0"s + std::string(16, 'x')) == "image/x-icon 256x256");
  for (const std::string& none :
       {""s, "<svg xmlns='http://www.w3.org/2000/svg'/>"s, "<html>"s, "\x89PNG\r\n\x1a\n"s, "GIF89a"s,
        "\xff\xd8\xff"s, "\xff\xd8\xff\xe0\0\0\0\0\0\0\0\0\0"s, "RIFF\0\0\0\0WEBPVP8X"s, "\0\0\1\0\1\0"s})
    CHECK(said(none) == " 0x0");
}

TEST_CASE("Pictures are off, and where they are on only signed links are fetched", "[service][pictures]") {
  TestSite site;
  site.put("/favicon.ico", make_response(200, "text/html", png_of(16, 16)));  // its bytes count
  site.put("/t.png", make_response(200, "image/png", png_of(90, 60)));
  site.put("/svg", make_response(200, "image/png", "<svg onload='alert(1)'/>"));
  site.put("/large", make_response(200, "image/png", png_of(90, 60) + std::string(600 * 1024, 'x')));
  site.put("/wide",
           make_response(200, "image/png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x40\0\0\0\0\x01\x08\x06"s));
  site.redirect("/inside", "http://127.0.0.2:1/x.png");
  const auto answer = [&](const ExpandedQuery&) {
    fetchers::FetchedList list;
    for (const char* path : {"/t.png", "/svg", "/large", "/wide", "/inside", "/none"}) {
      Hit hit;
      hit.url = site.url("/page" + std::string(path));
      hit.title = path;
      hit.thumbnail = site.url(path);
      list.list.hits.push_back(hit);
    }
    return list;
  };
  TestServer off(answer);
  CHECK(picture_links(body_in(off.get("/search?q=ada"))).empty());
  CHECK(status_in(off.get("/picture?icon=http%3A%2F%2Fa.example&sign=00")) == 404);

  TestServer on(answer,
                "pictures: {icons: true, thumbnails: true, allow_private: [\"" + site.origin() + "\"]}\n");
  const auto links = picture_links(body_in(on.get("/search?q=ada")));
  REQUIRE(links.size() == 12);
  std::vector<int> statuses;
  for (const std::string& link : links) statuses.push_back(status_in(on.get(link)));
  std::sort(statuses.begin(), statuses.end());
  CHECK(statuses == std::vector<int>{200, 200, 200, 200, 200, 200, 200, 404, 404, 404, 404, 404});
  const auto icon = std::find_if(links.begin(), links.end(), [](const std::string& link) {
    return link.find("icon=") != std::string::npos;
  });
  const std::string response = on.get(*icon, "Cookie: secret=1\r\n");
  CHECK(body_in(response) == png_of(16, 16));
  CHECK(response.find("Content-Type: image/png") != std::string::npos);
  CHECK(response.find("X-Content-Type-Options: nosniff") != std::string::npos);
  CHECK(response.find("default-src 'none'") != std::string::npos);
  CHECK(response.find("Set-Cookie") == std::string::npos);
  const auto asked = site.asked();
  CHECK(std::count(asked.begin(), asked.end(), "/favicon.ico") == 1);  // kept, for every result of the site
  CHECK(std::count(asked.begin(), asked.end(), "/none") == 1);
  // a link for another picture, another kind, or nothing at all
  std::string other = *icon;
  other.replace(other.find("127.0.0.1"), 9, "127.0.0.2");
  CHECK(status_in(on.get(other)) == 404);
  other = *icon;
  other.replace(other.find("icon="), 5, "thumbnail=");
  CHECK(status_in(on.get(other)) == 404);
  CHECK(status_in(on.get("/picture")) == 404);
}

TEST_CASE("Pages and robots.txt end where they should", "[service][pages][security]") {
  TestSite site;
  ManualClock clock;
  PageReader reader(clock);
  PagesConfig config;
  config.allow_private = {site.origin()};
  reader.configure(config);
  const auto read = [&](const std::string& path, fetchers::PageForm form = fetchers::PageForm::text) {
    const std::vector<std::string> urls = {site.url(path)};
    return told(reader.read(urls, form, std::chrono::seconds(20)).front());
  };
  const auto is_read = [&](const std::string& path) { return read(path).starts_with("read: "); };
  // robots.txt, asked for anew each hour
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
  CHECK(with_robots(300, none));  // a file that is not there forbids nothing
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
  // a page is kept for five minutes, in each form by itself
  site.put("/kept", "<h1>one</h1>");
  CHECK(read("/kept", fetchers::PageForm::markdown) == "read: # one");
  CHECK(read("/kept", fetchers::PageForm::text) == "read: one");
  site.put("/kept", "<h1>two</h1>");
  clock.advance(std::chrono::minutes(5) - std::chrono::milliseconds(1));
  CHECK(read("/kept", fetchers::PageForm::text) == "read: one");
  clock.advance(std::chrono::milliseconds(1));
  CHECK(read("/kept", fetchers::PageForm::text) == "read: two");
  // 8 KB of an address
  const std::string longest = site.url("/") + std::string(8192 - site.url("/").size(), 'a');
  CHECK(told(reader.read(std::vector<std::string>{longest}, {}, std::chrono::seconds(5)).front())
            .find("at most 8 KB") == std::string::npos);
  CHECK(told(reader.read(std::vector<std::string>{longest + "a"}, {}, std::chrono::seconds(5)).front())
            .find("at most 8 KB") != std::string::npos);
  // what may no longer be reached is not shown either
  config.allow_private.clear();
  reader.configure(config);
  CHECK(read("/kept").find("no public address") != std::string::npos);
}

TEST_CASE("Sixteen pages are read at once, and then no other", "[service][pages][security]") {
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
  const SteadyClock clock;
  PageReader reader(clock);
  PagesConfig config;
  config.allow_private = {origin};
  reader.configure(config);
  const auto read = [&](int first, int count) {
    std::vector<std::string> urls;
    for (int i = first; i < first + count; ++i) urls.push_back("http://" + origin + "/" + std::to_string(i));
    return reader.read(urls, fetchers::PageForm::text, std::chrono::seconds(60));
  };
  std::thread most([&] { CHECK(read(0, 15).size() == 15); });
  REQUIRE(becomes_true([&] { return asked == 1; }));  // for robots.txt
  std::thread last([&] { CHECK(told(read(20, 1).front()).starts_with("read: ")); });
  REQUIRE(becomes_true([&] { return asked == 2; }));
  CHECK(told(read(30, 1).front()).find("too many pages are being read") != std::string::npos);
  {
    const std::lock_guard lock(mutex);
    is_open = true;
    for (const auto& responder : waiting) responder->send(make_response(404, "text/plain", "none"));
    waiting.clear();  // none may outlive the server
  }
  most.join();
  last.join();
  CHECK(told(read(30, 1).front()).starts_with("read: "));
  server->stop(std::chrono::seconds(5));
}

TEST_CASE("Who may have pages read is the configuration's", "[service][pages][security]") {
  using Access = PagesConfig::Access;
  for (const auto& [access, without, with] :
       {std::tuple{Access::off, false, false}, {Access::key, false, true}, {Access::search, true, true}}) {
    PagesConfig config;
    config.access = access;
    CHECK(check_page_access(config, false).has_value() == without);
    CHECK(check_page_access(config, true).has_value() == with);
  }
}

TEST_CASE("Pictures end where they should, each kind by itself", "[service][pictures][security]") {
  TestSite site;
  ManualClock clock;
  PictureReader reader(clock, "secret");
  PicturesConfig config;
  config.has_icons = config.has_thumbnails = true;
  config.allow_private = {site.origin()};
  reader.configure(config);
  const auto sized = [](unsigned width, unsigned height) {
    std::string out = png_of(1, 1);
    for (const auto& [at, value] : {std::pair<std::size_t, unsigned>{16, width}, {20, height}})
      for (int i = 0; i < 4; ++i)
        out[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (24 - 8 * i));
    return out;
  };
  int number = 0;
  const auto is_read = [&](PictureKind kind, const std::string& bytes, int status = 200) {
    const std::string path = "/" + std::to_string(++number);
    site.put(path, make_response(status, "image/png", bytes));
    return reader.read(kind, site.url(path)).has_value();
  };
  const auto thumbnail = PictureKind::thumbnail;
  CHECK(is_read(thumbnail, sized(2048, 2048)));
  CHECK(is_read(thumbnail, sized(1, 1)));
  for (const auto& [width, height] :
       {std::pair{2049U, 1U}, {1U, 2049U}, {0U, 1U}, {1U, 0U}, {0x80000000U, 1U}, {1U, 0xFFFFFFFFU}})
    CHECK_FALSE(is_read(thumbnail, sized(width, height)));
  for (const int status : {201, 204, 301, 404, 500}) CHECK_FALSE(is_read(thumbnail, sized(9, 9), status));
  const auto padded = [&](std::size_t bytes) {
    return sized(9, 9) + std::string(bytes - sized(9, 9).size(), 'x');
  };
  CHECK(is_read(PictureKind::icon, padded(64 * 1024)));
  CHECK_FALSE(is_read(PictureKind::icon, padded(64 * 1024 + 1)));
  CHECK(is_read(thumbnail, padded(512 * 1024)));
  CHECK_FALSE(is_read(thumbnail, padded(512 * 1024 + 1)));
  // a thumbnail that is too large for an icon is none
  site.put("/both", make_response(200, "image/png", padded(100 * 1024)));
  CHECK(reader.read(thumbnail, site.url("/both")).has_value());
  CHECK_FALSE(reader.read(PictureKind::icon, site.url("/both")).has_value());
  // that there is none is known for ten minutes, what there is for a day
  site.put("/later", make_response(404, "text/plain", "none"));
  CHECK_FALSE(reader.read(thumbnail, site.url("/later")).has_value());
  site.put("/later", make_response(200, "image/png", sized(9, 9)));
  clock.advance(std::chrono::minutes(10) - std::chrono::milliseconds(1));
  CHECK_FALSE(reader.read(thumbnail, site.url("/later")).has_value());
  clock.advance(std::chrono::milliseconds(1));
  CHECK(reader.read(thumbnail, site.url("/later")).has_value());
  site.put("/later", make_response(404, "text/plain", "none"));
  clock.advance(std::chrono::hours(24) - std::chrono::milliseconds(1));
  CHECK(reader.read(thumbnail, site.url("/later")).has_value());
  clock.advance(std::chrono::milliseconds(1));
  CHECK_FALSE(reader.read(thumbnail, site.url("/later")).has_value());
}

TEST_CASE("A link to a picture is of its kind, where that is on, and of this server",
          "[service][pictures][security]") {
  const PictureLinks both{"secret", true, true};
  const PictureLinks none{"secret", false, false};
  const PictureLinks other{"another", true, true};
  const auto sign_in = [](const std::string& link) { return link.substr(link.rfind("sign=") + 5); };
  const std::string page = "https://a.example:444/x?y";
  const std::string icon = both.link(PictureKind::icon, page);
  CHECK(icon.starts_with("/picture?icon=https%3A%2F%2Fa.example%3A444&sign="));
  CHECK(both.picture_url(PictureKind::icon, "https://a.example:444", sign_in(icon)) ==
        "https://a.example:444/favicon.ico");
  CHECK(both.picture_url(PictureKind::icon, "https://b.example:444", sign_in(icon)).empty());
  CHECK(both.picture_url(PictureKind::thumbnail, "https://a.example:444", sign_in(icon)).empty());
  CHECK(both.picture_url(PictureKind::icon, "https://a.example:444", "").empty());
  CHECK(both.picture_url(PictureKind::icon, "https://a.example:444", sign_in(icon).substr(1)).empty());
  CHECK(none.picture_url(PictureKind::icon, "https://a.example:444", sign_in(icon)).empty());
  CHECK(other.picture_url(PictureKind::icon, "https://a.example:444", sign_in(icon)).empty());
  const std::string thumbnail = both.link(PictureKind::thumbnail, page);
  CHECK(both.picture_url(PictureKind::thumbnail, page, sign_in(thumbnail)) == page);
  CHECK(none.link(PictureKind::icon, page).empty());
  CHECK(none.link(PictureKind::thumbnail, page).empty());
  for (const std::string bad : {"", "javascript:x", "ftp://a.example/", "http://u:p@a.example/"})
    CHECK(both.link(PictureKind::thumbnail, bad).empty());
  const std::string longest = "https://a.example/" + std::string(2048 - 18, 'a');
  CHECK_FALSE(both.link(PictureKind::thumbnail, longest).empty());
  CHECK(both.link(PictureKind::thumbnail, longest + "a").empty());
}
