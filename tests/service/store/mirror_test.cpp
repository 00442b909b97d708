#include "service/store/mirror.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/text_file.h"
#include "fusion/model/sum_ranker.h"
#include "service/store/model_versions.h"
#include "service/store/store.h"
#include "tests/support/manual_clock.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

/// A server's folder with the templates and models of the domain `shoes`.
struct SharingServer {
  explicit SharingServer(Store& store, const std::string& text)
      : folder(test::TemporaryFolder::in_memory()),
        file(folder.write("shoes.yaml", text)),
        mirror(store.shared,
               {{{"shoes", file}}, folder.path("models"), folder.path("reports"), folder.path("keys.yaml")}),
        versions(folder.path("models")) {
    versions.on_saved = [this](std::string_view domain) { return mirror.send_models(domain); };
    versions.pause_others = [this] { return mirror.pause(); };
  }

  Mirror::Changes step() {
    auto changes = mirror.step();
    if (!changes) FAIL(changes.error().text);
    return std::move(*changes);
  }
  std::string text() const { return *read_text(file, 1 << 20); }
  ModelState state() { return *versions.state("shoes"); }

  test::TemporaryFolder folder;
  std::string file;
  Mirror mirror;
  ModelVersions versions;
};

/// Two servers with one SQLite store and the same templates.
struct TwoServers {
  TwoServers() {
    a.step();
    b.step();
  }

  test::TemporaryFolder folder{test::TemporaryFolder::in_memory()};
  std::unique_ptr<Store> store = open_store(folder.path("s.db")).value();
  SharingServer a{*store, "one"};
  SharingServer b{*store, "one"};
};

fusion::Model shared_model(double alpha) {
  fusion::Model model;
  model.learner = "rankboost";
  model.features = {{"a@e1", fusion::FeatureKind::rank, 30}};
  model.ranker = std::make_shared<fusion::SumRanker>(std::vector<fusion::WeakRanking>{{0, -3.0, 0.0, alpha}},
                                                     model.features);
  return model;
}

/// A new store of each kind; `store` is null if its server is not installed.
struct OnSqlite {
  test::TemporaryFolder folder{test::TemporaryFolder::in_memory()};
  std::unique_ptr<Store> store = open_store(folder.path("s.db")).value();
};

struct OnPostgres {
  std::unique_ptr<test::PostgresServer> server = test::PostgresServer::start();
  std::unique_ptr<Store> store = server == nullptr ? nullptr : open_store(server->new_database()).value();
};

}  // namespace

TEMPLATE_TEST_CASE("Servers of one store exchange their templates without losing any", "[service][shared]",
                   OnSqlite, OnPostgres) {
  const TestType place;
  if (place.store == nullptr) return;
  Store& store = *place.store;
  SharingServer a(store, "one"), b(store, "another");
  CHECK(a.step().sent == std::vector<std::string>{"templates/shoes"});
  CHECK(a.step().empty());
  // the store has the first server's file; the other server's own file is set aside
  const auto first = b.step();
  CHECK(first.taken == std::vector<std::string>{"templates/shoes"});
  REQUIRE(first.set_aside == std::vector<std::string>{b.file + ".mine"});
  CHECK(b.text() == "one");
  CHECK(*read_text(b.file + ".mine", 100) == "another");
  // only a change of the current text is accepted, not one of an old text
  CHECK(*a.mirror.replace_templates("shoes", "one", "two"));
  CHECK(a.text() == "two");
  CHECK_FALSE(*b.mirror.replace_templates("shoes", "one", "three"));
  CHECK(b.text() == "one");
  const auto second = b.step();
  CHECK(second.set_aside.empty());
  CHECK(b.text() == "two");
  CHECK(*b.mirror.replace_templates("shoes", "two", "three"));
  CHECK(a.step().set_aside.empty());
  CHECK(a.text() == "three");
}

TEMPLATE_TEST_CASE("Only one of many simultaneous replacements of a text wins", "[service][shared]", OnSqlite,
                   OnPostgres) {
  const TestType place;
  if (place.store == nullptr) return;
  Store& store = *place.store;
  std::vector<std::unique_ptr<SharingServer>> servers;
  for (int i = 0; i < 4; ++i) servers.push_back(std::make_unique<SharingServer>(store, "start"));
  for (auto& server : servers) server->step();
  std::atomic<int> wins = 0, losses = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 25; ++n) {
        const auto done =
            servers[i]->mirror.replace_templates("shoes", "start", fmt::format("text {} of {}", n, i));
        if (done) ++(*done ? wins : losses);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wins == 1);
  CHECK(losses == 99);
  for (auto& server : servers) server->step();
  CHECK(servers[0]->text().starts_with("text "));
  for (auto& server : servers) CHECK(server->text() == servers[0]->text());
}

TEMPLATE_TEST_CASE("All servers share champion and challenger and versions", "[service][shared][models]",
                   OnSqlite, OnPostgres) {
  const TestType place;
  if (place.store == nullptr) return;
  Store& store = *place.store;
  SharingServer a(store, "t"), b(store, "t");
  a.step();
  b.step();
  const std::string first = *a.versions.add_challenger("shoes", shared_model(1), "retrain", 1);
  REQUIRE(a.versions.activate("shoes", first).has_value());
  CHECK(b.state().champion.empty());
  b.step();
  CHECK(b.state().champion == first);
  CHECK(*read_text(b.folder.path("models/shoes.json"), 1 << 20) == fusion::model_text(shared_model(1)));
  // both change at once: the second is refused and takes over the first one's change
  const std::string second = *a.versions.add_challenger("shoes", shared_model(2), "retrain", 2);
  const auto late = b.versions.add_challenger("shoes", shared_model(3), "retrain", 2);
  REQUIRE(late.has_error());
  CHECK(late.error().code == Code::try_again);
  CHECK(late.error().text.find("another server changed the models of shoes") != std::string::npos);
  CHECK(b.step().set_aside.empty());
  CHECK(b.state().challenger == second);
  REQUIRE(b.versions.activate("shoes", second).has_value());
  REQUIRE(b.versions.revert("shoes").has_value());
  REQUIRE(b.versions.revert("shoes").has_value());
  CHECK(b.state().champion.empty());
  a.step();
  CHECK(a.state().champion.empty());
  CHECK_FALSE(std::filesystem::exists(a.folder.path("models/shoes.json")));
  CHECK(a.state().is_promotion_paused);
}

TEST_CASE("A change of a domain's models leaves another domain's alone", "[service][shared][models]") {
  TwoServers servers;
  const auto mirror_of = [&](SharingServer& server) {
    const std::map<std::string, std::string> templates = {{"shoes", server.file},
                                                          {"hats", server.folder.write("hats.yaml", "one")}};
    return std::make_unique<Mirror>(
        servers.store->shared,
        SharedPlaces{templates, server.folder.path("models"), server.folder.path("reports"), ""});
  };
  const auto a = mirror_of(servers.a);
  const auto b = mirror_of(servers.b);
  ModelVersions& versions = servers.a.versions;
  versions.on_saved = [&](std::string_view domain) { return a->send_models(domain); };
  const std::string hat = *versions.add_challenger("hats", shared_model(1), "retrain", 1);
  REQUIRE(versions.activate("hats", hat).has_value());
  REQUIRE(versions.add_challenger("shoes", shared_model(2), "retrain", 1).has_value());
  REQUIRE(b->step().has_value());
  CHECK(servers.b.versions.state("hats")->champion == hat);
  REQUIRE(a->step().has_value());
  CHECK(versions.state("hats")->champion == hat);
}

TEST_CASE("A change of models that the store refuses is undone at once", "[service][shared][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  std::string first, second;
  SharedPlaces places;
  const test::TemporaryFolder here(test::TemporaryFolder::in_memory());
  {
    auto store = open_store(folder.path("s.db"));
    REQUIRE(store.has_value());
    SharingServer a(**store, "t");
    a.step();
    first = *a.versions.add_challenger("shoes", shared_model(1), "retrain", 1);
    REQUIRE(a.versions.activate("shoes", first).has_value());
    second = *a.versions.add_challenger("shoes", shared_model(2), "retrain", 2);
    std::filesystem::copy(a.folder.path("models"), here.path("models"),
                          std::filesystem::copy_options::recursive);
    places = {{{"shoes", here.write("shoes.yaml", "t")}}, here.path("models")};
  }
  auto store = open_store(folder.path("s.db"), StoreMode::read);  // behaves like a store that is away
  REQUIRE(store.has_value());
  Mirror mirror((*store)->shared, places);
  ModelVersions versions(here.path("models"));
  versions.on_saved = [&](std::string_view domain) { return mirror.send_models(domain); };
  REQUIRE(mirror.step().has_value());
  CHECK(versions.activate("shoes", second).has_error());
  CHECK(versions.add_challenger("shoes", shared_model(3), "retrain", 3).has_error());
  CHECK(versions.revert("shoes").has_error());
  const auto state = versions.state("shoes");
  REQUIRE(state.has_value());
  CHECK(state->champion == first);
  CHECK(state->challenger == second);
  CHECK(state->versions.size() == 2);
  CHECK(*read_text(here.path("models/shoes.json"), 1 << 20) == fusion::model_text(shared_model(1)));
  const std::filesystem::directory_iterator files(here.path("models/versions/shoes"));
  CHECK(std::count_if(begin(files), end(files), [](const auto&) { return true; }) == 3);
  CHECK(mirror.step()->empty());
}

TEST_CASE("Removed versions are remembered by nobody for ever", "[service][shared][models]") {
  TwoServers two;
  std::string first;
  for (std::size_t i = 0; i <= ModelVersions::kMaxVersions; ++i) {
    const auto added =
        two.a.versions.add_challenger("shoes", shared_model(1.0 + static_cast<double>(i)), "retrain", 1);
    REQUIRE(added.has_value());
    if (i == 0) first = *added;
    if (i == 0) two.b.step();
  }
  const std::string file = "models/versions/shoes/" + first + ".json";
  CHECK(std::filesystem::exists(two.b.folder.path(file)));
  two.b.step();
  CHECK_FALSE(std::filesystem::exists(two.b.folder.path(file)));
  for (const SharingServer* server : {&two.a, &two.b})
    CHECK(read_text(server->folder.path("models/.shared.json"), 1 << 20)->find("\"\"") == std::string::npos);
  const auto removed = [&] {
    std::vector<std::string> names;
    for (const SharedFile& each : *two.store->shared.files(0))
      if (each.digest.empty()) names.push_back(each.name);
    return names;
  };
  CHECK(removed() == std::vector<std::string>{file});
  const auto change = [&](const std::string& name, const std::string& known, bool is_removal) {
    const SharedChange one{name, known.empty() ? "" : sha256_hex(known),
                           is_removal ? std::nullopt : std::optional<std::string>("text")};
    REQUIRE(*two.store->shared.change_files({&one, 1}));
  };
  change("models/shoes.json", "", false);
  change("models/shoes.json", "text", true);
  change("keys", "", false);
  // the first removal was three changes ago
  REQUIRE(two.store->shared.forget_removed("models/versions/", 3).has_value());
  CHECK(removed() == std::vector<std::string>{file, "models/shoes.json"});
  REQUIRE(two.store->shared.forget_removed("models/versions/", 2).has_value());
  CHECK(removed() == std::vector<std::string>{"models/shoes.json"});
  two.a.step();
  CHECK(two.a.step().empty());
}

TEST_CASE("Push and pull transfer files edited by hand and name those changed on both sides",
          "[service][shared]") {
  TwoServers two;
  SharingServer &a = two.a, &b = two.b;
  a.folder.write("shoes.yaml", "edited at a");
  const auto refused = a.mirror.pull(false);
  REQUIRE(refused.has_error());
  CHECK(refused.error().code == Code::bad_data);
  CHECK(refused.error().text.find(a.file) != std::string::npos);
  CHECK(a.mirror.push(false)->sent == std::vector<std::string>{"templates/shoes"});
  CHECK(a.mirror.push(false)->empty());
  b.folder.write("shoes.yaml", "edited at b");
  const auto both = b.mirror.push(false);
  REQUIRE(both.has_error());
  CHECK(both.error().text.find("changed both here and in the store") != std::string::npos);
  CHECK(a.mirror.pull(false)->empty());
  const auto pulled = b.mirror.pull(true);
  REQUIRE(pulled.has_value());
  CHECK(b.text() == "edited at a");
  CHECK(*read_text(pulled->set_aside.at(0), 100) == "edited at b");
  b.folder.write("shoes.yaml", "last");
  REQUIRE(b.mirror.push(true).has_value());
  a.step();
  CHECK(a.text() == "last");
}

TEST_CASE("After a restart remote changes are distinguished from local edits", "[service][shared]") {
  TwoServers two;
  SharingServer &a = two.a, &b = two.b;
  REQUIRE(*a.mirror.replace_templates("shoes", "one", "two"));
  Mirror again(two.store->shared, {{{"shoes", b.file}}, b.folder.path("models")});
  const auto changes = again.step();
  REQUIRE(changes.has_value());
  CHECK(changes->set_aside.empty());
  CHECK(b.text() == "two");
}

TEST_CASE("Names from the store cannot reach a file outside the folder of models",
          "[service][shared][security]") {
  TwoServers two;
  for (const char* name : {"models/../out.json", "models//out.json", "models/x.yaml", "templates/../out",
                           "out", "models/versions/shoes/../../../out.json"}) {
    const SharedChange change{name, "", "text"};
    REQUIRE(*two.store->shared.change_files({&change, 1}));
  }
  CHECK(two.a.step().taken.empty());
  CHECK_FALSE(std::filesystem::exists(two.a.folder.path("out.json")));
}

TEMPLATE_TEST_CASE("All servers share evaluation reports and keys", "[service][shared]", OnSqlite,
                   OnPostgres) {
  const TestType place;
  if (place.store == nullptr) return;
  Store& store = *place.store;
  SharingServer a(store, "t"), b(store, "t");
  a.folder.write("keys.yaml", "keys: []\n");
  a.folder.write("reports/shoes.crossvalidation.json", "{}");
  for (const char* other : {"hats", "shoestrings"})
    a.folder.write(fmt::format("reports/{}.crossvalidation.json", other), "of no domain here");
  CHECK(a.step().sent ==
        std::vector<std::string>{"keys", "templates/shoes", "reports/shoes.crossvalidation.json"});
  CHECK(b.step().taken.size() == 2);  // both servers have the same templates
  CHECK(*read_text(b.folder.path("keys.yaml"), 100) == "keys: []\n");
  CHECK(*read_text(b.folder.path("reports/shoes.crossvalidation.json"), 100) == "{}");
  b.folder.write("keys.yaml", "keys: [] # edited\n");
  CHECK(b.mirror.push(false)->sent == std::vector<std::string>{"keys"});
  CHECK(a.step().taken == std::vector<std::string>{"keys"});
  CHECK(*read_text(a.folder.path("keys.yaml"), 100) == "keys: [] # edited\n");
  const SharedChange outside{"reports/../keys.json", "", "text"};
  REQUIRE(*store.shared.change_files({&outside, 1}));
  CHECK(a.step().taken.empty());
}

TEST_CASE("Files that the store refuses are read again less and less often", "[service][shared]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  REQUIRE(open_store(folder.path("s.db")).has_value());
  auto store = open_store(folder.path("s.db"), StoreMode::read);  // writing fails
  REQUIRE(store.has_value());
  SharingServer a(**store, "one");
  const int watch = ::inotify_init1(IN_NONBLOCK);
  REQUIRE(::inotify_add_watch(watch, a.file.c_str(), IN_OPEN) >= 0);
  int failures = 0;
  int opened = 0;
  std::vector<char> events(4096);
  for (int i = 0; i < 100; ++i) {
    failures += a.mirror.step().has_error() ? 1 : 0;
    opened += ::read(watch, events.data(), events.size()) > 0 ? 1 : 0;  // equal events are merged into one
  }
  ::close(watch);
  CHECK(failures == 6);  // at looks 1, 4, 9, 18, 35 and 68
  CHECK(opened == 6);
}

TEST_CASE("Files taken before a step failed are reported by the next step", "[service][shared]") {
  TwoServers two;
  SharingServer& b = two.b;
  const std::vector<SharedChange> changes{{"keys", "", "keys: []\n"},
                                          {"templates/shoes", sha256_hex("one"), "two"}};
  REQUIRE(*two.store->shared.change_files(changes));
  std::filesystem::remove(b.file);
  std::filesystem::create_directories(b.file + "/x");  // blocks the second file
  CHECK(b.mirror.step().has_error());
  std::filesystem::remove_all(b.file);
  const auto taken = b.step().taken;
  CHECK(std::count(taken.begin(), taken.end(), "keys") == 1);
  CHECK(std::count(taken.begin(), taken.end(), "templates/shoes") == 1);
}

TEST_CASE("A file that cannot be written is no edit and holds up no other", "[service][shared]") {
  TwoServers two;
  SharingServer& b = two.b;
  const auto in_store = [&] { return two.store->shared.files(0)->front().text; };
  const auto block = [&] {
    std::filesystem::rename(b.file, b.file + ".old");
    std::filesystem::create_directories(b.file + "/x");
  };
  const auto unblock = [&] {
    std::filesystem::remove_all(b.file);
    std::filesystem::rename(b.file + ".old", b.file);
  };
  block();
  CHECK(b.mirror.replace_templates("shoes", "one", "mine").has_error());
  CHECK(in_store() == "one");  // nobody gets what its own server cannot use
  unblock();
  REQUIRE(*two.a.mirror.replace_templates("shoes", "one", "two"));
  CHECK_FALSE(*b.mirror.replace_templates("shoes", "one", "three"));
  CHECK(b.text() == "one");
  block();
  CHECK(b.mirror.step().has_error());
  REQUIRE(*two.store->shared.change_files(std::vector<SharedChange>{{"keys", "", "keys: []\n"}}));
  CHECK(b.mirror.step().has_error());
  CHECK(*read_text(b.folder.path("keys.yaml"), 100) == "keys: []\n");
  unblock();
  const auto changes = b.step();
  CHECK(changes.set_aside.empty());
  CHECK(std::count(changes.taken.begin(), changes.taken.end(), "templates/shoes") == 1);
  CHECK(b.text() == "two");
}

TEST_CASE("The database notifies every server of changes even after it was away", "[service][shared]") {
  const auto server = test::PostgresServer::start();
  if (server == nullptr) return;
  const std::string url = server->new_database();
  auto here = open_store(url), there = open_store(url);
  REQUIRE(here.has_value());
  REQUIRE(there.has_value());
  std::mutex mutex;
  std::condition_variable told;
  int calls = 0;
  const auto listener = (*here)->shared.listen([&] {
    const std::lock_guard lock(mutex);
    ++calls;
    told.notify_all();
  });
  REQUIRE(listener != nullptr);
  const auto wait_for = [&](int wanted) {
    std::unique_lock lock(mutex);
    return told.wait_for(lock, std::chrono::seconds(30), [&] { return calls >= wanted; });
  };
  REQUIRE(wait_for(1));  // changes from before the listener started
  CHECK(listener->is_listening());
  const SharedChange change{"templates/shoes", "", "one"};
  REQUIRE(*(*there)->shared.change_files({&change, 1}));
  REQUIRE(wait_for(2));
  server->stop();
  server->restart();
  REQUIRE(wait_for(3));
  CHECK(listener->is_listening());
}

TEMPLATE_TEST_CASE("The shared clock follows the database and goes on while that is away",
                   "[service][shared]", OnSqlite, OnPostgres) {
  const TestType place;
  if (place.store == nullptr) return;
  Store& store = *place.store;
  test::ManualClock steady;
  SharedClock clock(store.shared, steady);
  REQUIRE(clock.adjust().has_value());
  CHECK(std::abs(clock.machine_ahead_ms()) < 60000);  // both clocks are of one machine
  const UnixTime at = clock.now();
  CHECK(std::abs(at - machine_milliseconds() / 1000) <= 60);
  steady.advance(std::chrono::seconds(90));
  CHECK(clock.now() == at + 90);
  REQUIRE(clock.adjust().has_value());
  CHECK(clock.now() < at + 80);
}

TEMPLATE_TEST_CASE("Only one server holds a task until its time is over", "[service][shared]", OnSqlite,
                   OnPostgres) {
  const TestType place;
  if (place.store == nullptr) return;
  Store& store = *place.store;
  CHECK(*store.shared.hold_task("care", "a", 100));
  CHECK(*store.shared.hold_task("care", "a", 100));
  CHECK_FALSE(*store.shared.hold_task("care", "b", 100));
  CHECK(*store.shared.hold_task("other", "b", 100));
  CHECK(*store.shared.hold_task("care", "a", 0));  // ends now
  CHECK(*store.shared.hold_task("care", "b", 100));
  CHECK_FALSE(*store.shared.hold_task("care", "a", 100));
}
