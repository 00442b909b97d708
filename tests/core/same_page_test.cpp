#include "core/same_page.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "core/text_file.h"
#include "core/url.h"

namespace metafuse {
namespace {

std::string key_of(const std::string& url) {
  const auto key = canonical_url_key(url);
  return key ? *key : key.error().text;
}

}  // namespace

TEST_CASE("Addresses that sites have for one page have one key", "[core][same_page]") {
  const auto same = [](const std::string& a, const std::string& b) { CHECK(key_of(a) == key_of(b)); };
  const auto apart = [](const std::string& a, const std::string& b) { CHECK(key_of(a) != key_of(b)); };
  same("https://www.youtube.com/watch?v=abcdefghijk&t=4s", "https://youtu.be/abcdefghijk?si=x");
  same("https://www.youtube.com/shorts/abcdefghijk", "https://m.youtube.com/watch?v=abcdefghijk&list=1");
  same("https://twitter.com/a/status/20", "https://mobile.x.com/a/status/20?s=20");
  same("https://doi.org/10.1000/ABC", "http://dx.doi.org/10.1000/abc");
  same("https://arxiv.org/pdf/1706.03762v5.pdf", "https://arxiv.org/abs/1706.03762");
  same("https://de.m.wikipedia.org/wiki/Otter", "https://de.wikipedia.org/w/index.php?title=Otter");
  apart("https://de.wikipedia.org/wiki/Otter", "https://de.wikipedia.org/w/index.php?title=Otter&oldid=3");
  same("https://math.stackexchange.com/questions/12/a-title", "https://math.stackexchange.com/q/12/99");
  apart("https://math.stackexchange.com/questions/12/x", "https://stackoverflow.com/questions/12/x");
  same("https://www.amazon.de/Ein-Titel/dp/B00X4WHP5E/ref=sr_1_1?qid=1",
       "https://www.amazon.de/gp/product/B00X4WHP5E");
  apart("https://www.amazon.de/dp/B00X4WHP5E", "https://www.amazon.com/dp/B00X4WHP5E");
  same("https://example-org.translate.goog/a?_x_tr_sl=de", "https://example.org/a");
  same("https://www.google.de/amp/s/www.example.com/story", "https://example.com/story");
  apart("https://m.example.org/", "https://example.org/");
  apart("https://example.org/docs/camp", "https://example.org/docs");
  apart("https://example.org/p?ref=main", "https://example.org/p");
}

TEST_CASE("A key stays as it is when it is made a key again", "[core][same_page]") {
  for (const std::string url :
       {"https://youtu.be/abcdefghijk", "https://www.amazon.de/a/dp/B00X4WHP5E",
        "https://en.m.wikipedia.org/wiki/A%2FB", "https://web.archive.org/web/2020/https://example.org/wa",
        "https://amp.m.example.org/index.html/amp"}) {
    const std::string key = key_of(url);
    CHECK(key_of("http://" + key) == key);
  }
}

TEST_CASE("Rules of the user come before the built-in ones, and mistakes are named", "[core][same_page]") {
  const auto own = SamePageRules::parse(
      "version: 1\nrules:\n  - {hosts: [wiki.intranet], path: \"/x/(.*)\", to: 'wiki.intranet/page/\\1'}\n",
      "own.yaml");
  REQUIRE(own.has_value());
  TrackingParameters tracking = default_tracking_parameters();
  tracking.same_page = SamePageRules::joined(**own, *built_in_same_page_rules());
  CHECK(*canonical_url_key("http://wiki.intranet/x/a", tracking) == "wiki.intranet/page/a");
  CHECK(*canonical_url_key("https://youtu.be/abcdefghijk", tracking) == "youtube.com/watch?v=abcdefghijk");
  const auto mistaken = SamePageRules::parse(
      "rules:\n  - {hosts: [a.b], path: \"(\", to: x}\n  - {hosts: [a.b], to: '\\1'}\n  - {hots: [a]}\n",
      "own.yaml");
  REQUIRE_FALSE(mistaken.has_value());
  CHECK(mistaken.error().text.find("own.yaml:2") != std::string::npos);
  CHECK(mistaken.error().text.find("own.yaml:3") != std::string::npos);
  CHECK(mistaken.error().text.find("unknown key \"hots\"") != std::string::npos);
}

TEST_CASE("Rules for all hosts apply where their text stands, however many rules there are",
          "[core][same_page]") {
  std::string text = "version: 1\nrules:\n";
  const auto mark = [](int i) { return "-mark" + std::to_string(i) + "-"; };
  for (int i = 10; i < 40; ++i)
    text += "  - {hosts: [\"*\"], has: " + mark(i) + ", path: \"(.*)" + mark(i) + ".*\", to: '@host\\1/" +
            std::to_string(i) + "'}\n";
  TrackingParameters tracking;
  tracking.same_page = *SamePageRules::parse(text, "own.yaml");
  for (int i = 10; i < 40; ++i) {
    const std::string number = std::to_string(i);
    CHECK(*canonical_url_key("http://a.example/x" + mark(i) + "y", tracking) == "a.example/x/" + number);
    CHECK(*canonical_url_key("http://a.example/x-mark" + number + "y", tracking) ==
          "a.example/x-mark" + number + "y");
  }
  // texts that overlap, and the first of two rules that stand in one key
  CHECK(*canonical_url_key("http://a.example/x-mark1-mark12-", tracking) == "a.example/x-mark1/12");
  CHECK(*canonical_url_key("http://a.example/x-mark20-mark11-", tracking) == "a.example/x-mark20/11");
}

TEST_CASE("A host's rules are found by its name, its last labels and its first one, the nearest first",
          "[core][same_page]") {
  const std::vector<std::string> labels = {"a", "bc", "d-e", "example", "org"};
  Random random(5);
  const auto name = [&](std::size_t most) {
    std::string out = labels[random.below(labels.size())];
    for (std::size_t more = random.below(most); more > 0; --more)
      out = labels[random.below(labels.size())] + "." + out;
    return out;
  };
  for (int round = 0; round < 50; ++round) {
    std::string text = "version: 1\nrules:\n";
    std::map<std::string, std::string> first;  // the number of the first rule of each pattern
    for (int i = 0; i < 12; ++i) {
      const auto kind = random.below(3);
      const std::string pattern = kind == 0 ? name(4) : kind == 1 ? "*." + name(3) : name(1) + ".*";
      const std::string number = std::to_string(i);
      text += "  - {hosts: [\"" + pattern + "\"], path: \"/x\", to: 'rule/" + number + "'}\n";
      first.emplace(pattern, number);
    }
    const auto rules = *SamePageRules::parse(text, "own.yaml");
    for (int i = 0; i < 100; ++i) {
      const std::string host = name(5);
      std::vector<std::string> patterns = {host};
      for (std::string end = host; !end.empty();) {
        patterns.push_back("*." + end);
        const std::size_t dot = end.find('.');
        end = dot == std::string::npos ? "" : end.substr(dot + 1);
      }
      if (host.find('.') != std::string::npos) patterns.push_back(host.substr(0, host.find('.')) + ".*");
      std::optional<std::string> expected;
      for (const std::string& pattern : patterns)
        if (!expected && first.contains(pattern)) expected = "rule/" + first[pattern];
      INFO(text << host);
      REQUIRE(rules->rewritten(host + "/x") == expected);
    }
  }
}

TEST_CASE("Shown links lose their tracking parameters and nothing else", "[core][same_page]") {
  const auto shown = [](const std::string& url) {
    return without_tracking(url, default_tracking_parameters());
  };
  CHECK(shown("https://a.example/p?utm_source=x&b=1&gclid=2#c") == "https://a.example/p?b=1#c");
  CHECK(shown("https://a.example/p?fbclid=2#utm_x=1") == "https://a.example/p#utm_x=1");
  for (const std::string url :
       {"https://a.example/%7Eb/?b=%20&&c", "https://a.example/?", "https://a.example/#?utm_id=1"})
    CHECK(shown(url) == url);
}

TEST_CASE("Pairs of addresses that people call one page or two", "[core][same_page][data]") {
  const char* data = std::getenv("METAFUSE_DATA");
  const auto text = read_text(std::string(data == nullptr ? "" : data) + "/answers-2/pairs.tsv", 1 << 20);
  if (data == nullptr || !text) {
    WARN("skipped: METAFUSE_DATA names no folder with answers-2/pairs.tsv");
    return;
  }
  int same = 0, merged = 0, apart = 0, kept = 0;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string kind, a, b;
    std::getline(fields, kind, '\t');
    std::getline(fields, a, '\t');
    std::getline(fields, b, '\t');
    const bool is_one = key_of(a) == key_of(b);
    if (kind == "same") {
      ++same;
      merged += is_one ? 1 : 0;
      if (!is_one) std::cout << "not merged: " << a << " " << b << "\n";
    } else if (kind == "apart") {
      ++apart;
      kept += is_one ? 0 : 1;
      if (is_one) std::cout << "merged: " << a << " " << b << "\n";
    }
  }
  std::cout << merged << " of " << same << " pairs merge, " << kept << " of " << apart << " stay apart\n";
  CHECK(merged >= 60);
  CHECK(kept == apart);
}

}  // namespace metafuse
