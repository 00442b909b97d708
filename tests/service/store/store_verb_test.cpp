#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/result.h"
#include "service/config/config.h"
#include "service/store/store.h"
#include "tests/support/command.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;
using test::kNewYear;
using test::run_metafuse;
using test::sample_search;

namespace {

/// A store with a search of 2025, a click and a judgment on it, and a search dated in the far future.
std::string filled_store(const test::TemporaryFolder& folder) {
  std::string path = folder.path("store.db");
  auto store = open_store(path);
  REQUIRE(store.has_value());
  const StoredSearch searches[] = {sample_search(), sample_search("shoes", kNewYear + 4'000'000'000)};
  REQUIRE((*store)->searches.add(searches).has_value());
  for (const StoredSearch& search : searches) {
    Click click;
    click.search = search.id;
    click.domain = "shoes";
    click.at = search.at;
    click.prefix = "a-hash";
    REQUIRE(*(*store)->clicks.add(click, {}) == ClickOutcome::recorded);
  }
  REQUIRE((*store)
              ->judgments
              .set({"shoes", searches[1].query, test::document_key(1), "judge", 2, searches[1].id,
                    searches[1].at})
              .has_value());
  REQUIRE(*(*store)->templates.add({"shoes", 0, "version: 1\n", "admin", kNewYear}) == 1);
  return path;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("A store can be exported and checked while its server runs", "[service][store]") {
  const test::TemporaryFolder folder;
  const std::string path = filled_store(folder);
  const auto served = open_store(path);
  const auto exported = run_metafuse({"store", "export", "--store", path});
  CHECK(exported.status == 0);
  CHECK(lines_of(exported.out) == 6);
  CHECK(exported.out.find("a-hash") == std::string::npos);
  CHECK(exported.out.find(*(*served)->privacy.secret()) == std::string::npos);
  const auto checked = run_metafuse({"store", "check", "--store", path});
  CHECK(checked.status == 0);
  CHECK(checked.out == "sound: 2 searches, 2 clicks, 1 judgments, 1 template versions\n");
  const auto busy = run_metafuse({"store", "prune", "--store", path, "--days", "1"});
  CHECK(busy.status == static_cast<int>(Code::unavailable));
}

TEST_CASE("An export becomes a new store with all its domains", "[service][store]") {
  const test::TemporaryFolder folder;
  const std::string path = filled_store(folder);
  {
    auto store = open_store(path);
    REQUIRE(store.has_value());
    REQUIRE(*(*store)->templates.add({"boots", 0, "version: 1\n", "admin", kNewYear}) == 1);
    REQUIRE(*(*store)->templates.add({curation_name("hats"), 0, "{}\n", "admin", kNewYear}) == 1);
  }
  const std::string lines = folder.write("e.jsonl", run_metafuse({"store", "export", "--store", path}).out);
  for (const std::string& to : {folder.path("new.db"), folder.write("empty.db", "")}) {
    const auto imported = run_metafuse({"store", "import", "--store", to, lines});
    INFO(imported.err);
    CHECK(imported.status == 0);
    CHECK(imported.out.starts_with("2 searches and 1 judgments imported; left out: 0 older"));
    CHECK(imported.out.find(" 0 of other domains") != std::string::npos);
    CHECK(run_metafuse({"store", "check", "--store", to}).out ==
          "sound: 2 searches, 0 clicks, 1 judgments, 3 template versions\n");
    CHECK(run_metafuse({"store", "import", "--store", to, lines})
              .out.starts_with(
                  "0 searches and 0 judgments imported; left out: 0 older than the store's, 1 that "
                  "it has, 0 of other domains"));
  }
  const std::string one = folder.path("one.db");
  CHECK(run_metafuse({"store", "import", "--store", one, "--domain", "boots", lines}).status == 0);
  CHECK(run_metafuse({"store", "check", "--store", one}).out ==
        "sound: 0 searches, 0 clicks, 0 judgments, 1 template versions\n");
  // a mistyped file makes no store
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--domain", "boots"}}) {
    std::vector<std::string> arguments = {"store", "import", "--store", folder.path("no.db"), "no.jsonl"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    CHECK(run_metafuse(arguments).status == static_cast<int>(Code::no_input));
  }
  CHECK_FALSE(std::filesystem::exists(folder.path("no.db")));
}

TEST_CASE("A bad line of one domain leaves nothing of any domain imported", "[service][store]") {
  const test::TemporaryFolder folder;
  const std::string path = filled_store(folder);
  const std::string lines = run_metafuse({"store", "export", "--store", path}).out;
  const std::string broken =
      folder.write("broken.jsonl", R"({"kind":"template","domain":"boots","text":"a","author":"ann","at":1})"
                                   "\n" +
                                       lines + R"({"kind":"search","domain":"shoes"})" + "\n");
  const std::string to = folder.path("new.db");
  REQUIRE(open_store(to).has_value());
  CHECK(run_metafuse({"store", "import", "--store", to, broken}).status == static_cast<int>(Code::bad_data));
  const std::string cut = folder.write("cut.jsonl", lines + "{]\n");
  CHECK(run_metafuse({"store", "import", "--store", to, cut})
            .err.find("cut.jsonl:" + std::to_string(lines_of(lines) + 1) + ":2: ") != std::string::npos);
  CHECK(run_metafuse({"store", "check", "--store", to}).out ==
        "sound: 0 searches, 0 clicks, 0 judgments, 0 template versions\n");
}

TEST_CASE("An import obeys hash_queries of the configuration or of the store's last server",
          "[service][store][privacy]") {
  const test::TemporaryFolder folder;
  const std::string path = filled_store(folder);
  const std::string lines = folder.write("e.jsonl", run_metafuse({"store", "export", "--store", path}).out);
  folder.write("empty.yaml", "");
  const std::string config = folder.write("metafuse.yaml",
                                          "version: 1\ntemplates: [empty.yaml]\nengines: [empty.yaml]\n"
                                          "store: configured.db\nprivacy: {hash_queries: true}\n");
  const std::string served = folder.path("served.db");
  const auto change = [&](Result<void> (QueryPrivacy::*what)()) {
    const auto store = open_store(served);
    REQUIRE(((*store)->privacy.*what)().has_value());
  };
  const auto is_readable = [&](const std::string& option, const std::string& where) {
    const auto imported = run_metafuse({"store", "import", option, where, lines});
    INFO(imported.err);
    CHECK(imported.status == 0);
    const std::string stored = run_metafuse({"store", "export", option, where}).out;
    CHECK(lines_of(stored) == 4);
    CHECK((stored.find("shoes\\\"") != std::string::npos) ==
          (stored.find("example.org") != std::string::npos));
    return stored.find("example.org") != std::string::npos;
  };
  CHECK_FALSE(is_readable("--config", config));
  change(&QueryPrivacy::hide_queries);
  CHECK_FALSE(is_readable("--store", served));
  std::filesystem::remove(served);
  std::filesystem::remove(served + ".secret");
  change(&QueryPrivacy::hide_queries);
  change(&QueryPrivacy::allow_words);
  CHECK(is_readable("--store", served));
}

TEST_CASE("A store is pruned by age and reset by domain", "[service][store]") {
  const test::TemporaryFolder folder;
  const std::string path = filled_store(folder);
  const auto prefixes = [&] {
    const auto store = open_store(path);
    std::vector<std::string> out;
    const auto clicked = (*store)->clicks.searches("shoes", 10);
    for (const service::ClickedSearch& search : *clicked) out.push_back(search.clicks.at(0).prefix);
    return out;
  };
  CHECK(prefixes() == std::vector<std::string>{"a-hash", "a-hash"});
  const auto young = run_metafuse({"store", "prune", "--store", path, "--days", "36500"});
  CHECK(young.out == "removed 0 searches and 0 clicks\n");
  CHECK(prefixes() == std::vector<std::string>{"a-hash", ""});  // the first click is of the far future
  const auto pruned = run_metafuse({"store", "prune", "--store", path, "--days", "30"});
  CHECK(pruned.out == "removed 1 searches and 1 clicks\n");
  const auto other = run_metafuse({"store", "reset", "--store", path, "--domain", "boots", "--clicks"});
  CHECK(other.out == "removed 0 clicks and 0 judgments of boots\n");
  const auto reset =
      run_metafuse({"store", "reset", "--store", path, "--domain", "shoes", "--clicks", "--judgments"});
  CHECK(reset.out == "removed 1 clicks and 1 judgments of shoes\n");
  CHECK(run_metafuse({"store", "check", "--store", path}).out ==
        "sound: 1 searches, 0 clicks, 0 judgments, 1 template versions\n");
}

TEST_CASE("The store may be named by a configuration and each mistake is one line", "[service][store]") {
  const test::TemporaryFolder folder;
  filled_store(folder);
  folder.write("empty.yaml", "");
  const std::string files = "version: 1\ntemplates: [empty.yaml]\nengines: [empty.yaml]\n";
  folder.write("none.yaml", files);
  const std::string config = folder.write("metafuse.yaml", files + "store: store.db\n");
  CHECK(run_metafuse({"store", "check", "--config", config}).status == 0);
  const auto status_of = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "store");
    const auto run = run_metafuse(arguments);
    CHECK(run.out.empty());
    CHECK(lines_of(run.err) == 1);
    return run.status;
  };
  CHECK(status_of({"check", "--config", folder.path("none.yaml")}) == 78);
  CHECK(status_of({"check"}) == 64);
  CHECK(status_of({"check", "--store", "x", "--config", config}) == 64);
  CHECK(status_of({"prune", "--store", folder.path("no.db"), "--days", "1"}) == 66);
  CHECK(status_of({"prune", "--store", folder.path("store.db"), "--days", "-1"}) == 64);
  CHECK(status_of({"reset", "--store", folder.path("store.db"), "--domain", "shoes"}) == 64);
  CHECK(status_of({"export", "--store", folder.write("text.db", std::string(5000, 'x'))}) == 65);
}

TEST_CASE("The command metafuse key new prints the key once and YAML for the server",
          "[service][keys][security]") {
  const test::TemporaryFolder folder;
  const auto made =
      run_metafuse({"key", "new", "ann", "--role", "search", "--role", "judge", "--domain", "support",
                    "--engine", "e1", "--days", "90", "--quota", "500", "--rate", "2.5"});
  REQUIRE(made.status == 0);
  const std::string key = made.out.substr(0, made.out.find('\n'));
  CHECK(made.out == key + "\n");
  CHECK(key.size() == 3 + 48);
  CHECK(made.err.find(key) == std::string::npos);
  folder.write("a.yaml", "");
  const std::size_t entry = made.err.find("  - name:");
  REQUIRE(entry != std::string::npos);
  const std::string yaml = "keys:\n" + made.err.substr(entry);
  const auto config = parse_config("version: 1\ntemplates: [a.yaml]\n" + yaml, folder.path("metafuse.yaml"));
  REQUIRE(config.has_value());
  REQUIRE(config->keys.size() == 1);
  const KeyConfig& read = config->keys[0];
  CHECK(read.name == "ann");
  CHECK(read.sha256 == sha256_hex(key));
  CHECK(read.roles == std::vector{Role::search, Role::judge});
  CHECK(read.may_use_domain("support"));
  CHECK_FALSE(read.may_use_domain("hr"));
  CHECK(read.may_ask_engine("e1"));
  CHECK_FALSE(read.may_ask_engine("e2"));
  CHECK(read.quota_per_day == 500);
  CHECK(read.requests_per_second == 2.5);
  CHECK(read.expires.size() == 10);
  CHECK(run_metafuse({"key", "new", "ann", "--role", "boss"}).status == 64);
  CHECK(run_metafuse({"key", "new", "a\nroles: [admin]", "--role", "search"}).status == 64);
}

TEST_CASE("A key is valid on its last day and not on the next", "[service][keys][security]") {
  KeyConfig key;
  CHECK_FALSE(key.has_expired(kNewYear));
  key.expires = "2025-01-01";
  CHECK_FALSE(key.has_expired(kNewYear));
  CHECK_FALSE(key.has_expired(kNewYear + 86399));
  CHECK(key.has_expired(kNewYear + 86400));
}
