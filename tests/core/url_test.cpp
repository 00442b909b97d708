#include "core/url.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "core/tracking_parameters.h"

using metafuse::canonical_url_key;

namespace {

struct Case {
  bool is_same = false;
  std::string a, b, reason;
};

std::vector<Case> read_cases() {
  std::vector<Case> cases;
  const auto read =
      metafuse::for_each_line(std::string(METAFUSE_SOURCE_DIR) + "/tests/data/url_keys.tsv",
                              [&](std::string_view line, std::size_t) -> metafuse::Result<void> {
                                if (line.empty() || line[0] == '#') return {};
                                std::vector<std::string> fields(1);
                                for (const char c : line)
                                  if (c == '\t')
                                    fields.emplace_back();
                                  else
                                    fields.back() += c;
                                REQUIRE(fields.size() == 4);
                                cases.push_back({fields[0] == "same", fields[1], fields[2], fields[3]});
                                return {};
                              });
  REQUIRE(read.has_value());
  return cases;
}

}  // namespace

TEST_CASE("URLs of the same page have one key and other URLs have different keys", "[core][url]") {
  int same = 0, apart = 0;
  for (const Case& one : read_cases()) {
    INFO(one.a << "  " << one.b << "  (" << one.reason << ")");
    const auto a = canonical_url_key(one.a), b = canonical_url_key(one.b);
    REQUIRE(a.has_value());
    REQUIRE(b.has_value());
    INFO(*a << "  " << *b);
    CHECK((*a == *b) == one.is_same);
    ++(one.is_same ? same : apart);
  }
  CHECK(same >= 150);
  CHECK(apart >= 150);
}

TEST_CASE("A canonical key is its own key and contains no blanks", "[core][url]") {
  for (const Case& one : read_cases())
    for (const std::string& url : {one.a, one.b}) {
      const auto key = canonical_url_key(url);
      REQUIRE(key.has_value());
      CHECK(key->find_first_of(" \t\r\n") == std::string::npos);
      const bool has_scheme = key->find("://") != std::string::npos;
      // A port that is the default of another scheme would be removed under that scheme.
      if (key->find(":443") != std::string::npos || key->find(":80") != std::string::npos) continue;
      const auto again = canonical_url_key(has_scheme ? *key : "http://" + *key);
      INFO(url << "  " << *key);
      REQUIRE(again.has_value());
      CHECK(*again == *key);
    }
}

TEST_CASE("A text that is not an absolute URL has no key", "[core][url]") {
  for (const std::string url :
       {"", " ", "example.org", "/path", "//example.org/x", "http://", "http:///x", "mailto:a@b",
        "javascript:alert(1)", "http://exa mple.org/", "http://[::1", "data:text/html,x"}) {
    INFO(url);
    CHECK_FALSE(canonical_url_key(url).has_value());
  }
  CHECK_FALSE(canonical_url_key("http://example.org/" + std::string(9000, 'a')).has_value());
  CHECK_FALSE(canonical_url_key(std::string("http://exa\0mple.org/", 20)).has_value());
}

TEST_CASE("Plain URLs have the same key as from the full parser", "[core][url]") {
  // A capital letter in the scheme forces the full parser and changes nothing else.
  for (const Case& one : read_cases())
    for (const std::string& url : {one.a, one.b}) {
      if (!url.starts_with("http")) continue;
      INFO(url);
      CHECK(*canonical_url_key(url) == *canonical_url_key("H" + url.substr(1)));
    }
  for (const std::string url :
       {"http://a.org/x y", "http://a.org/?q=x y", "http://a.org/?q=x+y", "http://a.org/?x y",
        "http://a.org/#!/x y", "http://a.org/x\x7f", "http://a.org/x\\y", "http://a.org/x\x01"}) {
    INFO(url);
    const auto plain = canonical_url_key(url), parsed = canonical_url_key("H" + url.substr(1));
    REQUIRE(plain.has_value() == parsed.has_value());
    if (plain) CHECK(*plain == *parsed);
  }
}

TEST_CASE("Every byte at every place of a plain URL gives the key of the full parser", "[core][url]") {
  // as above; the longer one has several blocks of 16 bytes
  for (const std::string given :
       {"http://ab.org/c", "http://www.host-1.example/a.b/c_d~e/f(g)/h,i*j/k:l@m'n+o/p&q=r"})
    for (std::size_t place = 7; place <= given.size(); ++place)
      for (int byte = 0x21; byte < 0x7F; ++byte) {
        const std::string url = given.substr(0, place) + static_cast<char>(byte) + given.substr(place);
        INFO(url);
        const auto plain = canonical_url_key(url), parsed = canonical_url_key("H" + url.substr(1));
        REQUIRE(plain.has_value() == parsed.has_value());
        if (plain) REQUIRE(*plain == *parsed);
      }
}

TEST_CASE("The shipped list of tracking parameters equals the compiled one", "[core][url]") {
  const std::string file = std::string(METAFUSE_SOURCE_DIR) + "/config/tracking_parameters.yaml";
  const auto text = metafuse::read_text(file, 1 << 20);
  REQUIRE(text.has_value());
  const auto list = metafuse::parse_tracking_parameters(*text, file);
  REQUIRE(list.has_value());
  CHECK(*list == metafuse::default_tracking_parameters());
}

TEST_CASE("A list of tracking parameters decides which parameters are ignored", "[core][url]") {
  const auto list =
      metafuse::parse_tracking_parameters("version: 1\nnames: [Promo, sid]\nprefixes: [x_]\n", "list.yaml");
  REQUIRE(list.has_value());
  const auto key = [&](const std::string& url) { return *canonical_url_key(url, *list); };
  CHECK(key("http://a.org/?id=1&PROMO=7&x_y=2&sid=3") == "a.org?id=1");
  CHECK(key("http://a.org/?id=1&utm_source=7") == "a.org?id=1&utm_source=7");
  CHECK(key("http://a.org/?x_=2") == "a.org?x_=2");
  const std::string long_name(100, 'n');
  CHECK(key("http://a.org/?x_" + long_name + "=1&" + long_name + "=2") == "a.org?" + long_name + "=2");
  const auto wrong =
      metafuse::parse_tracking_parameters("names: [a=b, '']\nnmaes: [c]\nprefixes: ['']\n", "l.yaml");
  REQUIRE_FALSE(wrong.has_value());
  for (const char* part : {"\"a=b\"", "\"\" is not a parameter name", "nmaes", "l.yaml:1:"})
    CHECK(wrong.error().text.find(part) != std::string::npos);
}
