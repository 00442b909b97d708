#pragma once

#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "tests/support/test_server.h"

// A server with a store, and people who search, judge and click there.
namespace metafuse::test {

inline const std::string kAdmin = "Authorization: Bearer admin-key\r\n";
inline const std::string kJudge = "Authorization: Bearer judge-key\r\n";

inline std::string learning_config(const std::string& more = "") {
  return "store: metafuse.db\nkeys:\n  - {name: judge, sha256: " + sha256_hex("judge-key") +
         ", roles: [judge]}\n  - {name: admin, sha256: " + sha256_hex("admin-key") + ", roles: [admin]}\n" +
         more;
}

inline JsonObject body_of(const std::string& response) {
  auto value = parse_json(body_in(response), "answer");
  REQUIRE(value.has_value());
  return value->as_object();
}

inline std::string send(TestServer& server, const std::string& target, const std::string& body,
                        const std::string& headers = kAdmin) {
  return server.post(target, "application/json", body, headers);
}

/// Searches new names and judges the result that only engine two found as relevant and engine one's first
/// result as not relevant.
inline void judge_names(TestServer& server, int first, int count, const std::string& domain = "pages") {
  for (int i = first; i < first + count; ++i) {
    const JsonObject answer =
        body_of(server.get("/search?format=json&domain=" + domain + "&q=name" + std::to_string(i)));
    const std::string id(answer.at("fusion").at("search_id").as_string());
    for (const auto& [host, grade] : {std::pair{"c.example", 1}, std::pair{"a.example", 0}}) {
      const std::string judgment = R"({"search_id":")" + id + R"(","kind":"judgment","url":"http://)" + host +
                                   R"(/","grade":)" + std::to_string(grade) + "}";
      REQUIRE(status_in(send(server, "/v1/feedback", judgment, kJudge)) == 200);
    }
  }
}

/// Clicks the first result of a search for a query.
///
/// out: the answer's "fusion"
inline JsonObject search_and_click(TestServer& server, const std::string& query) {
  const JsonObject answer = body_of(server.get("/search?format=json&q=" + query));
  const JsonObject fusion = answer.at("fusion").as_object();
  const std::string click =
      R"({"search_id":")" + std::string(fusion.at("search_id").as_string()) + R"(","position":1})";
  REQUIRE(status_in(send(server, "/v1/feedback", click)) == 200);
  return fusion;
}

inline JsonObject served_model_of(TestServer& server) {
  return body_of(server.get("/v1/models", kAdmin)).at("models").at(0).as_object();
}

}  // namespace metafuse::test
