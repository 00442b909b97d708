#include <catch2/catch.hpp>
#include <metafuse/evaluate.h>
#include <metafuse/methods.h>
#include <metafuse/train.h>

#include "tests/library/judged_runs.h"

namespace {

using LibraryRun = metafuse::Run;

std::vector<LibraryRun> read_all(const metafuse::test::JudgedRunFiles& files) {
  std::vector<LibraryRun> runs;
  for (const std::string& file : files.runs) runs.push_back(LibraryRun::read(file));
  return runs;
}

}  // namespace

TEST_CASE("The C++ headers train and save and load and fuse to the same ranking", "[library][cpp]") {
  const metafuse::test::JudgedRunFiles files;
  const auto runs = read_all(files);
  const auto qrels = metafuse::Qrels::read(files.qrels);
  std::size_t last = 0;
  const auto model = metafuse::train(runs, qrels, "rankboost", {{"rounds", "10"}}, nullptr,
                                     [&](std::size_t done, std::size_t) {
                                       last = done;
                                       return true;
                                     });
  CHECK(last > 0);
  model.save(files.folder.path("m.json"));
  const auto loaded = metafuse::Model::load(files.folder.path("m.json"));
  CHECK(loaded.text() == model.text());
  CHECK(loaded.learner() == "rankboost");
  CHECK(loaded.lists() == std::vector<std::string>{"a", "b", "c"});
  const auto fused = loaded.fuse(runs);
  CHECK(fused.query_count() == 12);
  const auto better = metafuse::evaluate(fused, qrels, "map").summary(0);
  CHECK(better > metafuse::evaluate(runs[0], qrels, "map").summary(0));
  CHECK(metafuse::cross_validate(runs, qrels, "rankboost", {{"rounds", "5"}, {"folds", "3"}}).front() == '{');
  CHECK(metafuse::cross_validate(runs, qrels, "auto", {{"metric", "P_1"}, {"folds", "3"}}).front() == '{');
  for (const char* none : {"none", ""})
    CHECK(metafuse::compare_methods(runs, qrels, "map", {{"methods", "rrf,combmnz"}, {"learners", none}})
              .find("combmnz") != std::string::npos);
}

TEST_CASE("A list unknown to the model is refused and a missing one counts as unranked", "[library][cpp]") {
  const metafuse::test::JudgedRunFiles files;
  const auto qrels = metafuse::Qrels::read(files.qrels);
  const auto model = metafuse::train(read_all(files), qrels, "rankboost", {{"rounds", "10"}});
  CHECK(model.fuse({{"a", {"x", "y"}, {}}}).size() == 2);
  const std::string why = model.explain({{"a", {"x", "y"}, {}}}, "y");
  CHECK(why.find("\"rank\":2") != std::string::npos);
  try {
    model.fuse({{"other", {"x"}, {}}});
    FAIL("fused by an unknown list");
  } catch (const metafuse::Error& error) {
    CHECK(error.status() == METAFUSE_BAD_DATA);
    CHECK(std::string(error.what()).find("not in the model other") != std::string::npos);
  }
}

TEST_CASE("The tables list methods and learners and measures", "[library][cpp]") {
  CHECK(metafuse::methods().front().name.size() > 1);
  CHECK(metafuse::describe("learners").find("\"rankboost\"") != std::string::npos);
  CHECK(metafuse::describe("measures").find("\"ndcg_cut\"") != std::string::npos);
  CHECK_THROWS_AS(metafuse::describe("engines"), metafuse::Error);
  CHECK_THROWS_AS(metafuse::fuse({{"a", {"x"}, {1.0, 2.0}}}), metafuse::Error);
}
