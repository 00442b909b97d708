#include "fetchers/health/health_book.h"

#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "fetchers/definition/engine_file.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

FetchedList list_of(const std::string& engine, int number, int results) {
  FetchedList list;
  list.query = {"t", engine, "river otter " + std::to_string(number)};
  for (int i = 0; i < results; ++i) {
    Hit hit;
    hit.url = "https://site" + std::to_string(i) + ".example/river/" + std::to_string(number);
    hit.key = hit.url.substr(8);
    hit.title = "The river otter in chapter " + std::to_string(i);
    hit.snippet = "A text about the otter and the river that it lives in, number " + std::to_string(number);
    list.list.hits.push_back(hit);
  }
  list.elapsed = std::chrono::milliseconds(120);
  return list;
}

void learn(HealthBook& book) {
  book.watch({{"one", "d1"}, {"two", "d2"}});
  for (int i = 0; i < 60; ++i) {
    const std::vector<FetchedList> lists = {list_of("one", i, 10), list_of("two", i, 10)};
    CHECK(book.note(lists, 3, i).empty());
  }
}

}  // namespace

TEST_CASE("An engine that finds nothing where all others find much is suspected, then known to be broken",
          "[fetchers][health]") {
  HealthBook book;
  learn(book);
  int searches = 0;
  std::vector<HealthChange> changes;
  bool was_suspected = false;
  while (changes.empty() && searches < 20) {
    const std::vector<FetchedList> lists = {list_of("one", 100 + searches, 0),
                                            list_of("two", 100 + searches, 10)};
    changes = book.note(lists, 3, 1'800'000'000);
    was_suspected = was_suspected || (changes.empty() && book.find("one")->is_suspected);
    ++searches;
  }
  REQUIRE(changes.size() == 1);
  CHECK(searches <= 5);
  CHECK(was_suspected);
  CHECK(changes[0].engine == "one");
  CHECK(changes[0].now == HealthState::empty);
  CHECK(book.find("one")->text() == "empty since 2027-01-15: no results");
  CHECK(book.find("two")->state == HealthState::works);

  std::vector<FetchedList> lists = {list_of("one", 300, 0), list_of("two", 300, 0)};
  book.mark_broken(lists);
  CHECK(lists[0].failure == Failure::broken);
  CHECK(lists[0].message == "0 results, and the engine seems broken: empty since 2027-01-15: no results");
  CHECK(lists[1].failure == Failure::none);
}

TEST_CASE("A definition that asks or reads otherwise starts a new profile", "[fetchers][health]") {
  const auto digest_of = [](const std::string& keys) {
    const auto file = parse_engine_file("engines:\n  - {name: e, " + keys + "}\n", "e.yaml");
    if (!file) FAIL(file.error().text);
    return watched(file->engines.front()).digest;
  };
  const std::string json =
      "engine: json_engine, results_query: r, url_query: u, title_query: t, search_url: "
      "'http://e.example/?q={query}'";
  const std::string digest = digest_of(json);
  CHECK(digest.size() == 16);
  for (const std::string same : {"weight: 2", "description: x", "timeout: 1", "retries: 1"})
    CHECK(digest_of(json + ", " + same) == digest);
  for (const std::string other :
       {"json_after: x", "method: POST", "headers: {A: b}", "title_html_to_text: true", "lang_map: {de: x}",
        "published_query: p", "next_page: {link_header: true}"})
    CHECK(digest_of(json + ", " + other) != digest);
  const std::string sql = "engine: sqlite, database: x.db, query_str: 'SELECT :query AS ";
  CHECK(digest_of(sql + "url'") != digest_of(sql + "title'"));
}

TEST_CASE("Queries for which nobody finds anything say nothing about an engine", "[fetchers][health]") {
  HealthBook book;
  learn(book);
  for (int i = 0; i < 100; ++i) {
    const std::vector<FetchedList> lists = {list_of("one", 500 + i, 0), list_of("two", 500 + i, 0)};
    CHECK(book.note(lists, 3, i).empty());
  }
  CHECK_FALSE(book.find("one")->is_suspected);
}

TEST_CASE("Our own failures and short deadlines say nothing about an engine", "[fetchers][health]") {
  HealthBook book;
  learn(book);
  for (int i = 0; i < 50; ++i) {
    FetchedList list = list_of("one", 500 + i, 0);
    list.failure = i % 2 == 0 ? Failure::breaker_open : Failure::timeout;
    CHECK(book.note({&list, 1}, 0.1, i).empty());
  }
  CHECK_FALSE(book.find("one")->is_suspected);
}

TEST_CASE("Our own limit of requests says nothing about an engine, its own does", "[fetchers][health]") {
  HealthBook book;
  learn(book);
  for (int i = 0; i < 50; ++i) {
    FetchedList ours = list_of("one", 500 + i, 0), its = list_of("two", 500 + i, 0);
    ours.failure = its.failure = Failure::rate_limited;
    its.blame = Blame::engine;
    const std::vector<FetchedList> lists = {ours, its};
    book.note(lists, 3, i);
  }
  CHECK(book.find("one")->state == HealthState::works);
  CHECK_FALSE(book.find("one")->is_suspected);
  CHECK(book.find("two")->state == HealthState::blocked);
}

TEST_CASE("A status that refuses one query says nothing about an engine", "[fetchers][health]") {
  const auto state_after = [](int status) {
    HealthBook book;
    learn(book);
    for (int i = 0; i < 50; ++i) {
      FetchedList list = list_of("one", 500 + i, 0);
      list.failure = Failure::http_status;
      list.status = status;
      book.note({&list, 1}, 3, i);
    }
    return book.find("one")->state;
  };
  for (const int status : {400, 414, 422}) CHECK(state_after(status) == HealthState::works);
  for (const int status : {404, 410, 500}) CHECK(state_after(status) == HealthState::gone);
  CHECK(state_after(403) == HealthState::blocked);
}

TEST_CASE("A list is compared with what other engines found, not with its own engine's other lists",
          "[fetchers][health]") {
  std::vector<FetchedList> lists = {list_of("one", 1, 4), list_of("one", 2, 4), list_of("two", 1, 2),
                                    list_of("three", 9, 0)};
  const SearchFinds finds(lists);
  CHECK(finds.has_besides("one", "site0.example/river/1"));
  CHECK(finds.has_besides("two", "site0.example/river/1"));
  CHECK_FALSE(finds.has_besides("one", "site3.example/river/1"));
  CHECK(finds.has_besides("two", "site3.example/river/1"));
  CHECK_FALSE(finds.has_besides("one", ""));
  CHECK(finds.keys_besides("one") == 2);
  CHECK(finds.keys_besides("two") == 8);
  CHECK(finds.keys_besides("three") == 8);
  CHECK(finds.besides("one") == Others::little);
  CHECK(finds.besides("two") == Others::much);
  CHECK(SearchFinds().besides("one") == Others::nobody);
  CHECK(SearchFinds({lists.data(), 2}).besides("one") == Others::nobody);
  CHECK_FALSE(shape_of(lists[0], "otter", finds).value(Figure::shared).has_value());
  CHECK(shape_of(lists[2], "otter", finds).value(Figure::shared) == 1.0);
}

TEST_CASE("The same question with other capitals, punctuation and blanks has the same results by right",
          "[fetchers][health]") {
  const auto state_after = [](const std::vector<std::string>& queries) {
    HealthBook book;
    learn(book);
    for (int i = 0; i < 24; ++i) {
      FetchedList list = list_of("one", 500, 10);
      list.query.text = queries[static_cast<std::size_t>(i) % queries.size()];
      book.note({&list, 1}, 3, i);
    }
    return book.find("one")->state;
  };
  CHECK(state_after({"River otter", "river OTTER?", " river  otter", "\"river, otter\""}) ==
        HealthState::works);
  CHECK(state_after({"river otter", "river beaver"}) == HealthState::changed);
}

TEST_CASE("What one sender likes to ask does not make an engine broken for everybody", "[fetchers][health]") {
  const auto state_after = [](bool is_one_sender, std::int64_t seconds, bool is_textless) {
    HealthBook book;
    learn(book);
    for (int i = 0; i < 12; ++i) {
      FetchedList list = list_of("one", 500 + i, is_textless ? 10 : 2);
      if (is_textless)
        for (Hit& hit : list.list.hits) hit.snippet.clear();
      book.note({&list, 1}, 3, 1000 + i * seconds, "sender " + std::to_string(is_one_sender ? 0 : i));
    }
    return book.find("one")->state;
  };
  CHECK(state_after(true, 10, false) == HealthState::works);
  CHECK(state_after(false, 10, false) == HealthState::changed);
  CHECK(state_after(true, 600, false) == HealthState::changed);
  CHECK(state_after(true, 10, true) == HealthState::changed);
}

TEST_CASE("An engine that answers as before is believed again", "[fetchers][health]") {
  HealthBook book;
  learn(book);
  for (int i = 0; i < 20; ++i) {
    FetchedList list = list_of("one", 500 + i, 0);
    list.failure = Failure::captcha;
    book.note({&list, 1}, 3, i);
  }
  REQUIRE(book.find("one")->state == HealthState::blocked);
  int needed = 0;
  while (book.find("one")->state != HealthState::works && needed < 20) {
    const FetchedList list = list_of("one", 700 + needed++, 10);
    book.note({&list, 1}, 3, 30);
  }
  CHECK(needed >= 2);
  CHECK(needed <= 5);
}

TEST_CASE("Profiles survive a restart, and a changed definition starts anew", "[fetchers][health]") {
  HealthBook book;
  learn(book);
  const FetchedList known = list_of("one", 900, 10);
  book.note_own(known, 3, 77);
  REQUIRE(book.known("one").size() == 1);
  const std::string text = book.text();
  HealthBook again;
  const auto read = again.read(text, "health.json");
  if (!read) FAIL(read.error().text);
  CHECK(again.text() == text);
  CHECK(again.known("one") == book.known("one"));
  CHECK(again.find("one")->is_learned);
  again.watch({{"one", "another"}, {"two", "d2"}});
  CHECK_FALSE(again.find("one")->is_learned);
  CHECK(again.known("one").empty());
  CHECK(again.find("two")->is_learned);
}

TEST_CASE("Queries of users are not kept", "[fetchers][health]") {
  HealthBook book;
  learn(book);
  CHECK(book.text().find("river otter") == std::string::npos);
  CHECK(book.text().find("chapter") == std::string::npos);
}

TEST_CASE("A file of profiles that metafuse did not write is refused with the place", "[fetchers][health]") {
  HealthBook book;
  learn(book);
  const std::string text = book.text();
  for (const std::string& bad : {std::string("{}"), std::string("[]"),
                                 std::string("{\"format\":\"metafuse-engine-health\",\"version\":2}"),
                                 text.substr(0, text.size() / 2)}) {
    const auto read = book.read(bad, "health.json");
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().text.starts_with("health.json"));
  }
  std::string wrong = text;
  wrong.replace(wrong.find("\"works\""), 7, "\"purrs\"");
  CHECK_FALSE(book.read(wrong, "health.json").has_value());
  CHECK(book.text() == text);
  // each member of an engine and of its profile must be there, and of its kind
  const Json document = parse_json(text, "health.json").value();
  const auto refuses_without = [&](const std::function<JsonObject&(Json & engine)>& place) {
    Json first = document.at("engines").as_array()[0];
    for (const auto& member : JsonObject(place(first)))
      for (const bool is_missing : {true, false}) {
        Json changed = document;
        JsonObject& inside = place(changed.as_object().at("engines").as_array()[0]);
        if (is_missing)
          inside.erase(member.key());
        else
          inside[member.key()] = nullptr;
        INFO(member.key());
        CHECK_FALSE(book.read(to_text(changed), "health.json").has_value());
      }
  };
  refuses_without([](Json& engine) -> JsonObject& { return engine.as_object(); });
  refuses_without([](Json& engine) -> JsonObject& { return engine.as_object().at("profile").as_object(); });
}

TEST_CASE("The server tries engines of its own accord only if that costs nobody a key",
          "[fetchers][health]") {
  const auto file = parse_engine_file(R"(engines:
  - {name: open, engine: json_engine, search_url: "https://a.example/?q={query}", url_query: u, title_query: t}
  - {name: keyed, engine: json_engine, search_url: "https://a.example/?q={query}", url_query: u, title_query: t,
     headers: {X-Key: "${KEY}"}}
  - {name: willing, engine: json_engine, search_url: "https://a.example/?q={query}", url_query: u,
     title_query: t, headers: {X-Key: "${KEY}"}, known_queries: [otter, beaver]}
)",
                                      "engines.yaml");
  if (!file) FAIL(file.error().text);
  CHECK(may_be_tried(file->engines[0]));
  CHECK_FALSE(may_be_tried(file->engines[1]));
  CHECK(may_be_tried(file->engines[2]));
  CHECK(queries_to_try(file->engines[2], {}, 1, 1) == std::vector<std::string>{"beaver"});
  CHECK(queries_to_try(file->engines[0], {{"newt", {}, 0}}, 0, 3) ==
        std::vector<std::string>{"newt", "water", "history"});
  CHECK_FALSE(parse_engine_file("engines: [{name: x, engine: json_engine, known_queries: [''], search_url: "
                                "'https://a.example/?q={query}', url_query: u, title_query: t}]",
                                "engines.yaml")
                  .has_value());
}
