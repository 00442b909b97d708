#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <metafuse.h>

#include "core/text_file.h"
#include "tests/library/judged_runs.h"
#include "tests/support/command.h"

using namespace metafuse;

namespace {

/// The documents of one query of a run, in order.
std::vector<std::string> documents_of(const metafuse_run* run, std::size_t query) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < metafuse_run_size(run, query); ++i)
    out.emplace_back(metafuse_run_document(run, query, i));
  return out;
}

/// The handles of judged runs, which are freed with this object.
struct LoadedRuns {
  test::JudgedRunFiles files;
  std::vector<metafuse_run*> runs;
  metafuse_qrels* qrels = nullptr;

  LoadedRuns() {
    for (const std::string& file : files.runs) {
      runs.push_back(nullptr);
      REQUIRE(metafuse_run_read(file.c_str(), &runs.back()) == METAFUSE_OK);
    }
    REQUIRE(metafuse_qrels_read(files.qrels.c_str(), &qrels) == METAFUSE_OK);
  }
  ~LoadedRuns() {
    for (metafuse_run* run : runs) metafuse_run_free(run);
    metafuse_qrels_free(qrels);
  }
  LoadedRuns(const LoadedRuns&) = delete;
  LoadedRuns& operator=(const LoadedRuns&) = delete;

  const metafuse_run* const* data() const { return runs.data(); }
  /// The arguments of the same runs on the command line.
  std::vector<std::string> arguments(std::vector<std::string> front) const {
    front.emplace_back("--runs");
    front.insert(front.end(), files.runs.begin(), files.runs.end());
    return front;
  }
};

std::string taken(char* text) {
  std::string out(text);
  metafuse_text_free(text);
  return out;
}

/// The third column of every line.
std::vector<std::string> third_column(const std::string& run) {
  std::vector<std::string> out;
  std::istringstream lines(run);
  for (std::string topic, q0, document, rank, score, tag;
       lines >> topic >> q0 >> document >> rank >> score >> tag;)
    out.push_back(document);
  return out;
}

void check_same_order(const metafuse_run* fused, const std::string& printed) {
  std::vector<std::string> documents;
  for (std::size_t query = 0; query < metafuse_run_query_count(fused); ++query)
    for (const std::string& document : documents_of(fused, query)) documents.push_back(document);
  CHECK(documents == third_column(printed));
  CHECK(documents.size() > 100);
}

}  // namespace

TEST_CASE("Lists of one query are fused by reciprocal ranks as in a worked example", "[library]") {
  const char* words[] = {"d1", "d7", "d3", "d7"};  // d7 twice: its better rank, 2, counts
  const char* vectors[] = {"d3", "d1"};
  const metafuse_list lists[] = {{"words", words, nullptr, 4}, {"vectors", vectors, nullptr, 2}};
  metafuse_run* fused = nullptr;
  REQUIRE(metafuse_fuse_lists(lists, 2, "rrf", nullptr, 0, &fused) == METAFUSE_OK);
  CHECK(metafuse_run_query_count(fused) == 1);
  CHECK(std::string(metafuse_run_query(fused, 0)).empty());
  CHECK(documents_of(fused, 0) == std::vector<std::string>{"d1", "d3", "d7"});
  CHECK(metafuse_run_score(fused, 0, 0) == Approx(1.0 / 61 + 1.0 / 62));
  CHECK(metafuse_run_score(fused, 0, 1) == Approx(1.0 / 63 + 1.0 / 61));
  CHECK(metafuse_run_score(fused, 0, 2) == Approx(1.0 / 62));
  CHECK(metafuse_run_document(fused, 0, 3) == nullptr);
  CHECK(metafuse_run_query(fused, 1) == nullptr);
  metafuse_run_free(fused);
}

TEST_CASE("Results of equal score are ordered by best rank and then by first appearance", "[library]") {
  const char* first[] = {"z", "m"};
  const char* second[] = {"a", "b"};
  const metafuse_list lists[] = {{"first", first, nullptr, 2}, {"second", second, nullptr, 2}};
  metafuse_run* fused = nullptr;
  REQUIRE(metafuse_fuse_lists(lists, 2, "rrf", nullptr, 0, &fused) == METAFUSE_OK);
  CHECK(documents_of(fused, 0) == std::vector<std::string>{"z", "a", "m", "b"});
  metafuse_run_free(fused);
}

TEST_CASE("Methods that add scores use those of the lists", "[library]") {
  const char* first[] = {"a", "b"};
  const char* second[] = {"b", "c"};
  const double of_first[] = {3.0, 1.0};
  const double of_second[] = {10.0, 0.0};
  const metafuse_list lists[] = {{"first", first, of_first, 2}, {"second", second, of_second, 2}};
  const metafuse_option none[] = {{"normalise", "none"}, {"limit", "2"}};
  metafuse_run* fused = nullptr;
  REQUIRE(metafuse_fuse_lists(lists, 2, "combsum", none, 2, &fused) == METAFUSE_OK);
  CHECK(documents_of(fused, 0) == std::vector<std::string>{"b", "a"});
  CHECK(metafuse_run_score(fused, 0, 0) == 11.0);
  metafuse_run_free(fused);
  const metafuse_list bare[] = {{"first", first, nullptr, 2}};
  CHECK(metafuse_fuse_lists(bare, 1, "combsum", nullptr, 0, &fused) == METAFUSE_USAGE);
  CHECK(std::string(metafuse_last_error()).find("\"first\" has none") != std::string::npos);
  // a list that found nothing needs no scores
  const metafuse_list with_empty[] = {{"first", first, of_first, 2}, {"second", nullptr, nullptr, 0}};
  REQUIRE(metafuse_fuse_lists(with_empty, 2, "combsum", nullptr, 0, &fused) == METAFUSE_OK);
  CHECK(documents_of(fused, 0) == std::vector<std::string>{"a", "b"});
  metafuse_run_free(fused);
}

TEST_CASE("Runs are fused in the same order as by metafuse fuse", "[library]") {
  const LoadedRuns loaded;
  metafuse_run* fused = nullptr;
  for (const char* method : {"rrf", "combmnz", "condorcet"}) {
    REQUIRE(metafuse_fuse_runs(loaded.data(), 3, method, nullptr, nullptr, 0, &fused) == METAFUSE_OK);
    check_same_order(fused, test::run_metafuse(loaded.arguments({"fuse", "--method", method})).out);
    metafuse_run_free(fused);
  }
  const metafuse_option depth[] = {{"depth", "5"}};
  REQUIRE(metafuse_fuse_runs(loaded.data(), 3, "probfuse", loaded.qrels, depth, 1, &fused) == METAFUSE_OK);
  check_same_order(fused, test::run_metafuse(loaded.arguments({"fuse", "--method", "probfuse", "--depth", "5",
                                                               "--train", loaded.files.qrels}))
                              .out);
  metafuse_run_free(fused);
}

TEST_CASE("A model has the bytes of metafuse train and fuses like metafuse fuse", "[library]") {
  const LoadedRuns loaded;
  const std::string file = loaded.files.folder.path("model.json");
  REQUIRE(test::run_metafuse(loaded.arguments({"train", "--qrels", loaded.files.qrels, "--rounds", "15",
                                               "--model", file, "--derive", "rrf,lists"}))
              .status == 0);
  const metafuse_option options[] = {{"rounds", "15"}, {"derive", "rrf,lists"}};
  metafuse_model* model = nullptr;
  REQUIRE(metafuse_train(loaded.data(), 3, loaded.qrels, nullptr, "rankboost", options, 2, nullptr, nullptr,
                         &model) == METAFUSE_OK);
  char* text = nullptr;
  REQUIRE(metafuse_model_text(model, &text) == METAFUSE_OK);
  CHECK(taken(text) == *read_text(file, 1 << 20));
  CHECK(metafuse_model_list_count(model) == 3);
  CHECK(std::string(metafuse_model_list_name(model, 2)) == "c");
  metafuse_run* fused = nullptr;
  REQUIRE(metafuse_model_fuse_runs(model, loaded.data(), 3, nullptr, 0, &fused) == METAFUSE_OK);
  check_same_order(fused, test::run_metafuse(loaded.arguments({"fuse", "--model", file})).out);
  metafuse_run_free(fused);
  CHECK(metafuse_model_fuse_runs(model, loaded.data(), 2, nullptr, 0, &fused) == METAFUSE_BAD_DATA);
  CHECK(std::string(metafuse_last_error()).find("missing c") != std::string::npos);
  metafuse_model_free(model);
}

TEST_CASE("An evaluation equals that of metafuse evaluate", "[library]") {
  const LoadedRuns loaded;
  const auto printed = test::run_metafuse(
      loaded.arguments({"evaluate", "--qrels", loaded.files.qrels, "--format", "json", "--measures",
                        "map,P_5,ndcg_cut_10", "--compare", "a", "--per-query"}));
  REQUIRE(printed.status == 0);
  const metafuse_option options[] = {{"baseline", "a"}, {"per-query", "yes"}};
  char* report = nullptr;
  REQUIRE(metafuse_compare(loaded.data(), 3, loaded.qrels, "map,P_5,ndcg_cut_10", options, 2, &report) ==
          METAFUSE_OK);
  const std::string compared = taken(report);
  CHECK(compared == printed.out);
  metafuse_evaluation* evaluation = nullptr;
  REQUIRE(metafuse_evaluate(loaded.runs[0], loaded.qrels, "map,P_5", nullptr, 0, &evaluation) == METAFUSE_OK);
  CHECK(metafuse_evaluation_query_count(evaluation) == 12);
  CHECK(std::string(metafuse_evaluation_measure(evaluation, 1)) == "P_5");
  CHECK(std::isfinite(metafuse_evaluation_summary(evaluation)[0]));
  CHECK(metafuse_evaluation_measure(evaluation, 2) == nullptr);
  metafuse_evaluation_free(evaluation);
}

TEST_CASE("A mistake gives one sentence and creates nothing", "[library]") {
  const LoadedRuns loaded;
  metafuse_run* run = nullptr;
  metafuse_model* model = nullptr;
  const auto check_refused = [](int status, int wanted, const std::string& said) {
    INFO(metafuse_last_error());
    CHECK(status == wanted);
    CHECK(std::string(metafuse_last_error()).find(said) != std::string::npos);
  };
  check_refused(metafuse_run_read("/nowhere/a.run", &run), METAFUSE_NO_INPUT, "/nowhere/a.run");
  check_refused(metafuse_model_parse("{", &model), METAFUSE_BAD_DATA, "model:");
  check_refused(metafuse_fuse_runs(loaded.data(), 3, "rff", nullptr, nullptr, 0, &run), METAFUSE_USAGE,
                "did you mean rrf");
  const metafuse_option unknown[] = {{"lmit", "3"}};
  check_refused(metafuse_fuse_runs(loaded.data(), 3, "rrf", nullptr, unknown, 1, &run), METAFUSE_USAGE,
                "did you mean limit");
  const metafuse_option rounds[] = {{"rounds", "many"}};
  check_refused(metafuse_train(loaded.data(), 3, loaded.qrels, nullptr, "rankboost", rounds, 1, nullptr,
                               nullptr, &model),
                METAFUSE_USAGE, "rounds");
  check_refused(metafuse_fuse_runs(loaded.data(), 3, nullptr, nullptr, nullptr, 0, &run), METAFUSE_USAGE,
                "method is NULL");
  check_refused(metafuse_fuse_runs(nullptr, 3, "rrf", nullptr, nullptr, 0, &run), METAFUSE_USAGE,
                "runs is NULL");
  check_refused(metafuse_fuse_lists(nullptr, 0, "rrf", nullptr, 0, &run), METAFUSE_USAGE, "no list");
  check_refused(metafuse_fuse_runs(loaded.data(), 3, "probfuse", nullptr, nullptr, 0, &run), METAFUSE_USAGE,
                "learns from judgments");
  CHECK(run == nullptr);
  CHECK(model == nullptr);

  REQUIRE(metafuse_run_new("mine", &run) == METAFUSE_OK);
  const char* twice[] = {"a", "a"};
  const double infinite[] = {1.0, std::numeric_limits<double>::quiet_NaN()};
  const char* two[] = {"a", "b"};
  check_refused(metafuse_run_add(run, "q", twice, nullptr, 2), METAFUSE_BAD_DATA, "occurs twice");
  check_refused(metafuse_run_add(run, "q", two, infinite, 2), METAFUSE_BAD_DATA, "b is not finite");
  REQUIRE(metafuse_run_add(run, "q", two, nullptr, 2) == METAFUSE_OK);
  check_refused(metafuse_run_add(run, "q", two, nullptr, 2), METAFUSE_BAD_DATA, "already");
  CHECK(metafuse_run_query_count(run) == 1);
  // scores that later queries have do not make up for those that the first one lacks
  const double scores[] = {2.0, 1.0};
  REQUIRE(metafuse_run_add(run, "r", two, scores, 2) == METAFUSE_OK);
  metafuse_run* fused = nullptr;
  check_refused(metafuse_fuse_runs(&run, 1, "combsum", nullptr, nullptr, 0, &fused), METAFUSE_USAGE,
                "\"mine\" has none");
  metafuse_run_free(run);
}

TEST_CASE("A query for which a run found nothing lacks no scores", "[library]") {
  metafuse_run* run = nullptr;
  REQUIRE(metafuse_run_new("mine", &run) == METAFUSE_OK);
  const char* documents[] = {"a"};
  const double scores[] = {2.0};
  REQUIRE(metafuse_run_add(run, "q1", documents, scores, 1) == METAFUSE_OK);
  REQUIRE(metafuse_run_add(run, "q2", nullptr, nullptr, 0) == METAFUSE_OK);
  metafuse_run* fused = nullptr;
  REQUIRE(metafuse_fuse_runs(&run, 1, "combsum", nullptr, nullptr, 0, &fused) == METAFUSE_OK);
  CHECK(documents_of(fused, 0) == std::vector<std::string>{"a"});
  metafuse_run_free(fused);
  metafuse_run_free(run);
}

TEST_CASE("A run without a name is not written and a query is judged once", "[library]") {
  const LoadedRuns loaded;
  const char* queries[] = {"new", "q1"};
  const char* documents[] = {"a", "a"};
  const std::int32_t grades[] = {1, 1};
  CHECK(metafuse_qrels_add_rows(loaded.qrels, queries, documents, grades, 1) == METAFUSE_OK);
  CHECK(metafuse_qrels_add_rows(loaded.qrels, queries + 1, documents + 1, grades, 1) == METAFUSE_BAD_DATA);
  CHECK(std::string(metafuse_last_error()).find("q1 already has judgments") != std::string::npos);
  metafuse_run* run = nullptr;
  REQUIRE(metafuse_run_new("", &run) == METAFUSE_OK);
  CHECK(metafuse_run_write(run, loaded.files.folder.path("x.run").c_str()) == METAFUSE_BAD_DATA);
  metafuse_run_free(run);
}

TEST_CASE("Cross-validation caps ranks below the depth that lists count to", "[library]") {
  const LoadedRuns loaded;
  for (const auto& [depth, rank] : {std::pair{"7", "\"depth\":7"}, {"0", "\"depth\":30"}}) {
    const metafuse_option options[] = {{"depth", depth}, {"rounds", "2"}};
    char* json = nullptr;
    REQUIRE(metafuse_cross_validate(loaded.data(), 3, loaded.qrels, "rankboost", options, 2, nullptr, nullptr,
                                    &json) == METAFUSE_OK);
    CHECK(taken(json).find(rank) != std::string::npos);
  }
}

TEST_CASE("Rows of a table are sorted by score and rank and document and queries by id", "[library]") {
  const char* queries[] = {"q2", "q1", "q2", "q2", "q2"};
  const char* documents[] = {"low", "only", "tie-b", "tie-a", "high"};
  const double scores[] = {1, 5, 2, 2, 3};
  const std::int64_t ranks[] = {4, 1, 2, 2, 1};
  metafuse_run* run = nullptr;
  REQUIRE(metafuse_run_new("table", &run) == METAFUSE_OK);
  REQUIRE(metafuse_run_add_rows(run, queries, documents, scores, ranks, 5) == METAFUSE_OK);
  CHECK(std::string(metafuse_run_query(run, 0)) == "q1");
  CHECK(documents_of(run, 1) == std::vector<std::string>{"high", "tie-a", "tie-b", "low"});
  const test::TemporaryFolder folder;
  REQUIRE(metafuse_run_write(run, folder.path("t.run").c_str()) == METAFUSE_OK);
  metafuse_run* again = nullptr;
  REQUIRE(metafuse_run_read(folder.path("t.run").c_str(), &again) == METAFUSE_OK);
  CHECK(std::string(metafuse_run_name(again)) == "table");
  CHECK(documents_of(again, 1) == documents_of(run, 1));
  metafuse_run_free(again);
  metafuse_run_free(run);
}

TEST_CASE("A table with a mistake adds none of its rows", "[library]") {
  const char* queries[] = {"q1", "q2", "q2"};
  const char* wrong[] = {"d1", "d1", "d1"};
  const char* right[] = {"d1", "d1", "d2"};
  const double scores[] = {3, 2, 1};
  const std::int32_t grades[] = {1, 0, 1};
  metafuse_run* run = nullptr;
  metafuse_qrels* qrels = nullptr;
  REQUIRE(metafuse_run_new("table", &run) == METAFUSE_OK);
  REQUIRE(metafuse_qrels_new(&qrels) == METAFUSE_OK);
  CHECK(metafuse_run_add_rows(run, queries, wrong, scores, nullptr, 3) == METAFUSE_BAD_DATA);
  CHECK(metafuse_run_query_count(run) == 0);
  CHECK(metafuse_run_add_rows(run, queries, right, scores, nullptr, 3) == METAFUSE_OK);
  CHECK(metafuse_qrels_add_rows(qrels, queries, wrong, grades, 3) == METAFUSE_BAD_DATA);
  CHECK(metafuse_qrels_add_rows(qrels, queries, right, grades, 3) == METAFUSE_OK);
  metafuse_qrels_free(qrels);
  metafuse_run_free(run);
}

TEST_CASE("Training stops when its progress function requests it", "[library]") {
  const LoadedRuns loaded;
  metafuse_model* model = nullptr;
  int calls = 0;
  const auto stop = [](void* context, std::size_t, std::size_t) {
    ++*static_cast<int*>(context);
    return 1;
  };
  CHECK(metafuse_train(loaded.data(), 3, loaded.qrels, nullptr, "rankboost", nullptr, 0, stop, &calls,
                       &model) == METAFUSE_STOPPED);
  CHECK(calls == 1);
  CHECK(model == nullptr);
}

TEST_CASE("Threads can share handles and each has its own last error", "[library]") {
  const LoadedRuns loaded;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      const std::string name = "none" + std::to_string(number);
      for (int i = 0; i < 20; ++i) {
        metafuse_run* fused = nullptr;
        if (metafuse_fuse_runs(loaded.data(), 3, name.c_str(), nullptr, nullptr, 0, &fused) !=
                METAFUSE_USAGE ||
            std::string(metafuse_last_error()).find('"' + name + '"') == std::string::npos ||
            metafuse_fuse_runs(loaded.data(), 3, "rrf", nullptr, nullptr, 0, &fused) != METAFUSE_OK)
          ++failures;
        metafuse_run_free(fused);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
}
