#include <random>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/json.h"
#include "service/api/fuse_reading.h"
#include "service/api/fusing.h"

using namespace metafuse;
using service::FuseRequest;

namespace {

std::string shown(const std::optional<std::string_view>& text) {
  return text ? fmt::format("\"{}\"", *text) : "-";
}

/// Everything that a request says, to the last bit.
std::string described(const FuseRequest& request) {
  std::string out =
      fmt::format("domain {} method {} k {:a} weights {} text {} slots {} limit {} explain {} least {:a}\n",
                  request.domain, request.method == nullptr ? "-" : request.method->name,
                  request.options.k.value_or(-1), fmt::join(request.options.weights, ","), request.text,
                  request.slots.slots.size(), request.limit, request.is_explained, request.min_relevance);
  if (request.options.normalise) out += std::string(fusion::name_of(*request.options.normalise)) + "\n";
  out += fmt::format("documents {}\nnotices {}\n", fmt::join(request.query.documents, "|"),
                     fmt::join(request.notices, "|"));
  for (std::size_t document = 0; document < request.query.size(); ++document) {
    for (const auto& [rank, list] : request.holders_of(document)) out += fmt::format(" {}:{}", list, rank);
    out += '\n';
  }
  for (std::size_t l = 0; l < request.lists.size(); ++l) {
    const service::CallerList& list = request.lists[l];
    out += fmt::format("list {} {:a} {} {}\n", list.name, list.weight, list.has_weight, list.has_scores);
    for (std::uint32_t i = 0; i < request.query.lists[l].size(); ++i) {
      const fusion::ListEntry& entry = request.query.lists[l][i];
      out += fmt::format(" {} {:a}", entry.document, entry.score);
      if (const service::CallerMembers* own = request.members_of(l, i + 1))
        out += fmt::format(" {} {} {} {}", shown(own->url), shown(own->title), shown(own->snippet),
                           own->fields == nullptr ? "-" : to_text(*own->fields));
      out += "\n";
    }
  }
  return out;
}

/// Reads a text in both ways. Requires that they agree if the plain reader takes it; returns whether it does.
bool is_taken_alike(const std::string& text) {
  INFO(text.substr(0, 2000));
  const service::PlainFuseText plain(text, default_tracking_parameters());
  if (plain.request() == nullptr) return false;
  const auto body = parse_json(text, "body", Code::usage, {.max_depth = 32});
  REQUIRE(body.has_value());
  REQUIRE(body->is_object());
  const auto request = service::read_fuse_request(body->get_object(), default_tracking_parameters());
  REQUIRE(request.has_value());
  CHECK(described(*plain.request()) == described(*request));
  return true;
}

std::string with_results(const std::string& results) {
  return R"({"lists":[{"name":"a","results":[)" + results + "]}]}";
}

/// A request made of pieces that are usual, unusual or wrong.
std::string random_request(std::mt19937& random) {
  const auto pick = [&](const std::vector<std::string>& choices) {
    return choices[random() % choices.size()];
  };
  const auto rarely = [&](const std::string& text) { return random() % 6 == 0 ? text : std::string(); };
  const auto result = [&]() -> std::string {
    const std::string id =
        pick({R"("d1")", R"("d2")", R"("d\u00fc")", R"("d\"3")", R"("longer-document-4")", "\"\xc3\xbc\""});
    if (random() % 2 == 0) return id;
    return "{\"id\":" + id +
           rarely(R"(,"score":)" +
                  pick({"1", "-0", "-0.0", "0.1", "1e-400", "18446744073709551615", "2.5e3"})) +
           rarely(R"(,"title":)" + pick({R"("t")", R"("\ud83d\ude00")", "null"})) +
           rarely(R"(,"snippet":"s\n")") +
           rarely(R"(,"url":)" + pick({R"("http://www.x.example/a/?utm_source=1")", R"("nothing")", "7"})) +
           rarely(R"(,"fields":)" + pick({"null", "-0", "1e5", R"({"a":[1,{"b":2.50}]})", R"({"a":1,"a":2})",
                                          "123456789012345678901"})) +
           rarely(R"(,"id":"again")") + "}";
  };
  std::string lists;
  for (std::size_t list = 0, count = 1 + random() % 4; list < count; ++list) {
    std::string results;
    for (std::size_t i = 0, length = random() % 5; i < length; ++i)
      results += (i == 0 ? "" : ", ") + result();
    lists += (list == 0 ? "" : ",") + (R"({"name":"l)" + pick({"1", "2", "3", "4", "5", "6", "7"})) + "\"" +
             rarely(R"(,"weight":)" + pick({"2", "0.5", "-1", "null"})) + R"(,"results":[)" + results + "]}";
  }
  return "{" + rarely(R"("method":)" + pick({R"("rrf",)", R"("combsum",)", R"("mc4",)", R"("none",)"})) +
         rarely(R"("options":{"k":3},)") + rarely(R"("limit":3,)") + rarely(R"("explain":true,)") +
         rarely(R"("query":"q",)") + rarely(R"("domain":"d",)") + rarely(R"("slots":{"A":"b"},)") +
         "\"lists\":[" + lists + "]}";
}

}  // namespace

TEST_CASE("Requests that both readers take are read alike", "[service][fusing]") {
  std::mt19937 random(11);
  std::size_t taken = 0;
  constexpr std::size_t kRequests = 4000;
  for (std::size_t i = 0; i < kRequests; ++i) taken += is_taken_alike(random_request(random)) ? 1 : 0;
  CHECK(taken > kRequests / 4);
  CHECK(taken < kRequests);
}

TEST_CASE("The plain reader takes what callers usually send", "[service][fusing]") {
  for (
      const std::string& text : {
          with_results(R"("a","b","a")"),
          with_results(R"({"id":"a","score":0.5},{"score":1,"id":"b"})"),
          with_results(
              R"({"url":"https://www.x.example/a#b","title":"t","snippet":"s \u00fc \ud83d\ude00"})"),
          with_results(R"({"id":"a","fields":{"page":7,"tags":["x",null,true,-1.5,18446744073709551615]}})"),
          std::string(
              R"( {"method":"weighted_sum","options":{"normalise":"min-max"},"limit":3,"explain":true,"lists":[
                {"name":"a","weight":2,"results":[{"id":"x","score":1}]},{"weight":0.5,"results":[],"name":"b"}]} )"),
          std::string(
              R"({"domain":"pages","slots":{"NAME":"ada"},"query":"q","lists":[{"name":"a","results":[]}]})"),
      }) {
    INFO(text);
    CHECK(is_taken_alike(text));
  }
}

TEST_CASE("The plain reader leaves everything unusual or wrong to the other reader",
          "[service][fusing][security]") {
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  std::string many = R"({"id":"a","fields":{)";
  for (int i = 0; i < 40; ++i) many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  for (const std::string& text : {
           std::string(),
           std::string("{}"),
           std::string("[1]"),
           std::string("nope"),
           with_results("\"a\"") + "x",
           with_results(R"({"id":"a","id":"b"})"),
           with_results(R"({"id":"a","fields":{"k":1,"k":2}})"),
           with_results(R"({"id":"a","fields":)" + deep + "}"),
           with_results(R"({"id":"a","fields":123456789012345678901})"),
           with_results(many + "}}"),
           with_results(R"("\ud800")"),
           with_results(R"("\udc00")"),
           with_results("\"\xff\""),
           with_results("\"\""),
           with_results(R"({"id":"a","score":1e999})"),
           with_results(R"({"title":"t"})"),
           with_results("7"),
           with_results(R"({"id":"a","rank":1})"),
           with_results(R"({"id":"a","title":null})"),
           std::string(R"({"requests":[]})"),
           std::string(R"({"lists":[],"lists":[]})"),
           std::string(R"({"lists":[{"name":"a","results":[]},{"name":"a","results":[]}]})"),
           std::string(R"({"method":"combsum","lists":[{"name":"a","results":["x"]}]})"),
           with_results("\"" + std::string(300'000, 'x') + "\""),
       }) {
    INFO(text.substr(0, 200));
    CHECK_FALSE(is_taken_alike(text));
  }
}
