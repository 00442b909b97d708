#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include <catch2/catch.hpp>

#include "core/atomic_file.h"
#include "core/deadline.h"
#include "core/sqlite_database.h"
#include "core/text_file.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/index/added_documents.h"
#include "fetchers/engines/index/local_engine.h"
#include "tests/support/synced_paths.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

struct IndexFile {
  test::TemporaryFolder folder;
  std::string documents;
  std::string database = folder.path("pages.db");

  IndexFile() {
    std::string lines;
    for (int i = 0; i < 300; ++i)
      lines += "{\"url\":\"http://a/" + std::to_string(i) + "\",\"title\":\"one page" + std::to_string(i) +
               "\",\"text\":\"words of some kind\"}\n";
    documents = folder.write("d.jsonl", lines);
    REQUIRE(build_local_index(database, {documents}).has_value());
  }

  Error search() const {
    return LocalEngine({database, {}})
        .search("one", 30, 0, Deadline(machine_clock(), std::chrono::seconds(5)))
        .error();
  }
};

}  // namespace

TEST_CASE("A damaged index is to be built again, not restored from a backup", "[fetchers][local]") {
  const IndexFile index;
  std::string bytes = *read_text(index.database, 100'000'000);
  std::fill(bytes.begin() + 4096, bytes.end(), '\x5A');
  index.folder.write("pages.db", bytes);
  const std::string advice = "malformed; delete it and build it again with metafuse index";
  CHECK(index.search().code == Code::bad_data);
  CHECK(index.search().text.find(advice) != std::string::npos);
  const auto built = build_local_index(index.database, {index.documents});
  CHECK(built.error().code == Code::no_input);
  CHECK(built.error().text.find(advice) != std::string::npos);
}

TEST_CASE("A file that cannot be read is put aside only by who knows that it is an index",
          "[fetchers][local]") {
  const IndexFile index;
  CHECK_FALSE(is_damaged_index(index.database));
  std::string bytes = *read_text(index.database, 100'000'000);
  std::fill(bytes.begin(), bytes.begin() + 4096, '\x5A');
  index.folder.write("pages.db", bytes);
  CHECK(is_damaged_index(index.database));
  IndexOptions options;
  const auto refused = build_local_index(index.database, {index.documents}, options);
  CHECK(refused.error().code == Code::no_input);
  CHECK(*read_text(index.database, 100'000'000) == bytes);
  options.is_damaged = true;
  CHECK(build_local_index(index.database, {index.folder.path("none")}, options).has_error());
  CHECK(*read_text(index.database, 100'000'000) == bytes);
  const auto built = build_local_index(index.database, {index.documents}, options);
  REQUIRE(built.has_value());
  CHECK(built->was_damaged);
  CHECK(built->put_aside == index.database + ".damaged");
  CHECK(*read_text(built->put_aside, 100'000'000) == bytes);
  CHECK(check_index(index.database).has_value());
  CHECK_FALSE(is_damaged_index(index.database));
}

TEST_CASE("An index that was built anew during the wait is not put aside as the damaged one",
          "[fetchers][local]") {
  const IndexFile index;
  const std::string good = *read_text(index.database, 100'000'000);
  index.folder.write("pages.db", std::string(good.size(), '\x5A'));
  std::optional<FileLock> held = *FileLock::take(index.database + ".lock", "held");
  IndexOptions options;
  options.is_damaged = true;
  options.tell_wait = [&](const std::string&) {
    index.folder.write("pages.db", good);
    held.reset();
  };
  const auto built = build_local_index(index.database, {index.documents}, options);
  if (!built) FAIL(built.error().text);
  CHECK(built->put_aside.empty());
  CHECK_FALSE(std::filesystem::exists(index.database + ".damaged"));
}

TEST_CASE("An index that another program has locked is not said to be damaged", "[fetchers][local]") {
  const IndexFile index;
  auto other = SqliteDatabase::open(index.database, {.mode = SqliteMode::create});
  REQUIRE(other->run("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE;").has_value());
  const std::string locked =
      index.database + ": database is locked; another program is using it, so try again";
  CHECK(index.search().code == Code::try_again);
  CHECK(index.search().text.starts_with(locked));
  CHECK(build_local_index(index.database, {index.documents}).error().text.starts_with(locked));
  REQUIRE(other->run("COMMIT;").has_value());
}

TEST_CASE("One program at a time writes an index and the next one says that it waits", "[fetchers][local]") {
  const IndexFile index;
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(index.folder.path()))
      names.insert(entry.path().filename().string());
    return names;
  };
  std::optional<FileLock> held = *FileLock::take(index.database + ".lock", "held");
  IndexOptions options;
  options.is_interrupted = [] { return true; };
  CHECK(build_local_index(index.database, {index.documents}, options).error().text == "interrupted");
  options.is_interrupted = {};
  std::vector<std::string> told;
  options.tell_wait = [&](const std::string& what) {
    told.push_back(what);
    held.reset();
  };
  index.folder.write("pages.db.new-0123456789abcdef", "of a killed program");
  index.folder.write("pages.db.new-1", "somebody's");
  const auto built = build_local_index(index.database, {index.documents}, options);
  if (!built) FAIL(built.error().text);
  CHECK(told == std::vector<std::string>{"another program is writing " + index.database});
  CHECK(built->documents == 300);
  CHECK(files() == std::set<std::string>{"d.jsonl", "pages.db", "pages.db.new-1"});
}

TEST_CASE("An index that another program writes is left to it when nobody can be told", "[fetchers][local]") {
  const IndexFile index;
  REQUIRE(AddedDocuments::open(index.database).has_value());
  const auto held = FileLock::take(index.database + ".lock", "held");
  const auto followed = follow_added_documents(index.database, {});
  REQUIRE(followed.has_error());
  CHECK(followed.error().code == Code::try_again);
  CHECK(followed.error().text ==
        "another program is writing " + index.database + "; try again when it has ended");
}

TEST_CASE("An index takes the place of another when it is on the disk", "[fetchers][local]") {
  const IndexFile index;
  const test::SyncedPaths synced;
  REQUIRE(build_local_index(index.database, {index.documents}).has_value());
  REQUIRE(synced.paths.size() == 2);
  CHECK(synced.paths[0].find("/pages.db.new-") != std::string::npos);
  CHECK(synced.paths[1] == std::filesystem::canonical(index.folder.path()).string());
}

TEST_CASE("An engine does not take the lengths of documents whose numbers have changed",
          "[fetchers][local]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  const auto line = [](const std::string& name, const std::string& text) {
    return "{\"url\":\"http://" + name + "/\",\"text\":\"" + text + "\"}\n";
  };
  const std::string kept = line("b", "tea") + line("c", "tea with milk and sugar and a spoon and a biscuit");
  IndexOptions options;
  options.updates = true;
  const auto build = [&](const std::string& lines) {
    const auto built = build_local_index(database, {folder.write("d.jsonl", lines)}, options);
    if (!built) FAIL(built.error().text);
  };
  const auto scores = [](LocalEngine& engine) {
    const auto list = engine.search("tea", 30, 0, Deadline(machine_clock(), std::chrono::seconds(5)));
    if (!list) FAIL(list.error().text);
    std::vector<double> out;
    for (const Hit& hit : list->hits) out.push_back(*hit.score);
    return out;
  };
  build(line("a", "gone") + kept);
  build(kept);  // the others keep their numbers
  LocalEngine engine({database, {}});
  const auto before = scores(engine);
  REQUIRE(before.size() == 2);
  options.updates = false;
  build(kept);
  CHECK(scores(engine) == before);
}

TEST_CASE("Another database is no index and is kept", "[fetchers][local]") {
  const IndexFile index;
  const std::string path = index.folder.path("other.db");
  for (const std::string table : {"CREATE TABLE mine(a);", "CREATE TABLE meta(name);"}) {
    auto other = SqliteDatabase::open(path, {.mode = SqliteMode::create});
    REQUIRE(other->run(table).has_value());
    const auto built = build_local_index(path, {index.documents});
    CHECK(built.error().code == Code::no_input);
    CHECK(built.error().text == path + ": exists and is not a document index; name another file");
    const auto opened = open_index(path);
    CHECK(opened.error().text.find("not a document index (it has no format entry)") != std::string::npos);
    CHECK_FALSE(is_damaged_index(path));
  }
}

TEST_CASE("A definition that names what its index does not have is refused", "[fetchers][local]") {
  const IndexFile index;
  const auto mistake = [&](const std::string& keys) {
    const std::string file = index.folder.write(
        "e.yaml", "engines:\n  - name: l\n    engine: local\n    database: pages.db\n" + keys);
    const auto read = read_engine_file(file);
    return read ? std::string() : read.error().text.substr(read.error().text.find("e.yaml"));
  };
  CHECK(mistake("    weights: {title: 3, text: 1}\n    tokenizer: words\n").empty());
  const std::string weights = mistake("    weights: {titel: 3}\n");
  CHECK(weights.starts_with("e.yaml:5:"));
  CHECK(weights.find("there is a weight for \"titel\", but the index has the columns title, text") !=
        std::string::npos);
  CHECK(mistake("    tokenizer: parts\n").find("not built with the tokenizer parts") != std::string::npos);
  CHECK(mistake("    order_by: uses\n").find("no numeric field with that name") != std::string::npos);
  index.folder.write("pages.db", "");  // a search says what is wrong with it
  CHECK(mistake("    weights: {titel: 3}\n").empty());
}
