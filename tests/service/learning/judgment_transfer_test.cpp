#include "service/learning/judgment_transfer.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include <catch2/catch.hpp>
#include <sqlite3.h>

#include "service/learning/recording.h"
#include "service/learning/store_training.h"
#include "tests/support/command.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::document_key;
using metafuse::test::kNewYear;
using metafuse::test::run_metafuse;
using metafuse::test::sample_search;

namespace {

/// Two lists over ten queries; the first list ranks the answer first, the second ranks it last.
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

/// Imports a file of one domain as the verb does.
Result<ImportReport> import_file(Store& store, const std::string& file, const std::string& domain,
                                 bool are_queries_hashed = false) {
  TRY(auto exported, read_exported_lines(file, domain));
  TRY(const std::string secret, store.privacy.secret());
  return import_lines(store, std::move(exported), {secret, are_queries_hashed, ""});
}

std::string export_of(Store& store) {
  std::string lines;
  REQUIRE(store
              .export_lines([&](std::string_view line) -> Result<void> {
                lines.append(line) += '\n';
                return {};
              })
              .has_value());
  return lines;
}

StoreTrainingOptions all_of(const std::string& domain) {
  StoreTrainingOptions options;
  options.domain = domain;
  options.now = kNewYear;
  options.are_held_out_used = true;
  return options;
}

}  // namespace

TEST_CASE("Runs and qrels are imported as judged searches that a model learns from",
          "[service][store][import]") {
  const OfflineFolder files;
  const auto done = run_metafuse({"store", "import", "--store", files.store(), "--domain", "d", "--runs",
                                  files.runs[0], files.runs[1], "--qrels", files.qrels, "--queries",
                                  files.folder.path("queries.jsonl"), "--plain-slot", "Q"});
  INFO(done.err);
  REQUIRE(done.status == 0);  // the store is made
  CHECK(done.out.find("10 searches and 30 judgments imported") != std::string::npos);
  CHECK(done.out.find("10 judged documents are in no list") != std::string::npos);
  const auto store = transfer_store(files.store());
  const auto judged = store->judgments.queries("d");
  REQUIRE(judged->size() == 10);
  // the digest of the same query asked online, by its slot or as plain text
  const std::string online = query_digest(*store->privacy.secret(), "d", {{{"QUERY", "Query  3"}}}, "Q");
  CHECK(std::any_of(judged->begin(), judged->end(), [&](const JudgedQuery& q) { return q.query == online; }));
  StoreTrainingReport report;
  const auto set = training_set_from_store(*store, all_of("d"), &report);
  REQUIRE(set.has_value());
  CHECK(report.judged_queries == 10);
  CHECK(set->queries.size() == 10);
  CHECK(set->documents.size() == 30);
}

TEST_CASE("An export is imported unchanged and the newer judgment wins", "[service][store][import]") {
  const test::TemporaryFolder folder;
  StoredSearch search = sample_search();
  search.lists[0].ranks = {1, 11, 12};
  search.set_aside = {3};
  const StoredJudgment judgment{"shoes", search.query, document_key(1), "ann", 2, search.id, kNewYear + 10};
  const auto old_store = transfer_store(folder.path("old.db"));
  REQUIRE(old_store->searches.add({&search, 1}).has_value());
  REQUIRE(old_store->judgments.set(judgment).has_value());
  const StoredSearch hat = sample_search("hats");
  REQUIRE(old_store->searches.add({&hat, 1}).has_value());
  const std::string lines = export_of(*old_store);
  const std::string file = folder.write("export.jsonl", lines);
  const auto store = transfer_store(folder.path("new.db"));
  const auto first = import_file(*store, file, "shoes");
  REQUIRE(first.has_value());
  CHECK(first->searches == 1);
  CHECK(first->judgments == 1);
  CHECK(first->foreign == 1);
  const auto found = store->searches.find(search.id);
  REQUIRE(found->has_value());
  CHECK((**found).slots == search.slots);
  CHECK((**found).lists[0].ranks == search.lists[0].ranks);
  REQUIRE((**found).set_aside.size() == 1);
  CHECK((**found).documents[(**found).set_aside[0]] == document_key(3));
  CHECK(lists_text(**found).size() == lists_text(search).size());
  // the query's digest uses this store's secret, everything else is unchanged
  StoredJudgment expected = judgment;
  expected.query = query_digest(*store->privacy.secret(), "shoes", search.slots);
  CHECK(expected.query != judgment.query);
  CHECK(store->judgments.queries("shoes")->at(0).judgments.at(0) == expected);
  CHECK((**found).query == expected.query);
  // a second import adds nothing; a newer judgment in the store is kept
  const auto second = import_file(*store, file, "shoes");
  CHECK(second->searches == 0);
  CHECK(second->judgments == 0);
  const auto twice = transfer_store(folder.path("twice.db"));
  CHECK(import_file(*twice, folder.write("twice.jsonl", lines + lines), "shoes")->searches == 1);
  CHECK((**store->searches.find(search.id)).times == search.times);
  StoredJudgment newer = expected;
  newer.grade = 0;
  newer.at += 5;
  REQUIRE(store->judgments.set(newer).has_value());
  const auto conflict = import_file(*store, file, "shoes");
  CHECK(conflict->older == 1);
  REQUIRE(conflict->conflicts.size() == 1);
  CHECK(conflict->conflicts[0].find(document_key(1)) != std::string::npos);
  CHECK(store->judgments.queries("shoes")->at(0).judgments.at(0).grade == 0);
  for (const char* line :
       {"[]", "{}", R"({"kind":"judgment","domain":"shoes"})", R"({"kind":"judgement","domain":"shoes"})",
        R"({"kind":"search","domain":"shoes","id":"x"})"}) {
    const auto wrong = import_file(*store, folder.write("wrong.jsonl", std::string(line) + "\n"), "shoes");
    REQUIRE(wrong.has_error());
    CHECK(wrong.error().code == Code::bad_data);
    CHECK(wrong.error().text.find("wrong.jsonl:1") != std::string::npos);
  }
  // After a bad line, even the last one, nothing of the lines before it is stored.
  const auto untouched = transfer_store(folder.path("untouched.db"));
  const std::string broken =
      folder.write("broken.jsonl", lines + "{\"kind\":\"search\",\"domain\":\"shoes\"}\n");
  REQUIRE(import_file(*untouched, broken, "shoes").has_error());
  CHECK_FALSE(untouched->searches.find(search.id)->has_value());
  CHECK(untouched->judgments.queries("shoes")->empty());
  // A domain that is not in the file.
  const auto none = import_file(*untouched, file, "boots");
  REQUIRE(none.has_error());
  CHECK(none.error().code == Code::bad_data);
  CHECK(none.error().text.find("--domain can be hats, shoes") != std::string::npos);
  // Clicks are not imported.
  CHECK(
      import_file(*store, folder.write("click.jsonl", "{\"kind\":\"click\",\"domain\":\"shoes\"}\n"), "shoes")
          .has_value());
}

TEST_CASE("A batch that fails to be stored leaves nothing", "[service][store][import]") {
  const test::TemporaryFolder folder;
  const auto store = transfer_store(folder.path("store.db"));
  const StoredSearch search = sample_search();
  StoreBatch batch;
  batch.searches = {search, search};
  batch.judgments = {{"shoes", search.query, document_key(1), "ann", 2, search.id, kNewYear}};
  batch.templates = {{"shoes", 0, "version: 1", "ann", kNewYear}};
  const auto change_table = [&](const std::string& name, const std::string& new_name) {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(folder.path("store.db").c_str(), &database) == SQLITE_OK);
    const std::string sql = "ALTER TABLE " + name + " RENAME TO " + new_name;
    CHECK(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
  };
  change_table("template_versions", "elsewhere");
  CHECK(store->add_batch(batch).has_error());
  change_table("elsewhere", "template_versions");
  CHECK_FALSE(store->searches.find(search.id)->has_value());
  CHECK(store->judgments.queries("shoes")->empty());
  CHECK(store->templates.all("shoes")->empty());
  REQUIRE(store->add_batch(batch).has_value());
  REQUIRE(store->add_batch(batch).has_value());  // adding it again changes nothing
  CHECK((**store->searches.find(search.id)).times == search.times);
  CHECK(store->judgments.queries("shoes")->size() == 1);
  CHECK(store->templates.all("shoes")->size() == 1);
}

TEST_CASE("An older export puts no earlier curation or templates back in force", "[service][store][import]") {
  const test::TemporaryFolder folder;
  const auto store = transfer_store(folder.path("store.db"));
  const std::string curation = curation_name("shoes");
  const auto save = [&](const std::string& text, UnixTime at) {
    for (const std::string& name : {curation, std::string("shoes")})
      REQUIRE(store->templates.add({name, 0, text, "ann", at}).has_value());
  };
  save("one", kNewYear);
  save("two", kNewYear + 5);
  save("three", kNewYear + 5);
  const std::string before = folder.write("before.jsonl", export_of(*store));
  REQUIRE(import_file(*store, before, "shoes").has_value());
  save("four", kNewYear + 9);
  const std::string after = folder.write("after.jsonl", export_of(*store));
  for (const std::string& file : {before, after}) {
    REQUIRE(import_file(*store, file, "shoes").has_value());
    for (const std::string& name : {curation, std::string("shoes")}) {
      const auto versions = store->templates.all(name);
      REQUIRE(versions->size() == 4);
      CHECK((**store->templates.find(name, versions->front().number)).text == "four");
    }
  }
  // a store that has only the earlier versions gets the later one
  const auto other = transfer_store(folder.path("other.db"));
  for (const auto& [file, count] : {std::pair{before, 3U}, std::pair{after, 4U}}) {
    REQUIRE(import_file(*other, file, "").has_value());
    CHECK(other->templates.all(curation)->size() == count);
  }
}

TEST_CASE("An import into a store with hashed queries leaves out words and addresses",
          "[service][store][import][privacy]") {
  const OfflineFolder files;
  const auto old_store = transfer_store(files.folder.path("old.db"));
  StoredSearch search = sample_search();
  REQUIRE(old_store->searches.add({&search, 1}).has_value());
  REQUIRE(old_store->judgments.set({"shoes", search.query, document_key(1), "ann", 2, search.id, kNewYear})
              .has_value());
  const std::string file = files.folder.write("export.jsonl", export_of(*old_store));
  const auto store = transfer_store(files.store());
  const std::string secret = *store->privacy.secret();
  for (int i = 0; i < 2; ++i) CHECK(import_file(*store, file, "", true)->judgments == (i == 0 ? 1 : 0));
  const StoreIdentity identity{secret, true, "Q"};
  const auto offline = read_offline_queries({files.runs, files.qrels, "d", 0, {}}, identity, kNewYear);
  REQUIRE(offline.has_value());
  const auto report = import_offline_queries(*store, *offline, "ann", kNewYear);
  REQUIRE(report.has_value());
  CHECK(report->unlisted == 10);
  CHECK(report->searches == 10);
  CHECK(import_offline_queries(*store, *offline, "ann", kNewYear)->searches == 0);
  const std::string stored = export_of(*store);
  for (const char* word : {"example.org", "red ", "q1", "/a"}) CHECK(stored.find(word) == std::string::npos);
  // the same digests as if the words were there
  CHECK((**store->searches.find(search.id)).query == query_digest(secret, "shoes", search.slots));
  const auto judged = store->judgments.queries("shoes");
  CHECK(judged->at(0).judgments.at(0).document == hashed_document(secret, document_key(1)));
  CHECK(store->searches.find_query("d", query_digest(secret, "d", {{{"Q", "q1"}}}, "Q"))->has_value());
}

TEST_CASE("The newest versions of a domain's templates are kept", "[service][store][import]") {
  const test::TemporaryFolder folder;
  const auto store = transfer_store(folder.path("store.db"));
  StoreBatch batch;
  for (std::uint32_t i = 1; i <= kKeptTemplateVersions + 2; ++i)
    batch.templates.push_back({"shoes", 0, std::to_string(i), "ann", kNewYear});
  REQUIRE(store->add_batch(batch).has_value());
  CHECK(store->templates.all("shoes")->size() == kKeptTemplateVersions);
  CHECK_FALSE(store->templates.find("shoes", 2)->has_value());
  CHECK((**store->templates.find("shoes", 3)).text == "3");
  const std::string newest = std::to_string(kKeptTemplateVersions + 2);
  CHECK((**store->templates.find("shoes", version_number(newest))).text == newest);
  for (const char* const none : {"", "0", "-1", "1x", "4294967296", "99999999999999999999"})
    CHECK(version_number(none) == 0);
}

TEST_CASE("A recording is imported as judged searches including an empty list", "[service][store][import]") {
  const test::TemporaryFolder folder;
  folder.write(
      "t.yaml",
      "version: 1\ndomain: d\nslots: {Q: {required: true}}\ntemplates:\n"
      "  - {id: words, engine: l, query: '{Q}'}\n  - {id: nothing, engine: l, query: 'zzz {Q} zzz'}\n");
  folder.write("e.yaml", "engines: [{name: l, engine: local, database: i.db}]\n");
  const std::string config = folder.write(
      "c.yaml", "version: 1\ndefault_domain: d\ntemplates: [t.yaml]\nengines: [e.yaml]\nstore: store.db\n");
  std::string documents, queries;
  for (int i = 0; i < 6; ++i) {
    const std::string word = "word" + std::to_string(i);
    const std::string url = "http://www.a.example/" + word + "/";
    documents += "{\"url\":\"" + url + "\",\"title\":\"" + word + "\"}\n";
    queries += "{\"id\":\"q" + std::to_string(i) + "\",\"slots\":{\"Q\":\"" + word +
               "\"},\"relevant\":[{\"url\":\"" + url + "\",\"grade\":2}]}\n";
  }
  const std::string asked = folder.write("q.jsonl", queries);
  REQUIRE(
      run_metafuse({"index", "--database", folder.path("i.db"), folder.write("d.jsonl", documents)}).status ==
      0);
  const std::string recording = folder.path("rec");
  REQUIRE(
      run_metafuse({"record", "--config", config, "--domain", "d", "--queries", asked, "--output", recording})
          .status == 0);
  transfer_store(folder.path("store.db"));
  const auto done = run_metafuse({"store", "import", "--config", config, "--domain", "d", "--recording",
                                  recording, "--queries", asked, "--plain-slot", "Q"});
  INFO(done.err);
  REQUIRE(done.status == 0);
  CHECK(done.out.find("6 searches and 6 judgments imported") == 0);
  CHECK(done.out.find("0 judged documents are in no list") != std::string::npos);
  const auto store = transfer_store(folder.path("store.db"));
  const std::string online = query_digest(*store->privacy.secret(), "d", {{{"QUERY", "Word3"}}}, "Q");
  const auto query = store->searches.find_query("d", online);
  REQUIRE(query->has_value());
  const auto search = store->searches.find((**query).search);
  REQUIRE((**search).lists.size() == 2);
  CHECK((**search).lists[0].feature == "nothing@l");
  CHECK((**search).lists[0].documents.empty());
  CHECK((**search).lists[1].feature == "words@l");
  CHECK((**search).lists[1].documents.size() == 1);
  const auto trained =
      run_metafuse({"train", "--runs", recording + "/runs/nothing@l.run", recording + "/runs/words@l.run",
                    "--qrels", recording + "/qrels", "--model", folder.path("m.json")});
  INFO(trained.err);
  CHECK(trained.status == 0);
  const auto wrong = run_metafuse(
      {"store", "import", "--config", config, "--domain", "d", "--recording", folder.path("nowhere")});
  CHECK(wrong.status == 66);
  CHECK(wrong.err.find("not a recording") != std::string::npos);
}

TEST_CASE("Offline files add training queries and the store's judgments take precedence",
          "[service][store][import]") {
  const OfflineFolder files;
  const auto store = transfer_store(files.store());
  const auto offline = read_offline_queries({files.runs, files.qrels, "d", 0, {}},
                                            {*store->privacy.secret(), false, {}}, kNewYear);
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
  CHECK(report.held_out_queries ==
        static_cast<std::size_t>(std::count_if(offline->begin(), offline->end(), [](const auto& query) {
          return is_held_out(query.search.query);
        })));
  const std::string none = files.folder.write("other.qrels", "zzz 0 d 1\n");
  CHECK(read_offline_queries({files.runs, none, "d", 0, {}}, {"s", false, {}}, 0).error().code ==
        Code::bad_data);
  const std::string model = files.folder.path("model.json");
  const auto trained =
      run_metafuse({"train", "--store", files.store(), "--domain", "d", "--runs", files.runs[0],
                    files.runs[1], "--qrels", files.qrels, "--rounds", "5", "--model", model});
  INFO(trained.err);
  CHECK(trained.status == 0);
  CHECK(trained.err.find("from files") != std::string::npos);
}

TEST_CASE("A grade below zero is read as zero, however low it is", "[service][import]") {
  for (const char* grade : {"-1", "-4294967293"}) {
    const auto queries = read_qrels_text(std::string("ada 0 doc ") + grade + "\n", "Q", nullptr);
    REQUIRE(queries.has_value());
    CHECK(queries->at(0).grades == std::map<std::string, int>{{"doc", 0}});
  }
}

TEST_CASE("Judgments of documents with ids of their own are exported and imported unchanged",
          "[service][store][import]") {
  const test::TemporaryFolder folder;
  const auto store = transfer_store(folder.path("store.db"));
  const StoreIdentity identity{"secret", false, "Q"};
  ImportedQuery query;
  query.slots.slots["Q"] = "query one";
  query.grades = {{"my doc 1", 7}, {"D3", 2},          {"document:x", 1},
                  {"100%25", 3},   {"a.example/x", 4}, {"file://localhost/a/b", 1}};
  REQUIRE(import_judgments(*store, {"d", "ann", kNewYear}, {query}, identity).has_value());
  const auto qrels = judgments_text(*store, "d", "Q", JudgmentFormat::qrels, "ann");
  REQUIRE(qrels.has_value());
  CHECK(qrels->find("query%20one 0 document:my%20doc%201 7\n") != std::string::npos);
  CHECK(qrels->find("query%20one 0 100%25 3\n") != std::string::npos);
  const auto read = read_qrels_text(*qrels, "Q", nullptr);
  REQUIRE(read.has_value());
  CHECK(read->at(0).slots == query.slots);
  CHECK(read->at(0).grades == query.grades);
  const auto lines = judgments_text(*store, "d", "Q", JudgmentFormat::lines, "ann");
  REQUIRE(lines.has_value());
  const auto line = read_judged_query(*parse_json(*lines, "lines"), "lines:1", default_tracking_parameters());
  REQUIRE(line.has_value());
  std::map<std::string, int> grades;
  for (const auto& answer : line->relevant) grades[answer.key] = answer.grade;
  CHECK(grades == query.grades);
  const std::string nul = R"({"id":"1","slots":{},"relevant":[{"id":"a\u0000"}]})";
  CHECK(read_judged_query(*parse_json(nul, "lines"), "lines:1", default_tracking_parameters()).has_error());
}

TEST_CASE("Ids that look like URLs are exported as qrels and read back unchanged", "[service][import]") {
  const test::TemporaryFolder folder;
  const auto store = transfer_store(folder.path("store.db"));
  ImportedQuery query;
  query.slots.slots["Q"] = "one";
  query.grades = {{"foo:///bar", 1}, {"http://x.com/a?utm_source=1", 2}, {"x.com/a", 3}};
  REQUIRE(import_judgments(*store, {"d", "ann", kNewYear}, {query}, {"secret", false, "Q"}).has_value());
  const auto qrels = judgments_text(*store, "d", "Q", JudgmentFormat::qrels);
  REQUIRE(qrels.has_value());
  const auto read = read_qrels_text(*qrels, "Q", &default_tracking_parameters());
  REQUIRE(read.has_value());
  CHECK(read->at(0).grades == query.grades);
}

TEST_CASE("An import that fails to be stored leaves no query in the queue", "[service][store][import]") {
  const test::TemporaryFolder folder;
  const auto store = transfer_store(folder.path("store.db"));
  const auto run = [&](const char* sql) {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(folder.path("store.db").c_str(), &database) == SQLITE_OK);
    CHECK(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
  };
  const StoreIdentity identity{"secret", false, "Q"};
  std::vector<ImportedQuery> queries(2);
  queries[0].slots.slots["Q"] = "one";
  queries[0].grades = {{"a.example", 1}};
  queries[1].slots.slots["Q"] = "two";
  queries[1].grades = {{"b.example", 2}};
  run("ALTER TABLE judgments RENAME TO elsewhere");
  CHECK(import_judgments(*store, {"d", "ann", kNewYear}, queries, identity).has_error());
  run("ALTER TABLE elsewhere RENAME TO judgments");
  CHECK(store->searches.asked_queries("d", 10)->empty());
  const auto done = import_judgments(*store, {"d", "ann", kNewYear}, queries, identity);
  REQUIRE(done.has_value());
  CHECK(done->without_search == 2);
  CHECK(store->searches.asked_queries("d", 10)->size() == 2);
  CHECK(store->judgments.queries("d")->size() == 2);
}

TEST_CASE("However often searches of a file were shown, their sum is known", "[service][store][import]") {
  const test::TemporaryFolder folder;
  StoredSearch first = sample_search(), second = sample_search();
  const auto old_store = transfer_store(folder.path("old.db"));
  REQUIRE(old_store->searches.add(std::vector{first, second}).has_value());
  std::string lines = export_of(*old_store);
  for (std::size_t at = 0; (at = lines.find("\"times\":1", at)) != std::string::npos; at += 10)
    lines.replace(at, 9, "\"times\":9223372036854775807");
  const auto store = transfer_store(folder.path("new.db"));
  const auto report = import_file(*store, folder.write("export.jsonl", lines), "shoes");
  REQUIRE(report.has_value());
  CHECK(report->text().find("in no list") == std::string::npos);  // nobody looked
  const auto asked = store->searches.asked_queries("shoes", 10);
  REQUIRE(asked.has_value());
  REQUIRE(asked->size() == 1);
  CHECK(asked->front().times == 2'000'000'000);
}
