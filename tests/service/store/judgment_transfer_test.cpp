#include "service/learning/judgment_transfer.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "service/learning/store_training.h"
#include "tests/service/store/sample_search.h"
#include "tests/support/command.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::document_key;
using metafuse::test::kNewYear;
using metafuse::test::run_metafuse;
using metafuse::test::sample_search;

namespace {

/// Two lists over ten queries; the first list finds the answer first, the second last.
struct OfflineFolder {
  test::TemporaryFolder folder;
  std::vector<std::string> runs;
  std::string qrels;

  OfflineFolder() {
    std::string first, second, judged, queries;
    for (int q = 0; q < 10; ++q) {
      const std::string id = "q" + std::to_string(q);
      const std::string name = id + "/";
      first += id + " Q0 " + name + "a 1 3 good\n" + id + " Q0 " + name + "b 2 2 good\n";
      second += id + " Q0 " + name + "b 1 3 bad\n" + id + " Q0 " + name + "c 2 2 bad\n" + id + " Q0 " + name +
                "a 3 1 bad\n";
      judged += id + " 0 " + name + "a 2\n" + id + " 0 " + name + "b 0\n" + id + " 0 " + name + "z 1\n";
      queries +=
          "{\"id\":\"" + id + "\",\"slots\":{\"Q\":\"query " + std::to_string(q) + "\"},\"relevant\":[]}\n";
    }
    runs = {folder.write("good.run", first), folder.write("bad.run", second)};
    qrels = folder.write("qrels", judged);
    folder.write("queries.jsonl", queries);
  }
  std::string store() const { return folder.path("store.db"); }
};

std::unique_ptr<Store> transfer_store(const std::string& path) {
  auto store = open_store(path);
  REQUIRE(store.has_value());
  return std::move(*store);
}

StoreTrainingOptions all_of(const std::string& domain) {
  StoreTrainingOptions options;
  options.domain = domain;
  options.now = kNewYear;
  options.are_held_out_used = true;
  return options;
}

}  // namespace

TEST_CASE("runs and qrels become judged searches that a model learns from", "[service][store][import]") {
  const OfflineFolder files;
  const auto done = run_metafuse({"store", "import", "--store", files.store(), "--domain", "d", "--runs",
                                  files.runs[0], files.runs[1], "--qrels", files.qrels, "--queries",
                                  files.folder.path("queries.jsonl"), "--plain-slot", "Q"});
  CHECK(done.status == 66);  // no store yet: import adds to one that a server made
  transfer_store(files.store());
  const auto again = run_metafuse({"store", "import", "--store", files.store(), "--domain", "d", "--runs",
                                   files.runs[0], files.runs[1], "--qrels", files.qrels, "--queries",
                                   files.folder.path("queries.jsonl"), "--plain-slot", "Q"});
  INFO(again.err);
  REQUIRE(again.status == 0);
  CHECK(again.out.find("10 searches and 30 judgments imported") != std::string::npos);
  CHECK(again.out.find("10 judged documents stand in no list") != std::string::npos);
  const auto store = transfer_store(files.store());
  const auto judged = store->judged_queries("d");
  REQUIRE(judged->size() == 10);
  // the identity of the same query asked online, by its slot or plain
  const std::string online = query_digest(*store->secret(), "d", {{{"QUERY", "Query  3"}}}, "Q");
  CHECK(std::any_of(judged->begin(), judged->end(), [&](const JudgedQuery& q) { return q.query == online; }));
  StoreTrainingReport report;
  const auto set = training_set_from_store(*store, all_of("d"), &report);
  REQUIRE(set.has_value());
  CHECK(report.judged_queries == 10);
  CHECK(set->queries.size() == 10);
  CHECK(set->documents.size() == 30);
}

TEST_CASE("an export comes back as it was, the newer judgment winning", "[service][store][import]") {
  const test::TemporaryFolder folder;
  const StoredSearch search = sample_search();
  const StoredJudgment judgment{"shoes", search.query, document_key(1), "ann", 2, search.id, kNewYear + 10};
  const auto old_store = transfer_store(folder.path("old.db"));
  REQUIRE(old_store->add_searches({&search, 1}).has_value());
  REQUIRE(old_store->set_judgment(judgment).has_value());
  const StoredSearch hat = sample_search("hats");
  REQUIRE(old_store->add_searches({&hat, 1}).has_value());
  std::string lines;
  REQUIRE(old_store
              ->export_lines([&](std::string_view line) -> Result<void> {
                lines.append(line) += '\n';
                return {};
              })
              .has_value());
  const std::string file = folder.write("export.jsonl", lines);
  const auto store = transfer_store(folder.path("new.db"));
  const auto first = import_lines(*store, file, "shoes");
  REQUIRE(first.has_value());
  CHECK(first->searches == 1);
  CHECK(first->judgments == 1);
  CHECK(first->foreign == 1);
  const auto found = store->find_search(search.id);
  REQUIRE(found->has_value());
  CHECK((**found).slots == search.slots);
  CHECK(lists_text(**found).size() == lists_text(search).size());
  CHECK(store->judged_queries("shoes")->at(0).judgments.at(0) == judgment);
  // again: nothing new; then with a newer judgment in the store, which stays
  CHECK(import_lines(*store, file, "shoes")->judgments == 0);
  StoredJudgment newer = judgment;
  newer.grade = 0;
  newer.at += 5;
  REQUIRE(store->set_judgment(newer).has_value());
  const auto conflict = import_lines(*store, file, "shoes");
  CHECK(conflict->older == 1);
  REQUIRE(conflict->conflicts.size() == 1);
  CHECK(conflict->conflicts[0].find(document_key(1)) != std::string::npos);
  CHECK(store->judged_queries("shoes")->at(0).judgments.at(0).grade == 0);
  for (const char* line :
       {"[]", "{}", R"({"kind":"judgment","domain":"shoes"})", R"({"kind":"judgement","domain":"shoes"})",
        R"({"kind":"search","domain":"shoes","id":"x"})"}) {
    const auto wrong = import_lines(*store, folder.write("wrong.jsonl", std::string(line) + "\n"), "shoes");
    REQUIRE(wrong.has_error());
    CHECK(wrong.error().code == Code::bad_data);
    CHECK(wrong.error().text.find("wrong.jsonl:1") != std::string::npos);
  }
  // Clicks stay where they were made.
  CHECK(import_lines(*store, folder.write("click.jsonl", "{\"kind\":\"click\",\"domain\":\"shoes\"}\n"),
                     "shoes")
            .has_value());
}

TEST_CASE("files beside a store are learned from too; the store's judgments of a query win",
          "[service][store][import]") {
  const OfflineFolder files;
  const auto store = transfer_store(files.store());
  const auto offline =
      read_offline_queries({files.runs, files.qrels, "d", 0, {}}, *store->secret(), "", kNewYear);
  REQUIRE(offline.has_value());
  REQUIRE(offline->size() == 10);
  StoreTrainingOptions options = all_of("d");
  options.offline = *offline;
  StoreTrainingReport report;
  REQUIRE(training_set_from_store(*store, options, &report).has_value());
  CHECK(report.offline_queries == 10);
  REQUIRE(import_offline_queries(*store, {(*offline)[0]}, "ann", kNewYear).has_value());
  REQUIRE(training_set_from_store(*store, options, &report).has_value());
  CHECK(report.offline_queries == 9);
  CHECK(report.judged_queries == 1);
  // held-out queries stay held out
  options.are_held_out_used = false;
  REQUIRE(training_set_from_store(*store, options, &report).has_value());
  CHECK(report.offline_queries + report.judged_queries + report.held_out_queries == 10);
  CHECK(report.held_out_queries > 0);
  const std::string none = files.folder.write("other.qrels", "zzz 0 d 1\n");
  CHECK(read_offline_queries({files.runs, none, "d", 0, {}}, "s", "", 0).error().code == Code::bad_data);
  const std::string model = files.folder.path("model.json");
  const auto trained =
      run_metafuse({"train", "--store", files.store(), "--domain", "d", "--runs", files.runs[0],
                    files.runs[1], "--qrels", files.qrels, "--rounds", "5", "--model", model});
  INFO(trained.err);
  CHECK(trained.status == 0);
  CHECK(trained.err.find("from files") != std::string::npos);
}
