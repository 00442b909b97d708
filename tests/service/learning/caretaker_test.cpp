#include "service/learning/caretaker.h"

#include <filesystem>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "tests/service/learning/learning_server.h"
#include "tests/support/sample_search.h"

using namespace metafuse;
using namespace metafuse::test;

TEST_CASE("Retention and retraining and promotion run when they are due", "[service][models]") {
  TestServer server(TestServer::default_answer,
                    learning_config("privacy: {retention_days: 10}\nlearning: {retrain_hours: 24, "
                                    "automatic_promotion: true}\n"));
  judge_names(server, 0, 12);
  server.app().records().search_log->flush();
  service::Store& store = *server.app().records().store;
  const service::UnixTime now = server.app().records().unix_time();
  const service::StoredSearch old = sample_search("pages", now - 11 * 86400);
  const service::StoredSearch young = sample_search("pages", now - 9 * 86400);
  const service::StoredSearch both[] = {old, young};
  REQUIRE(store.searches.add(both).has_value());
  const auto salt_of_yesterday_but_one = [&] { return *store.privacy.daily_salt(service::day_of(now) - 2); };
  const std::string salt = salt_of_yesterday_but_one();

  std::map<std::string, int> events;
  int changes = 0;
  service::CaretakerOptions options;
  options.store = &store;
  options.versions = server.app().records().model_versions.get();
  options.snapshot = [&] { return server.app().reloader().snapshot(); };
  options.unix_time = [&] { return now; };
  options.on_models_changed = [&] { ++changes; };
  options.on_event = [&](std::string_view event, JsonObject) { ++events[std::string(event)]; };
  service::Caretaker caretaker(options);
  caretaker.tick(now);
  CHECK_FALSE(store.searches.find(old.id)->has_value());
  CHECK(store.searches.find(young.id)->has_value());
  CHECK(salt_of_yesterday_but_one() != salt);
  CHECK(events == std::map<std::string, int>{{"retention", 1}, {"retrained", 1}, {"promoted", 1}});
  caretaker.tick(now + 23 * 3600);
  CHECK(events["retrained"] == 1);
  caretaker.tick(now + 24 * 3600);
  CHECK(events["retrained"] == 2);
  CHECK(changes == 1);  // the same data gave the same challenger
}

TEST_CASE("New judgments train a model at once and the pages say what it brought", "[service][models]") {
  TestServer server(TestServer::default_answer,
                    learning_config("learning: {retrain_on_change: true, automatic_promotion: true}\n"));
  std::map<std::string, int> events;
  service::CaretakerOptions options;
  options.store = server.app().records().store.get();
  options.versions = server.app().records().model_versions.get();
  options.snapshot = [&] { return server.app().reloader().snapshot(); };
  options.unix_time = server.app().records().unix_time;
  options.on_models_changed = [&] { CHECK(server.app().reloader().reload().has_value()); };
  options.on_event = [&](std::string_view event, JsonObject) { ++events[std::string(event)]; };
  service::Caretaker caretaker(options);
  server.app().records().on_feedback = [&](const std::string& domain) { caretaker.note_feedback(domain); };
  judge_names(server, 0, 12);
  caretaker.learn_from_feedback(options.unix_time());
  CHECK(events["retrained"] == 1);
  caretaker.learn_from_feedback(options.unix_time());  // nothing new
  CHECK(events["retrained"] == 1);
  const JsonObject model = served_model_of(server);
  CHECK_FALSE(model.at("champion").is_null());
  CHECK(std::string(model.at("gain").at("text").as_string()).find("12 judged queries: ") == 0);
  CHECK(std::string(model.at("decision").as_string()).find("the new order is used") != std::string::npos);
  const auto press = [&](const std::string& page, const std::string& key, const std::string& action) {
    return server.post(page, "application/x-www-form-urlencoded", "key=" + key + "&action=" + action);
  };
  CHECK(press("/models/pages", "admin-key", "show").find("12 judged queries") != std::string::npos);
  CHECK(press("/judge/pages", "judge-key", "queue").find("12 judged queries") != std::string::npos);
  CHECK(press("/models/pages", "admin-key", "retrain").find("Nothing changed since the last training") !=
        std::string::npos);
}

TEST_CASE("Feedback is learned from once, by the server with the duty, whoever took it",
          "[service][models]") {
  TestServer server(TestServer::default_answer, learning_config("learning: {retrain_on_change: true}\n"));
  service::Records& records = server.app().records();
  records.on_feedback = nullptr;  // what the tests' own caretakers do not hear of was taken by another server
  judge_names(server, 0, 12);
  int trainings = 0;
  bool has_duty = true;
  service::CaretakerOptions options;
  options.store = records.store.get();
  options.versions = records.model_versions.get();
  options.snapshot = [&] { return server.app().reloader().snapshot(); };
  options.unix_time = records.unix_time;
  options.has_duty = [&] { return has_duty; };
  options.on_models_changed = [] {};
  options.on_event = [&](std::string_view event, JsonObject) { trainings += event == "retrained" ? 1 : 0; };
  service::Caretaker caretaker(options);
  const auto trainings_after_look = [&] {
    caretaker.tick(options.unix_time());
    caretaker.learn_from_feedback(options.unix_time());
    return trainings;
  };
  CHECK(trainings_after_look() == 0);  // what there was at its start
  CHECK(trainings_after_look() == 0);
  search_and_click(server, "other");
  CHECK(trainings_after_look() == 1);
  CHECK(trainings_after_look() == 1);
  judge_names(server, 12, 1);
  CHECK(trainings_after_look() == 2);

  records.on_feedback = [&](const std::string& domain) { caretaker.note_feedback(domain); };
  judge_names(server, 13, 1);
  caretaker.learn_from_feedback(options.unix_time());
  CHECK(trainings == 3);
  CHECK(trainings_after_look() == 3);  // it is no news

  has_duty = false;
  search_and_click(server, "another");
  CHECK(trainings_after_look() == 3);
  has_duty = true;  // the server that had it is gone
  CHECK(trainings_after_look() == 4);
}

TEST_CASE("A training that failed for the moment is tried again at the next look", "[service][models]") {
  TestServer server(TestServer::default_answer, learning_config("learning: {retrain_on_change: true}\n"));
  service::Records& records = server.app().records();
  records.on_feedback = nullptr;
  judge_names(server, 0, 12);
  std::map<std::string, int> events;
  service::CaretakerOptions options;
  options.store = records.store.get();
  options.versions = records.model_versions.get();
  options.snapshot = [&] { return server.app().reloader().snapshot(); };
  options.unix_time = records.unix_time;
  options.on_models_changed = [] {};
  options.on_event = [&](std::string_view event, JsonObject) { ++events[std::string(event)]; };
  service::Caretaker caretaker(options);
  const auto look = [&] {
    caretaker.tick(options.unix_time());
    caretaker.learn_from_feedback(options.unix_time());
  };
  look();  // remembers what there is
  search_and_click(server, "other");
  const std::filesystem::path versions = server.folder().path("models/versions");
  std::filesystem::remove_all(versions);
  server.folder().write("models/versions", "no folder");
  for (int failures = 1; failures <= 2; ++failures) {
    look();
    CHECK(events["retraining failed"] == failures);
  }
  std::filesystem::remove(versions);
  look();
  CHECK(events["retrained"] == 1);
  look();
  CHECK(events["retrained"] == 1);
}
