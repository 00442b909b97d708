#include "service/search/picture_reader.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/manual_clock.h"
#include "tests/support/test_server.h"
#include "tests/support/test_site.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

using namespace std::string_literals;

/// The first bytes of a PNG picture of that size.
std::string png_of(unsigned char width, unsigned char height) {
  return "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0"s + static_cast<char>(width) + "\0\0\0"s +
         static_cast<char>(height) + "\x08\x06\0\0\0"s;
}

/// The links to "/picture?..." of a page, unescaped.
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

TEST_CASE("The first bytes of a picture give its type and size", "[service][pictures]") {
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

TEST_CASE("Pictures are off by default and only signed links are fetched", "[service][pictures]") {
  TestSite site;
  site.put("/favicon.ico", make_response(200, "text/html", png_of(16, 16)));  // the bytes decide its type
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
  CHECK(std::count(asked.begin(), asked.end(), "/favicon.ico") == 1);  // cached for all results of the site
  CHECK(std::count(asked.begin(), asked.end(), "/none") == 1);
  // a link to another picture, of another kind, or without parameters
  std::string other = *icon;
  other.replace(other.find("127.0.0.1"), 9, "127.0.0.2");
  CHECK(status_in(on.get(other)) == 404);
  other = *icon;
  other.replace(other.find("icon="), 5, "thumbnail=");
  CHECK(status_in(on.get(other)) == 404);
  CHECK(status_in(on.get("/picture")) == 404);
}

TEST_CASE("Pictures are accepted up to exactly the limits of their kind", "[service][pictures][security]") {
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
  // a picture that is a valid thumbnail may be too large for an icon
  site.put("/both", make_response(200, "image/png", padded(100 * 1024)));
  CHECK(reader.read(thumbnail, site.url("/both")).has_value());
  CHECK_FALSE(reader.read(PictureKind::icon, site.url("/both")).has_value());
  // a missing picture is remembered for ten minutes, a picture for a day
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

TEST_CASE("A picture link is valid only for its kind where enabled and only for this server",
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
