#include "fetchers/model/secrets.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

std::string redacted(std::string text, const std::vector<std::string>& secrets) {
  HiddenTexts hidden;
  for (const std::string& secret : secrets) add_secret(hidden, secret);
  redact(text, hidden);
  return text;
}

}  // namespace

TEST_CASE("A secret is hidden in every spelling in which an engine repeats it", "[fetchers][security]") {
  const std::string secret = "p w/\"ä\":9";
  for (const std::string& spelling :
       {secret, std::string("p%20w%2F%22%C3%A4%22%3A9"), std::string("p%20w%2f%22%c3%a4%22%3a9"),
        std::string("p+w%2F%22%C3%A4%22%3A9"), std::string(R"(p w/\"ä\":9)"),
        std::string(R"(p w\/\"ä\":9)")}) {
    INFO(spelling);
    CHECK(redacted("<" + spelling + "> and " + spelling, {secret}) == "<REDACTED> and REDACTED");
  }
}

TEST_CASE("No part of a secret remains that begins with another one", "[fetchers][security]") {
  for (const std::vector<std::string>& secrets :
       {std::vector<std::string>{"abcdef", "abcdefghij"}, std::vector<std::string>{"abcdefghij", "abcdef"}})
    CHECK(redacted("abcdefghij abcdef", secrets) == "REDACTED REDACTED");
}

TEST_CASE("What is too short to be told from other words is not hidden", "[fetchers][security]") {
  CHECK(redacted("hello", {"hello"}) == "hello");
  CHECK(redacted("nothing", {}) == "nothing");
}
