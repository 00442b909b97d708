#include "fetchers/http/answer_headers.h"

#include <catch2/catch.hpp>

using namespace metafuse;
using namespace metafuse::fetchers;

TEST_CASE("Retry-After is read as seconds or as a date after the answer's own", "[fetchers][http]") {
  const std::string ten = "Sun, 22 Nov 2026 10:00:00 GMT";
  const auto read = [&](const std::string& value, const std::string& date = {}) {
    HttpAnswer answer;
    answer.headers = {{"retry-after", value}, {"date", date}};
    return retry_after(answer);
  };
  CHECK(read("0") == Duration::zero());
  CHECK(read("7") == std::chrono::seconds(7));
  CHECK(read("2.5") == std::chrono::milliseconds(2500));
  CHECK(read("Sun, 22 Nov 2026 10:02:00 GMT", ten) == std::chrono::seconds(120));
  CHECK(read(ten, ten) == Duration::zero());
  for (const char* none : {"", "-5", "soon", "1e300", "nan", "Sun, 22 Nov 2026 09:59:59 GMT"})
    CHECK(read(none, ten) == std::nullopt);
  CHECK(read("Sun, 22 Nov 2026 10:02:00 GMT") == std::nullopt);
  CHECK(read("Thu, 18 Mar 2027 03:46:39 GMT", ten) == std::chrono::seconds(9'999'999));
  for (const char* far : {"Thu, 18 Mar 2027 03:46:40 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "20280101"})
    CHECK(read(far, ten) == std::nullopt);
}

TEST_CASE("Cookies replace others of their name and are kept up to their limits", "[fetchers][http]") {
  StringPairs cookies;
  const auto take = [&](const std::string& cookie) {
    note_cookies(cookies, {{"set-cookie", cookie}, {"set-cookie2", "x=9"}});
    return cookies;
  };
  CHECK(take("a=1; Path=/; Secure") == StringPairs{{"a", "1"}});
  CHECK(take("b=2=3") == StringPairs{{"a", "1"}, {"b", "2=3"}});
  CHECK(take("a=4") == StringPairs{{"b", "2=3"}, {"a", "4"}});
  const std::string longest(4094, 'v');
  for (const std::string& none : {std::string("=5"), std::string("c; d=6"), "c=" + longest + "v"})
    CHECK(take(none).size() == 2);
  CHECK(take("c=" + longest + "; Path=/").back().second == longest);
  for (int i = 3; i < 60; ++i) take("n" + std::to_string(i) + "=1");
  CHECK(cookies.size() == 50);
}

TEST_CASE("The next page is the one that a header Link names so", "[fetchers][http]") {
  const auto next = [](const std::string& value) { return next_link({{"link", value}}); };
  CHECK(next("<http://a/?p=2>; rel=\"next\"") == "http://a/?p=2");
  CHECK(
      next("<http://a/?p=1>; rel=\"prev\", <http://a/?p=3>; REL=next; title=\"x\", <http://a/9>; rel=last") ==
      "http://a/?p=3");
  CHECK(next("<http://a/?p=1>; rel=prev, <http://a/?p=2>;rel=next") == "http://a/?p=2");
  CHECK(next("<http://a/?p=2>; rel=\"last next\"") == "http://a/?p=2");
  CHECK(next("<http://a/?p=2> ; rel = \"Next\"") == "http://a/?p=2");
  CHECK(next("<http://a/?p=1>; title=\"a, \\\"b; <http://b/>\"; rel=up, <http://a/?p=2>; rel=next") ==
        "http://a/?p=2");
  CHECK(next_link({{"link", "<https://api.w.org/>; rel=\"https://api.w.org/\""},
                   {"server", "<http://b/>; rel=next"},
                   {"link", "</next2>; rel=\"next\""}}) == "/next2");
  CHECK(next("<>;rel=next").empty());
  for (const char* none : {"", "next", "<http://a/", "http://a/>; rel=next", "<http://a/>; rel=prev",
                           "<http://a/>", "<a rel=next>; rel=prev", "<http://a/?p=2>; title=\"rel=next\"",
                           "<http://a/>; rel=nextcloud", "<http://a/>; rel"})
    CHECK(next(none).empty());
}
