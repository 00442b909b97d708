#include "core/url.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/text_file.h"

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

TEST_CASE("URLs that mean the same page have one key, and others do not", "[core][url]") {
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

TEST_CASE("a canonical key is its own key and holds no blanks", "[core][url]") {
  for (const Case& one : read_cases())
    for (const std::string& url : {one.a, one.b}) {
      const auto key = canonical_url_key(url);
      REQUIRE(key.has_value());
      CHECK(key->find_first_of(" \t\r\n") == std::string::npos);
      const bool has_scheme = key->find("://") != std::string::npos;
      // A port that is another scheme's own would be dropped by that scheme.
      if (key->find(":443") != std::string::npos || key->find(":80") != std::string::npos) continue;
      const auto again = canonical_url_key(has_scheme ? *key : "http://" + *key);
      INFO(url << "  " << *key);
      REQUIRE(again.has_value());
      CHECK(*again == *key);
    }
}

TEST_CASE("what is no absolute URL has no key", "[core][url]") {
  for (const std::string url :
       {"", " ", "example.org", "/path", "//example.org/x", "http://", "http:///x", "mailto:a@b",
        "javascript:alert(1)", "http://exa mple.org/", "http://[::1", "data:text/html,x"}) {
    INFO(url);
    CHECK_FALSE(canonical_url_key(url).has_value());
  }
  CHECK_FALSE(canonical_url_key("http://example.org/" + std::string(9000, 'a')).has_value());
  CHECK_FALSE(canonical_url_key(std::string("http://exa\0mple.org/", 20)).has_value());
}

TEST_CASE("plain URLs have the key that the parser gives them", "[core][url]") {
  // A capital in the scheme sends a URL through the parser; nothing else differs.
  for (const Case& one : read_cases())
    for (const std::string& url : {one.a, one.b}) {
      if (!url.starts_with("http")) continue;
      INFO(url);
      CHECK(*canonical_url_key(url) == *canonical_url_key("H" + url.substr(1)));
    }
}
