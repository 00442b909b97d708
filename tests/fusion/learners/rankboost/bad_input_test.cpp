// Runs `metafuse train` on bad or extreme input: each run must end with a clear error or a sound model.

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "tests/support/command.h"

using namespace metafuse;
using test::CommandResult;
using test::run_metafuse;
using test::TemporaryFolder;

namespace {

constexpr const char* kJudged =
    "0 qid:1 1:1 2:5 # a\n1 qid:1 1:2 2:4 # b\n0 qid:2 1:3 2:1 # c\n1 qid:2 1:2 2:1 # d\n";

/// Trains on a LETOR text; `more` are further options.
CommandResult train_on_bad_input(const TemporaryFolder& folder, const std::string& text,
                                 std::vector<std::string> more = {}) {
  std::vector<std::string> words{
      "train",   "--learner",         "rankboost", "--letor", folder.write("judged", text),
      "--model", folder.path("model")};
  words.insert(words.end(), more.begin(), more.end());
  return run_metafuse(words);
}

bool has_model(const TemporaryFolder& folder) {
  return read_text(folder.path("model"), std::size_t{1} << 30).has_value();
}

void check_refused(const CommandResult& done, int status, const std::string& said) {
  INFO(done.err);
  CHECK(done.status == status);
  CHECK(done.err.find(said) != std::string::npos);
}

void check_done(const CommandResult& done, const std::string& said) {
  INFO(done.err);
  CHECK(done.status == 0);
  CHECK(done.err.find(said) != std::string::npos);
}

}  // namespace

TEST_CASE("Input without a crucial pair is refused", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  check_refused(train_on_bad_input(folder, "1 qid:1 1:1\n1 qid:1 1:2\n"), 65, "no query has a crucial pair");
  check_refused(train_on_bad_input(folder, "1 qid:1 1:1\n0 qid:2 1:2\n"), 65, "no query has a crucial pair");
  CHECK_FALSE(has_model(folder));
}

TEST_CASE("Input without any feature is refused", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  const std::string judged = folder.write("judged", "1 qid:1\n0 qid:1\n");
  for (const std::string learner : {"auto", "monotone-trees", "rankboost", "reciprocal-ranks"})
    check_refused(
        run_metafuse({"train", "--learner", learner, "--letor", judged, "--model", folder.path("model")}), 65,
        "judged: no line has a feature; write each one as NUMBER:VALUE behind the qid");
  CHECK_FALSE(has_model(folder));
}

TEST_CASE("The different grades of all queries together are bounded by the memory that they take",
          "[fusion][rankboost]") {
  const TemporaryFolder folder;
  const auto query_of = [](const std::string& id, int grades) {
    std::string lines;
    for (int grade = 0; grade < grades; ++grade)
      lines += std::to_string(grade) + " qid:" + id + " 1:" + std::to_string(grade / 500) + "\n";
    return lines;
  };
  check_done(train_on_bad_input(folder, query_of("1", 1100) + query_of("2", 1100), {"--rounds", "1"}),
             "1 rounds");
  check_refused(train_on_bad_input(folder, query_of("1", 100) + query_of("2", 11'585)), 65,
                "query \"2\": with its 11585 different grades, the weights of all queries' pairs of grades "
                "take more than 1 GiB; round the grades");
}

TEST_CASE("Bags whose sample has no crucial pair have no vote", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  // one query of five has two grades: a third of the hundred samples (.8 to the fifth) does not contain it
  std::string judged = "0 qid:1 1:1\n1 qid:1 1:2\n";
  for (const std::string query : {"2", "3", "4", "5"}) judged += "1 qid:" + query + " 1:1\n";
  const auto bagged = [&](const std::string& text) {
    return run_metafuse({"train", "--learner", "rankboost-bagged", "--bags", "100", "--letor",
                         folder.write("judged", text), "--model", folder.path("model")});
  };
  check_refused(bagged("1 qid:1 1:1\n1 qid:2 1:2\n"), 65, "no query has a crucial pair");
  CHECK_FALSE(has_model(folder));
  const CommandResult done = bagged(judged);
  CHECK(done.status == 0);
  const std::size_t said = done.err.find(" bags of 5 queries");
  REQUIRE(said != std::string::npos);
  INFO(done.err);
  const std::size_t line = done.err.rfind('\n', said) + 1;
  const int voted = std::stoi(done.err.substr(said > 3 ? std::max(line, said - 3) : 0));
  CHECK(voted > 40);
  CHECK(voted < 95);
}

TEST_CASE("Numbers that are not finite are refused with their line", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  for (const std::string bad : {"inf", "-inf", "1e999", "nan", "Infinity", "0x", "1,5"})
    check_refused(train_on_bad_input(folder, "1 qid:1 1:0\n0 qid:1 1:" + bad + "\n"), 65, "judged:2: ");
  CHECK_FALSE(has_model(folder));
}

TEST_CASE("A constant feature and one that is unranked everywhere are never chosen", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  check_done(train_on_bad_input(folder, "1 qid:1 1:5 2:1\n0 qid:1 1:5 2:0\n"), "1 rounds");
  check_done(train_on_bad_input(folder, "1 qid:1 1:NULL 2:1\n0 qid:1 1:NULL 2:0\n"), "1 rounds");
  const auto none = train_on_bad_input(folder, "1 qid:1 1:5\n0 qid:1 1:5\n");
  check_done(none, "0 rounds");
}

TEST_CASE("Contradictory pairs are counted and bad pairs are refused with their line",
          "[fusion][rankboost]") {
  const TemporaryFolder folder;
  const auto with_pairs = [&](const std::string& pairs) {
    return train_on_bad_input(folder, kJudged, {"--pairs", folder.write("pairs", pairs)});
  };
  check_done(with_pairs("1 a b 1\n1 b a 2\n"), "2 pairs contradict other feedback");
  check_refused(with_pairs("# comment\n1 a zz 1\n"), 65, "pairs:2: the query \"1\" has no document \"zz\"");
  check_refused(with_pairs("9 a b 1\n"), 65, "pairs:1: the query \"9\" occurs in no list and no judgment");
  for (const std::string weight : {"-1", "0", "inf", "nan", "x"})
    check_refused(with_pairs("1 a b " + weight + "\n"), 65, "pairs:1: the weight");
  check_refused(with_pairs("1 a b\n"), 65, "pairs:1: a pair is");
  check_refused(with_pairs("1 a a 1\n"), 65, "pairs:1: a document cannot be ranked above itself");
}

TEST_CASE("Weights whose sum overflows are refused", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  check_refused(
      train_on_bad_input(folder, kJudged, {"--pairs", folder.write("pairs", "1 a b 1e308\n1 b a 1e308\n")}),
      65, "query \"1\": the weights of its pairs overflow");
  check_refused(
      train_on_bad_input(folder, kJudged, {"--pairs", folder.write("pairs", "1 a b 1e308\n2 c d 1e308\n")}),
      65, "the sum of all pairs' weights overflows");
  check_refused(train_on_bad_input(folder, "1 qid:1 1:1\n2000 qid:1 1:2\n", {"--grade-weights", "gain"}), 65,
                "query \"1\": the weights of its pairs");
  CHECK_FALSE(has_model(folder));
}

TEST_CASE("A pair of tiny weight does not make training fail", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  const std::string judged = "0 qid:1 1:1 2:1 # a\n0 qid:1 1:2 2:1 # b\n0 qid:1 1:2 2:2 # c\n";
  const std::string pairs = folder.write("pairs", "1 a b 1\n1 b a 1e-200\n1 b c 1e-200\n1 c b 1e-5\n");
  check_done(train_on_bad_input(folder, judged, {"--pairs", pairs, "--weak-learner", "2"}),
             "ranking loss 0, bounded by 2.00");
}

TEST_CASE("Weak learner 2 continues while its best candidate gains anything", "[fusion][rankboost]") {
  // Feature 1 orders as much weight correctly as wrongly. Feature 2 gains 1.6e-10, which is within 1e-9 of
  // the same Z, so the first of the two is taken.
  const TemporaryFolder folder;
  const std::string judged =
      "0 qid:1 1:1 2:0 # a\n0 qid:1 1:2 2:0 # b\n0 qid:1 1:0 2:1 # c\n0 qid:1 1:0 2:2 # d\n";
  const std::string pairs = folder.write("pairs", "1 a b 1\n1 b a 1\n1 c d 1.00005\n1 d c 1\n");
  check_done(train_on_bad_input(folder, judged, {"--pairs", pairs, "--weak-learner", "2", "--rounds", "3"}),
             "3 rounds");
}

TEST_CASE("Theorem 3 is shown only for binary weak rankings on one bipartite feedback",
          "[fusion][rankboost]") {
  const TemporaryFolder folder;
  const auto shown = [&](const std::string& judged, std::vector<std::string> more) {
    check_done(train_on_bad_input(folder, judged, std::move(more)), "rounds");
    return run_metafuse({"model", "show", folder.path("model")}).out;
  };
  const std::string one = "0 qid:1 1:1\n1 qid:1 1:2\n0 qid:1 1:3\n";
  CHECK(shown(one, {}).find("theorem 3 (Freund et al. 2003): |training error") != std::string::npos);
  CHECK(shown(one, {"--weak-ranking", "value"}).find("the weak rankings are not {0, 1}-valued") !=
        std::string::npos);
  CHECK(shown(kJudged, {}).find("theorem") == std::string::npos);
  CHECK(shown("0 qid:1 1:1\n1 qid:1 1:2\n2 qid:1 1:3\n", {}).find("theorem") == std::string::npos);
}

TEST_CASE("Resuming training that ended with a perfect weak ranking changes nothing", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  for (const std::string learner : {"2", "3", "2.cum", "3.cum"}) {
    const std::vector<std::string> form{"--weak-learner", learner};
    auto first = form;
    first.insert(first.end(), {"--checkpoint", folder.path("checkpoint"), "--checkpoint-every", "1"});
    check_done(train_on_bad_input(folder, "0 qid:1 1:1\n1 qid:1 1:2\n", first),
               "1 rounds (the last weak ranking");
    const auto whole = read_text(folder.path("model"), 1 << 20);
    auto again = form;
    again.insert(again.end(), {"--resume", folder.path("checkpoint")});
    check_done(train_on_bad_input(folder, "0 qid:1 1:1\n1 qid:1 1:2\n", again),
               "1 rounds (the last weak ranking");
    CHECK(*whole == *read_text(folder.path("model"), 1 << 20));
  }
}

TEST_CASE("A value ranking that orders every pair correctly ends training", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  const std::string judged = "0 qid:1 1:0\n1 qid:1 1:1\n1 qid:1 1:4\n";
  for (const std::string alpha : {"auto", "numeric"}) {
    const std::string trace = folder.path("trace");
    check_done(
        train_on_bad_input(folder, judged, {"--weak-ranking", "value", "--alpha", alpha, "--trace", trace}),
        "1 rounds (the last weak ranking");
    // r = (1/4 + 1) / 2; Z has no minimum, so both give 1/2 ln((1 + r) / (1 - r)) [6]
    CHECK(read_text(trace, 1 << 20)->find("\"alpha\":0.7331685343967135,\"r\":0.625") != std::string::npos);
  }
}

TEST_CASE("Measures where less is better keep their sign and ties are measured as by evaluate",
          "[fusion][rankboost]") {
  const TemporaryFolder folder;
  const std::string validation =
      folder.write("validation", "1 qid:1 1:2 # a\n0 qid:1 1:2 # b\n0 qid:1 1:1 # c\n");
  const auto stopped = [&](const std::string& metric) {
    return train_on_bad_input(folder, "0 qid:1 1:1 # a\n1 qid:1 1:2 # b\n",
                              {"--validate", validation, "--metric", metric});
  };
  check_done(stopped("ranking_loss"), "validation ranking_loss 0.25 after");
  CHECK(read_text(folder.path("model"), 1 << 20)->find("\"value\":0.25}") != std::string::npos);
  for (const std::string rounds : {"9", "0"})  // a and b tie in every round; before the first, c ties too
    check_done(train_on_bad_input(folder, "0 qid:1 1:1 # a\n1 qid:1 1:2 # b\n",
                                  {"--weak-ranking", "value", "--validate", validation, "--metric",
                                   "ranking_loss", "--rounds", rounds}),
               rounds == "9" ? "validation ranking_loss 0.25 after" : "validation ranking_loss 0.5 after");
  check_done(stopped("prot"), "validation prot 0.75 after");
  check_done(stopped("gm_map"), "validation gm_map 1 after");
  check_done(stopped("avg_rank_31"), "validation avg_rank_31 1 after");
}

TEST_CASE("Large feature numbers cost little and those above the limit are refused", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  check_done(train_on_bad_input(folder, "1 qid:1 1:1 65536:3\n0 qid:1 1:2\n"), "1 rounds");
  check_refused(train_on_bad_input(folder, "1 qid:1 1:1 65537:3\n0 qid:1 1:2\n"), 65,
                "judged:1: feature 65537, and training takes up to 65536; number the features anew");
}

TEST_CASE("Zero rounds give a model that ties all documents", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  check_done(train_on_bad_input(folder, kJudged, {"--rounds", "0"}), "0 rounds (all rounds done)");
  const auto scored =
      run_metafuse({"score", "--model", folder.path("model"), "--letor", folder.path("judged")});
  CHECK(scored.out == "0\n0\n0\n0\n");
}

TEST_CASE("A full disk ends training with status 75 and leaves no model", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  const std::string judged =
      "0 qid:1 1:1 2:5\n1 qid:1 1:2 2:4\n0 qid:2 1:1 2:1\n1 qid:2 1:2 2:3\n0 qid:2 1:4 2:2\n";
  check_refused(train_on_bad_input(folder, judged, {"--checkpoint", "/dev/full", "--checkpoint-every", "1"}),
                75, "No space left on device");
  CHECK_FALSE(has_model(folder));
  check_refused(run_metafuse({"train", "--letor", folder.path("judged"), "--model", "/dev/full"}), 75,
                "No space left on device");
  // A limit on file sizes is handled in the same way: 1 block is less than this checkpoint needs.
  const auto limited = test::run_command(
      {"/bin/sh", "-c",
       "ulimit -f 1; exec " METAFUSE_EXECUTABLE " train --weak-learner 3 --rounds 100 --letor " +
           folder.path("judged") + " --checkpoint-every 1 --checkpoint " + folder.path("checkpoint") +
           " --model " + folder.path("model")});
  check_refused(limited, 75, "raise the limit on the size of files");
  CHECK_FALSE(has_model(folder));
  check_done(
      train_on_bad_input(folder, judged, {"--weak-learner", "3", "--resume", folder.path("checkpoint")}),
      "100 rounds");
}

TEST_CASE("Resuming with other data or options is refused with what differs", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  const std::string judged =
      "0 qid:1 1:1 2:5\n1 qid:1 1:2 2:4\n0 qid:2 1:1 2:1\n1 qid:2 1:2 2:3\n0 qid:2 1:4 2:2\n";
  const std::string checkpoint = folder.path("checkpoint");
  check_done(train_on_bad_input(folder, judged,
                                {"--rounds", "4", "--checkpoint", checkpoint, "--checkpoint-every", "1"}),
             "rounds");
  check_done(train_on_bad_input(folder, judged, {"--rounds", "4", "--resume", checkpoint}), "rounds");
  check_refused(train_on_bad_input(folder, judged, {"--resume", checkpoint, "--q-default", "learn"}), 65,
                "--q-default");
  check_refused(train_on_bad_input(folder, judged + "1 qid:2 1:1 2:9\n", {"--resume", checkpoint}), 65,
                "documents");
  const std::vector<std::string> validated{"--validate", folder.path("judged"), "--checkpoint",
                                           checkpoint,   "--checkpoint-every",  "1"};
  check_done(train_on_bad_input(folder, judged, validated), "rounds");
  check_refused(train_on_bad_input(folder, judged, {"--resume", checkpoint}), 65,
                "--metric (\"map\" then, absent now)");
  check_refused(
      train_on_bad_input(folder, judged, {"--resume", folder.write("cut", "{\"format\":\"metafuse-ch")}), 65,
      "cut:1:");
  check_refused(train_on_bad_input(folder, judged, {"--resume", folder.path("none")}), 66, "none");
}

TEST_CASE("A checkpoint with an alpha that training does not choose is refused", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  const std::string judged =
      "0 qid:1 1:1 2:2\n1 qid:1 1:2 2:1\n0 qid:2 1:2 2:1\n1 qid:2 1:1 2:2\n1 qid:2 1:3 2:3\n";
  const std::string checkpoint = folder.path("checkpoint");
  check_done(train_on_bad_input(folder, judged,
                                {"--rounds", "1", "--checkpoint", checkpoint, "--checkpoint-every", "1"}),
             "1 rounds");
  const std::string text = *read_text(checkpoint, 1 << 20);
  const std::size_t rounds = text.find("\"rounds\":[");
  REQUIRE(rounds != std::string::npos);
  const auto resumed = [&](const std::string& list) {
    const std::string changed =
        folder.write("changed", text.substr(0, rounds) + "\"rounds\":[" + list + "]}\n");
    return train_on_bad_input(folder, judged, {"--rounds", "1", "--resume", changed});
  };
  check_done(resumed("[0,2,0,0.1,0,0,0]"), "1 rounds");
  check_refused(resumed("[0,2,0,1e5,0,0,0]"), 65, "changed: round 1 is damaged");
  for (const char* round : {"[0,2,0,-100,0,0,0]", "[0,2,0,-1,0,0,0]", "[0,1,0,500,0,0,0]"})
    check_refused(resumed(round), 65, "changed: round 1 is damaged: training chooses no such alpha");
}
