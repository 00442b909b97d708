#include "service/learning/feedback.h"

#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "core/url.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::document_key;
using metafuse::test::kNewYear;
using metafuse::test::sample_search;

namespace {

Result<FeedbackRequest> parsed_feedback(const std::string& text) {
  auto json = parse_json(text, "request");
  REQUIRE(json.has_value());
  return parse_feedback(*json);
}

struct Fixture {
  test::TemporaryFolder folder{test::TemporaryFolder::in_memory()};
  std::unique_ptr<Store> store;
  StoredSearch search = sample_search();
  FeedbackSender sender{"192.0.2.1", "", false};
  FeedbackRules rules;

  Fixture() {
    auto made = open_store(folder.path("store.db"));
    REQUIRE(made.has_value());
    store = std::move(*made);
    REQUIRE(store->searches.add({&search, 1}).has_value());
  }

  FeedbackOutcome click(std::uint32_t position, UnixTime now = kNewYear + 1) {
    FeedbackRequest request;
    request.search = search.id;
    request.position = position;
    return take(request, now);
  }
  FeedbackOutcome take(const FeedbackRequest& request, UnixTime now = kNewYear + 1) {
    auto outcome = take_feedback(*store, request, sender, rules, now);
    REQUIRE(outcome.has_value());
    return *outcome;
  }
};

}  // namespace

TEST_CASE("Feedback is parsed field by field and each mistake is named", "[service][feedback]") {
  const auto click = parsed_feedback(R"({"search_id":"x","url":"http://a/"})");
  REQUIRE(click.has_value());
  CHECK(click->kind == FeedbackRequest::Kind::click);
  CHECK(click->url == "http://a/");
  const auto judgment = parsed_feedback(R"({"search_id":"x","kind":"judgment","position":3,"grade":2})");
  REQUIRE(judgment.has_value());
  CHECK(judgment->kind == FeedbackRequest::Kind::judgment);
  CHECK(judgment->position == 3);
  CHECK(judgment->grade == 2);

  const std::pair<const char*, const char*> mistakes[] = {
      {R"([])", "body"},
      {R"({})", "search_id"},
      {R"({"search_id":1,"position":1})", "search_id"},
      {R"({"search_id":"","position":1})", "search_id"},
      {R"({"search_id":"x"})", "url"},
      {R"({"search_id":"x","url":"u","position":1})", "url"},
      {R"({"search_id":"x","url":7})", "url"},
      {R"({"search_id":"x","position":0})", "position"},
      {R"({"search_id":"x","position":-1})", "position"},
      {R"({"search_id":"x","position":1.5})", "position"},
      {R"({"search_id":"x","position":"1"})", "position"},
      {R"({"search_id":"x","position":100001})", "position"},
      {R"({"search_id":"x","position":18446744073709551615})", "position"},
      {R"({"search_id":"x","position":1,"kind":"like"})", "kind"},
      {R"({"search_id":"x","position":1,"kind":"judgment"})", "grade"},
      {R"({"search_id":"x","position":1,"kind":"judgment","grade":11})", "grade"},
      {R"({"search_id":"x","position":1,"kind":"judgment","grade":-1})", "grade"},
      {R"({"search_id":"x","position":1,"kind":"click","grade":1})", "grade"},
      {R"({"search_id":"x","position":1,"grade":1})", "grade"},
      {R"({"search_id":"x","position":1,"weight":100})", "weight"},
  };
  for (const auto& [text, field] : mistakes) {
    const auto request = parsed_feedback(text);
    INFO(text);
    REQUIRE(request.has_error());
    CHECK(request.error().code == Code::usage);
    CHECK(request.error().text.starts_with(std::string(field) + ":"));
  }
}

TEST_CASE("A click counts once and only for a result that was shown", "[service][feedback]") {
  Fixture fixture;
  CHECK(fixture.click(1) == FeedbackOutcome::recorded);
  CHECK(fixture.click(1) == FeedbackOutcome::duplicate);
  CHECK(fixture.click(4) == FeedbackOutcome::recorded);
  CHECK(fixture.click(5) == FeedbackOutcome::not_shown);
  FeedbackRequest by_url;
  by_url.search = fixture.search.id;
  by_url.url = "http://example.org/2";
  StoredSearch real = sample_search();
  real.documents[2] = *canonical_url_key(by_url.url);
  REQUIRE(fixture.store->searches.add({&real, 1}).has_value());
  by_url.search = real.id;
  CHECK(fixture.take(by_url) == FeedbackOutcome::recorded);
  CHECK((*fixture.store->clicks.of(real.id))[0].position == 2);
  by_url.url = "http://example.org/elsewhere";
  CHECK(fixture.take(by_url) == FeedbackOutcome::not_shown);
  by_url.url = "no url";
  CHECK(fixture.take(by_url) == FeedbackOutcome::not_shown);
}

TEST_CASE("A URL names a result that a caller's list identified by that URL", "[service][feedback]") {
  Fixture fixture;
  const std::string url = "https://www.example.org/2?utm_source=x";
  for (const bool is_hashed : {false, true}) {
    StoredSearch fused = sample_search();
    fused.documents[2] = is_hashed ? hashed_document(fixture.rules.secret, url) : url;
    FeedbackRequest request;
    request.search = fused.id;
    request.url = url;
    CHECK(shown_position(fused, request, fixture.rules) == 2U);
    request.url = "https://www.example.org/2";
    CHECK_FALSE(shown_position(fused, request, fixture.rules));
    fused.documents[2] = "an id";
    request.url = "an id";
    CHECK_FALSE(shown_position(fused, request, fixture.rules));
  }
}

TEST_CASE("A search id cannot be forged and expires", "[service][feedback]") {
  Fixture fixture;
  CHECK(fixture.click(1, kNewYear + fixture.rules.click_seconds) == FeedbackOutcome::recorded);
  CHECK(fixture.click(2, kNewYear + fixture.rules.click_seconds + 1) == FeedbackOutcome::expired);
  for (const std::string& id : {new_search_id(), std::string(), std::string("' OR '1'='1"),
                                std::string(32, 'G'), std::string(100000, 'a'), fixture.search.id + "0"}) {
    FeedbackRequest request;
    request.search = id;
    request.position = 1;
    CHECK(fixture.take(request) == FeedbackOutcome::unknown_search);
  }
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    ids.insert(new_search_id());
    CHECK(is_search_id(*ids.begin()));
  }
  CHECK(ids.size() == 1000);
}

TEST_CASE("An address or key cannot click more than its daily share", "[service][feedback]") {
  Fixture fixture;
  fixture.rules.caps = {2, 3};
  CHECK(fixture.click(1) == FeedbackOutcome::recorded);
  CHECK(fixture.click(2) == FeedbackOutcome::recorded);
  CHECK(fixture.click(3) == FeedbackOutcome::capped);
  fixture.sender.address = "192.0.2.2";
  fixture.sender.key = "ann";
  CHECK(fixture.click(3) == FeedbackOutcome::recorded);
  // All addresses of one IPv6 /48 are one client.
  fixture.search = sample_search();
  REQUIRE(fixture.store->searches.add({&fixture.search, 1}).has_value());
  fixture.sender = {"2001:db8:1:1::1", "", false};
  CHECK(fixture.click(1) == FeedbackOutcome::recorded);
  fixture.sender.address = "2001:db8:1:ffff::9";
  CHECK(fixture.click(2) == FeedbackOutcome::recorded);
  fixture.sender.address = "2001:db8:1:2::";
  CHECK(fixture.click(3) == FeedbackOutcome::capped);
  fixture.sender.address = "2001:db8:2::";
  CHECK(fixture.click(3) == FeedbackOutcome::recorded);
}

TEST_CASE("Judgments need their role and are accepted for longer than clicks", "[service][feedback]") {
  Fixture fixture;
  FeedbackRequest request;
  request.kind = FeedbackRequest::Kind::judgment;
  request.search = fixture.search.id;
  request.position = 2;
  request.grade = 3;
  CHECK(fixture.take(request) == FeedbackOutcome::not_judge);
  fixture.sender = {"192.0.2.1", "ann", true};
  CHECK(fixture.take(request, kNewYear + 90 * 86400) == FeedbackOutcome::recorded);
  const auto judged = fixture.store->judgments.queries("shoes");
  REQUIRE(judged->size() == 1);
  CHECK(judged->at(0).query == fixture.search.query);
  CHECK(judged->at(0).judgments.at(0).document == document_key(1));
  CHECK(judged->at(0).judgments.at(0).grade == 3);
  CHECK(judged->at(0).judgments.at(0).judge == "ann");
}

TEST_CASE("The store's files contain no address and no text of a hashed query", "[service][feedback]") {
  Fixture fixture;
  StoredSearch hashed = sample_search();
  hashed.slots.slots = {{"QUERY", "verysecretquery"}};
  hashed.query = query_digest("secret", "shoes", hashed.slots);
  hashed.slots.slots.clear();
  REQUIRE(fixture.store->searches.add({&hashed, 1}).has_value());
  fixture.sender.address = "203.0.113.77";
  CHECK(fixture.click(1) == FeedbackOutcome::recorded);
  for (const char* name : {"store.db", "store.db-wal"}) {
    std::ifstream file(fixture.folder.path(name), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    CHECK(bytes.find("203.0.113.77") == std::string::npos);
    CHECK(bytes.find("verysecretquery") == std::string::npos);
  }
}

TEST_CASE("Every outcome has a status and a name and a sentence", "[service][feedback]") {
  CHECK(answer_to(FeedbackOutcome::recorded).status == 200);
  CHECK(answer_to(FeedbackOutcome::duplicate).status == 200);
  CHECK(answer_to(FeedbackOutcome::capped).status == 429);
  CHECK(answer_to(FeedbackOutcome::unknown_search).status == 404);
  CHECK(answer_to(FeedbackOutcome::expired).status == 410);
  CHECK(answer_to(FeedbackOutcome::not_shown).status == 422);
  CHECK(answer_to(FeedbackOutcome::not_judge).status == 403);
  CHECK(answer_to(FeedbackOutcome::not_judge).name == "not_judge");
  CHECK_FALSE(answer_to(FeedbackOutcome::capped).explanation.empty());
}

TEST_CASE("The parts of feedback have their limits", "[service][feedback]") {
  const auto is_good = [](const std::string& part) {
    return parsed_feedback(R"({"search_id":"x",)" + part + "}").has_value();
  };
  const auto text = [&](const char* name, std::size_t bytes) {
    return is_good('"' + std::string(name) + "\":\"" + std::string(bytes, 'a') + '"');
  };
  CHECK(text("url", 8192));
  CHECK_FALSE(text("url", 8193));
  CHECK(text("id", 8192));
  CHECK_FALSE(text("id", 8193));
  CHECK(is_good(R"("position":1)"));
  CHECK(is_good(R"("position":100000)"));
  CHECK_FALSE(is_good(R"("position":100001)"));
  const auto grade = [&](int value) {
    return is_good(R"("kind":"judgment","position":1,"grade":)" + std::to_string(value));
  };
  CHECK(grade(0));
  CHECK(grade(10));
  CHECK_FALSE(grade(11));
  CHECK_FALSE(grade(-1));
}
