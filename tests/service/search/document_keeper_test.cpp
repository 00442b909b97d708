#include "service/search/document_keeper.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/atomic_file.h"
#include "service/search/answer_cache.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;
using std::chrono::seconds;

namespace {

/// An index of one folder, kept by a keeper whose time is the test's.
struct KeptFolder {
  explicit KeptFolder(double every_seconds) {
    auto made = std::make_shared<Snapshot>();
    DocumentsConfig documents;
    documents.index = folder.path("x.db");
    documents.folders = {folder.path("pages")};
    documents.every_seconds = every_seconds;
    made->config.documents = {documents};
    made->engines.contents[documents.index] = content;
    snapshot = std::move(made);
  }

  void tick(int second) {
    keeper.tick(std::chrono::steady_clock::time_point() + std::chrono::hours(1) + seconds(second));
  }
  std::size_t documents() { return keeper.state(folder.path("x.db"))->documents; }

  test::TemporaryFolder folder;
  test::ManualClock clock;  ///< of `content`
  std::shared_ptr<const IndexContent> content =
      std::make_shared<const IndexContent>(folder.path("x.db"), clock);
  std::shared_ptr<const Snapshot> snapshot;
  int changed = 0;
  int settled = 0;
  int failed = 0;
  DocumentKeeper keeper{{[this] { return snapshot; }, [this] { ++changed; }, [this] { ++settled; },
                         [this](Log::Level, std::string_view event, const JsonObject&) {
                           failed += event == "index not updated" ? 1 : 0;
                         }}};
};

}  // namespace

TEST_CASE("An index that begins with one document is trained by the server that adds more or by the next",
          "[service][documents]") {
  const test::TemporaryFolder folder;
  const std::string index = folder.path("x.db");
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->engines.vocabularies["local"] = std::make_shared<IndexVocabulary>(index);
  const DocumentKeeperOptions options = {[&] { return snapshot; }, [] {}, [] {},
                                         [](Log::Level, std::string_view, const JsonObject&) {}};
  const auto untrained = [&] { return fetchers::facts_of_index(index)->folded; };
  const auto page = [](int i) {
    fetchers::SourceDocument document;
    document.url = "http://" + std::to_string(i) + ".example/";
    document.fields = {{"title", "page"}, {"text", "an otter swims in rivers and lakes"}};
    return document;
  };
  const auto now = std::chrono::steady_clock::time_point() + std::chrono::hours(1);
  std::vector<fetchers::SourceDocument> documents = {page(0)};
  {
    DocumentKeeper keeper(options);
    REQUIRE(keeper.put(index, documents).has_value());
    keeper.tick(now);
    CHECK(untrained() == 1);
    for (int i = 1; i < 20; ++i) documents.push_back(page(i));
    REQUIRE(keeper.put(index, documents).has_value());
    keeper.tick(now + seconds(1));
    CHECK(untrained() == 20);
    if (GENERATE(true, false)) {
      keeper.tick(now + seconds(2));
      CHECK(untrained() == 0);
    }
  }
  DocumentKeeper next(options);
  for (int second = 3; second < 5; ++second) next.tick(now + seconds(second));
  CHECK(untrained() == 0);
}

TEST_CASE("Folders are read later when another program is writing their index", "[service][documents]") {
  KeptFolder kept(3600);
  kept.folder.write("pages/a.txt", "alpha");
  {
    const auto held = FileLock::take(kept.folder.path("x.db.lock"), "held");
    REQUIRE(held.has_value());
    kept.tick(0);
    CHECK(kept.failed == 1);
    CHECK(kept.changed == 0);
  }
  kept.tick(29);
  CHECK(kept.changed == 0);
  kept.tick(30);
  CHECK(kept.changed == 1);
  CHECK(kept.documents() == 1);
}

TEST_CASE("An index has settled once, a minute after its last change", "[service][documents]") {
  KeptFolder kept(3600);
  kept.folder.write("pages/a.txt", "alpha");
  kept.tick(0);
  CHECK(kept.changed == 1);
  CHECK(kept.documents() == 1);
  kept.tick(59);
  CHECK(kept.settled == 0);
  kept.tick(60);
  CHECK(kept.settled == 1);
  kept.tick(61);
  kept.tick(500);
  CHECK(kept.settled == 1);
  CHECK(kept.changed == 1);
  fetchers::SourceDocument document;
  document.url = "http://b.example/";
  document.fields["title"] = "beta";
  document.fields["text"] = "beta";
  REQUIRE(kept.keeper.put(kept.folder.path("x.db"), {&document, 1}).has_value());
  kept.tick(600);
  CHECK(kept.changed == 2);
  CHECK(kept.documents() == 2);
  kept.tick(601);  // it gets vectors
  CHECK(kept.changed == 3);
  kept.tick(660);
  CHECK(kept.settled == 1);
  kept.tick(661);
  CHECK(kept.settled == 2);
  CHECK(kept.failed == 0);
}

TEST_CASE("Folders are read again when it is time and not before", "[service][documents]") {
  KeptFolder kept(100);
  kept.folder.write("pages/a.txt", "alpha");
  kept.tick(0);
  kept.folder.write("pages/b.txt", "beta");
  kept.tick(99);
  CHECK(kept.documents() == 1);
  kept.tick(100);
  CHECK(kept.documents() == 2);
  CHECK(kept.changed == 2);
  kept.tick(200);
  CHECK(kept.changed == 2);
  for (const int second : {201, 202}) kept.tick(second);  // no other index was put there
  CHECK(kept.changed == 2);
  std::filesystem::remove(kept.folder.path("pages/b.txt"));
  kept.tick(300);
  CHECK(kept.documents() == 1);
  CHECK(kept.changed == 3);
}

TEST_CASE("A failure to read folders is logged once until it has gone away", "[service][documents]") {
  KeptFolder kept(1);
  kept.tick(0);
  CHECK(kept.failed == 1);  // there is no folder
  kept.folder.write("pages/a.txt", "alpha");
  kept.tick(29);
  CHECK(kept.changed == 0);  // it rests
  std::filesystem::remove_all(kept.folder.path("pages"));
  kept.tick(30);
  CHECK(kept.failed == 1);  // the same as before
  kept.folder.write("pages/a.txt", "alpha");
  kept.tick(60);
  CHECK(kept.changed == 1);
  std::filesystem::remove_all(kept.folder.path("pages"));
  kept.tick(62);
  CHECK(kept.failed == 2);
  CHECK(kept.documents() == 1);
}

TEST_CASE("Every process sees by an index's version when other documents are in it", "[service][documents]") {
  KeptFolder kept(100);
  const IndexContent& here = *kept.content;  // its clock stands still, so that it only looks when it is told
  test::ManualClock clock;
  const IndexContent elsewhere(kept.folder.path("x.db"), clock);
  CHECK(here.version().empty());
  std::set<std::string> versions;
  int second = 0;
  const auto changes = [&] {
    const std::string earlier = elsewhere.version();
    kept.tick(second += 100);  // reads the folder
    kept.tick(second + 1);     // takes what programs added, if that did not
    clock.advance(IndexContent::kBetweenLooks - std::chrono::nanoseconds(1));
    CHECK(elsewhere.version() == earlier);
    clock.advance(std::chrono::nanoseconds(1));
    CHECK(here.version() == elsewhere.version());
    CHECK(here.version() == IndexContent(kept.folder.path("x.db")).version());
    return versions.insert(here.version()).second;
  };
  const auto write = [&](const std::string& name, const std::string& text, int seconds_ago) {
    kept.folder.write(name, text);
    std::filesystem::last_write_time(kept.folder.path(name),
                                     std::filesystem::file_time_type::clock::now() - seconds(seconds_ago));
  };
  write("pages/a.txt", "alpha", 60);
  write("pages/b.txt", "beta", 60);
  CHECK(changes());
  CHECK_FALSE(changes());             // the folder is read and the file written again
  write("pages/a.txt", "omega", 50);  // as many words
  CHECK(changes());
  write("pages/a.txt", "sigma", -50);  // a time that says nothing
  CHECK(changes());
  write("pages/a.txt", "gamma", -50);
  CHECK(changes());
  write("pages/a.txt", "gamma", 40);
  CHECK(changes());
  CHECK_FALSE(changes());
  fetchers::SourceDocument document;
  document.url = "http://c.example/";
  document.fields["text"] = "gamma";
  REQUIRE(kept.keeper.put(kept.folder.path("x.db"), {&document, 1}).has_value());
  CHECK(changes());
  document.fields["text"] = "delta";
  REQUIRE(kept.keeper.put(kept.folder.path("x.db"), {&document, 1}).has_value());
  CHECK(changes());
  CHECK(kept.keeper.remove(kept.folder.path("x.db"), {&document.url, 1}).value() == 1);
  CHECK(changes());
  // whoever is told what is searched finds it, also before the keeper gets to it
  document.fields["text"] = "epsilon";
  REQUIRE(kept.keeper.put(kept.folder.path("x.db"), {&document, 1}).has_value());
  REQUIRE(fetchers::follow_added_documents(kept.folder.path("x.db"), {}).has_value());
  CHECK(versions.contains(here.version()));
  CHECK(kept.documents() == 3);
  CHECK_FALSE(versions.contains(here.version()));
  LoadedDomain domain;
  const std::string without = shared_key(domain, {});
  domain.indexes = {std::make_shared<const IndexContent>(kept.folder.path("x.db"))};
  CHECK(shared_key(domain, {}) != without);
}
