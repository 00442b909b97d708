#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/random.h"
#include "service/store/store.h"
#include "tests/support/full_disk.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::kNewYear;
using metafuse::test::sample_search;

namespace {

std::unique_ptr<Store> opened_sqlite(const std::string& location, StoreMode mode = StoreMode::serve) {
  auto store = open_store(location, mode);
  if (store.has_error()) FAIL(store.error().text);
  return std::move(*store);
}

Error refusal(const std::string& location, StoreMode mode = StoreMode::serve) {
  const auto store = open_store(location, mode);
  REQUIRE(store.has_error());
  return store.error();
}

void run_sql(const std::string& path, const char* sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  REQUIRE(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

constexpr std::size_t kIdBytes = 32;

/// Until it is killed, writes searches with a click and a judgment each. Once the store has acknowledged all
/// three, it writes the search's id into the pipe.
[[noreturn]] void write_for_ever(const std::string& path, int acknowledged) {
  auto store = open_store(path);
  if (store.has_error()) ::_exit(1);
  for (;;) {
    const StoredSearch search = sample_search();
    if ((*store)->searches.add({&search, 1}).has_error()) ::_exit(2);
    const Click click{search.id, 0, "shoes", Team::none, kNewYear, "p", "", 1};
    if ((*store)->clicks.add(click, {1e12, 1e12}).has_error()) ::_exit(3);
    const StoredJudgment judgment{"shoes", search.id, "d", "ann", 1, search.id, kNewYear};
    if ((*store)->judgments.set(judgment).has_error()) ::_exit(4);
    if (::write(acknowledged, search.id.data(), kIdBytes) != static_cast<ssize_t>(kIdBytes)) ::_exit(5);
  }
}

/// Lets a writer acknowledge some searches, kills it in the middle of its work, and returns the ids of the
/// acknowledged searches.
std::vector<std::string> acknowledged_before_kill(const std::string& path, std::uint64_t wanted) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t writer = ::fork();
  REQUIRE(writer >= 0);
  if (writer == 0) {
    ::close(ends[0]);
    write_for_ever(path, ends[1]);
  }
  ::close(ends[1]);
  std::vector<std::string> ids;
  std::string id(kIdBytes, ' ');
  bool is_killed = false;
  // Ids that were still in the pipe when the writer died are acknowledged too.
  while (::read(ends[0], id.data(), kIdBytes) == static_cast<ssize_t>(kIdBytes)) {
    ids.push_back(id);
    if (ids.size() >= wanted && !is_killed) is_killed = ::kill(writer, SIGKILL) == 0;
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(writer, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  return ids;
}

void check_kills(int kills) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("store.db");
  Random random(7);
  std::vector<std::string> all;
  for (int i = 0; i < kills; ++i) {
    for (std::string& id : acknowledged_before_kill(path, 1 + random.below(12))) all.push_back(std::move(id));
    const auto store = opened_sqlite(path);
    REQUIRE(store->check().has_value());
    for (std::size_t j = all.size() > 40 ? all.size() - 40 : 0; j < all.size(); ++j) {
      REQUIRE((*store->searches.find(all[j])).has_value());
      REQUIRE(store->clicks.of(all[j])->size() == 1);
    }
  }
  const auto store = opened_sqlite(path);
  for (const std::string& id : all) REQUIRE((*store->searches.find(id)).has_value());
  CHECK(store->judgments.queries("shoes")->size() >= all.size());
  CHECK(all.size() >= static_cast<std::size_t>(kills));
}

}  // namespace

TEST_CASE("SIGKILL loses nothing that a SQLite store acknowledged", "[service][store]") {
  check_kills(10);
}

TEST_CASE("SIGKILL repeated 500 times loses nothing that a SQLite store acknowledged",
          "[service][store][full]") {
  check_kills(500);
}

TEST_CASE("Only one server at a time writes to a SQLite store", "[service][store]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("store.db");
  const StoredSearch search = sample_search();
  {
    const auto store = opened_sqlite(path);
    CHECK(refusal(path).code == Code::unavailable);
    REQUIRE(store->searches.add({&search, 1}).has_value());
    const auto reader = opened_sqlite(path, StoreMode::read);
    CHECK(**reader->searches.find(search.id) == search);
    CHECK(reader->judgments.set(StoredJudgment()).has_error());
    const StoredSearch second = sample_search();
    REQUIRE(store->searches.add({&second, 1}).has_value());
    CHECK(**reader->searches.find(second.id) == second);
  }
  CHECK(**opened_sqlite(path, StoreMode::read)->searches.find(search.id) == search);
  CHECK(**opened_sqlite(path)->searches.find(search.id) == search);
}

TEST_CASE("A request waits for a SQLite store that is being written until its deadline", "[service][store]") {
  const test::TemporaryFolder folder;
  const auto database = open_sqlite(folder.path("a.db"), StoreMode::serve);
  REQUIRE(database.has_value());
  Result<void> late;
  const auto write_late = [&] {
    const TimePoint end = machine_clock().now() + std::chrono::milliseconds(20);
    late = (*database)->write([](SqlSession&) { return Result<void>(); }, {Patience::request, end});
  };
  REQUIRE((*database)
              ->write([&](SqlSession&) {
                std::thread(write_late).join();
                return Result<void>();
              })
              .has_value());
  REQUIRE(late.has_error());
  CHECK(late.error().code == Code::try_again);
}

TEST_CASE("Only the owner can read the files of a SQLite store", "[service][store]") {
  const test::TemporaryFolder folder;
  const auto store = opened_sqlite(folder.path("store.db"));
  const StoredSearch search = sample_search();
  REQUIRE(store->searches.add({&search, 1}).has_value());
  for (const char* name : {"store.db", "store.db-wal", "store.db-shm", "store.db.lock"}) {
    struct stat status {};
    REQUIRE(::stat(folder.path(name).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
  }
}

TEST_CASE("A file that is not a SQLite store is refused and left unchanged", "[service][store]") {
  const test::TemporaryFolder folder;
  CHECK(refusal(folder.path("no/store.db")).code == Code::no_input);
  CHECK(refusal(folder.path("none.db"), StoreMode::read).code == Code::no_input);

  const std::string text = folder.write("text.db", std::string(5000, 'x'));
  CHECK(refusal(text).code == Code::bad_data);
  CHECK(refusal(text, StoreMode::read).code == Code::bad_data);

  const std::string foreign = folder.path("foreign.db");
  run_sql(foreign, "CREATE TABLE t (a)");
  CHECK(refusal(foreign).code == Code::bad_data);
  CHECK(refusal(foreign, StoreMode::read).code == Code::bad_data);

  const std::string later = folder.path("later.db");
  opened_sqlite(later);
  run_sql(later, "UPDATE meta SET value = '4' WHERE name = 'schema'");
  CHECK(refusal(later).text.find("version '4'") != std::string::npos);
  CHECK(refusal(later, StoreMode::read).code == Code::bad_data);
}

TEST_CASE("A damaged SQLite store is refused when it is opened", "[service][store]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("store.db");
  {
    const auto store = opened_sqlite(path);
    std::vector<StoredSearch> searches(200);
    for (StoredSearch& search : searches) search = sample_search();
    REQUIRE(store->searches.add(searches).has_value());
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (int page = 12; page < 20; ++page) {
    file.seekp(page * 4096);
    file << std::string(64, '\x7f');
  }
  file.close();
  const Error error = refusal(path);
  CHECK(error.code == Code::bad_data);
  CHECK(error.text.find("backup") != std::string::npos);
}

TEST_CASE("A stored search with damaged lists is an error and not a crash", "[service][store]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("store.db");
  const StoredSearch search = sample_search();
  REQUIRE(opened_sqlite(path)->searches.add({&search, 1}).has_value());
  const char* texts[] = {
      "",
      "[]",
      "{}",
      R"({"documents":[1],"lists":[],"shown":[]})",
      R"({"documents":["a"],"lists":[{"feature":"f","depth":1,"failed":false,"documents":[1]}],"shown":[]})",
      R"({"documents":["a"],"lists":[{"feature":"f"}],"shown":[]})",
      R"({"documents":["a"],"lists":[],"shown":[-1]})",
      R"({"documents":["a"],"lists":[],"shown":[0],"teams":"x"})",
      R"({"documents":["a"],"lists":[],"shown":[0],"teams":"aa"})",
  };
  for (const char* text : texts) {
    run_sql(path, ("UPDATE searches SET lists = '" + std::string(text) + "'").c_str());
    const auto found = opened_sqlite(path)->searches.find(search.id);
    REQUIRE(found.has_error());
    CHECK(found.error().code == Code::internal);
  }
  run_sql(path, ("UPDATE searches SET lists = '" + lists_text(search) + "'").c_str());
  REQUIRE(opened_sqlite(path)->searches.find(search.id).has_value());
  for (const char* slots : {"", "[]", R"({"QUERY":1})"}) {
    run_sql(path, ("UPDATE searches SET slots = '" + std::string(slots) + "'").c_str());
    const auto found = opened_sqlite(path)->searches.find(search.id);
    REQUIRE(found.has_error());
    CHECK(found.error().code == Code::internal);
  }
}

TEST_CASE("A store that cannot be written has trouble until it can be, and knows no search for lost",
          "[service][store]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("store.db");
  const auto store = opened_sqlite(path);
  const StoredSearch stored = sample_search();
  REQUIRE(store->searches.add({&stored, 1}).has_value());
  CHECK(store->trouble().empty());
  StoredSearch lost = sample_search();
  Code refused{};
  std::string trouble, after_idle;
  {
    const test::FullDisk full(std::filesystem::file_size(path + "-wal"));
    refused = store->searches.add({&lost, 1}).error().code;
    trouble = store->trouble();
    static_cast<void>(store->keep_within(1));  // the search is judged by nobody, but its removal needs room
    static_cast<void>(store->reset_feedback("shoes", true, true));  // changes nothing, so it succeeds
    store->try_again();
    after_idle = store->trouble();
  }
  CHECK(refused == Code::try_again);
  CHECK_FALSE(trouble.empty());
  CHECK_FALSE(after_idle.empty());
  CHECK(store->shown_search(lost.id).error().code == Code::unavailable);
  CHECK(store->shown_search(stored.id)->has_value());
  store->try_again();
  CHECK(store->trouble().empty());
  CHECK_FALSE(store->shown_search(lost.id)->has_value());
}

TEST_CASE("Nothing is written into the file of a store that was removed", "[service][store]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("store.db");
  const auto store = opened_sqlite(path);
  const StoredSearch search = sample_search();
  std::filesystem::rename(path, folder.path("away.db"));
  const auto refused = store->searches.add({&search, 1});
  REQUIRE(refused.has_error());
  CHECK(refused.error().code == Code::unavailable);
  CHECK(refused.error().text.find("was removed or replaced") != std::string::npos);
  CHECK_FALSE(store->trouble().empty());
  folder.write("store.db", "another file");
  CHECK(store->searches.add({&search, 1}).has_error());
  std::filesystem::rename(folder.path("away.db"), path);
  CHECK(store->searches.add({&search, 1}).has_value());
  CHECK(store->trouble().empty());
}

TEST_CASE("A damaged store is not said to be no store", "[service][store]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("store.db");
  opened_sqlite(path);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(8 * 4096, 'Z');
  }
  const std::string damaged = refusal(path, StoreMode::read).text;
  CHECK(damaged.find("malformed; restore it from a backup") != std::string::npos);
  CHECK(damaged.find("not a store") == std::string::npos);
  run_sql(folder.path("other.db"), "CREATE TABLE other (a)");
  CHECK(refusal(folder.path("other.db"), StoreMode::read).text.find("not a store of metafuse") !=
        std::string::npos);
}
