#include <cstdlib>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "tests/support/data_folder.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;

// The outputs of trec_eval's own tests, byte for byte. (out.comment.test needs an input that the folder
// does not have.)
TEST_CASE("The known answers of trec_eval are reproduced byte for byte", "[evaluation][trec_eval]") {
  const auto folder =
      test::data_folder("trec_eval-known-answers", "the folder test/ of github.com/usnistgov/trec_eval");
  if (!folder) return;
  const auto [arguments, want] = GENERATE(table<std::string, std::string>({
      {"--qrels qrels.test --runs results.test", "out.test"},
      {"--qrels qrels.test.with-comments --runs results.test", "out.test"},
      {"--qrels qrels.test --runs results.test -m all_trec", "out.test.a"},
      {"--qrels qrels.test --runs results.test -m all_trec -q", "out.test.aq"},
      {"--qrels qrels.test --runs results.trunc -m all_trec -q -c", "out.test.aqc"},
      {"--qrels qrels.test --runs results.trunc -m all_trec -q -c -M 100", "out.test.aqcM"},
      {"--qrels qrels.rel_level --runs results.test -m all_trec,relstring.20 -q -l 2", "out.test.aql"},
      {"--qrels qrels.test --runs results.test -m all_trec -q -Z zscores_file", "out.test.aqZ"},
      {"--qrels qrels.123 --runs results.test -q --judgment-groups", "out.test.qrels_jg"},
      {"--qrels qrels.test --runs results.test -q -m "
       "iprec_at_recall..10,.20,.25,.75,.50,P.5,7,3,recall.20,2000,"
       "Rprec_mult.5.0,0.2,0.35,utility.2,-1,0,0,11pt_avg..25,.5,.75,ndcg.1=3,2=9,4=4.5,ndcg_cut.10,20,23,"
       "success.2,5,20",
       "out.test.meas_params"},
  }));
  const test::TemporaryFolder output;
  const std::string command = "cd " + *folder + " && " + METAFUSE_EXECUTABLE +
                              " evaluate --format trec_eval --output " + output.path("out") + " " + arguments;
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(*read_text(output.path("out"), 1 << 20) == *read_text(*folder + "/" + want, 1 << 20));
}
