// The bytes of a model must not depend on the processor's instructions, threads or MPI ranks.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "tests/fusion/learners/rankboost/trained_model.h"

using namespace metafuse;
using test::content;
using test::has_mpi;
using test::mpi_processes;
using test::run_command;
using test::TemporaryFolder;
using test::trained_bytes;

namespace {

/// 60 queries of 30 documents, grades 0 to 2, five features, some cells missing.
std::string judged_lines() {
  Random random(17);
  std::string text;
  for (int i = 0; i < 1800; ++i) {
    const auto grade = random.below(3);
    text += std::to_string(grade) + " qid:" + std::to_string(i / 30);
    for (int j = 1; j <= 5; ++j)
      if (random.below(5) > 0)
        text += " " + std::to_string(j) + ":" + std::to_string(grade + random.below(12));
    text += " # d" + std::to_string(i) + "\n";
  }
  return text;
}

const std::vector<std::string> kSameByteForms = {
    "--absent unranked --rounds 60 --weak-learner 3.cum",
    "--absent unranked --rounds 60 --weak-learner 2.cum --q-default learn",
    "--absent unranked --rounds 60 --weak-learner 3 --alpha numeric",
    "--absent unranked --rounds 60 --weak-learner 2 --feedback bipartite",
    "--absent unranked --rounds 60 --weak-ranking value --q-default 1",
    "--absent unranked --rounds 60 --grade-weights gain --query-weights equal"};

}  // namespace

TEST_CASE("A model has the same bytes whichever instructions the C library uses", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  folder.write("judged", judged_lines());
  const std::string lean = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F,-AVX512VL";
  for (const std::string& form : kSameByteForms)
    CHECK(trained_bytes(folder, "", form) == trained_bytes(folder, lean, form));
}

TEST_CASE("A model has the same bytes for 1 to 3 threads", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  folder.write("judged", judged_lines());
  for (const std::string& form : kSameByteForms) {
    const std::string alone = trained_bytes(folder, "", form + " --threads 1");
    CHECK(alone == trained_bytes(folder, "", form + " --threads 2"));
    CHECK(alone == trained_bytes(folder, "", form + " --threads 3"));
  }
}

TEST_CASE("A model has the same bytes from 1 and 2 and 4 ranks of MPI", "[fusion][rankboost][mpi]") {
  if (!has_mpi()) return;
  const TemporaryFolder folder;
  folder.write("judged", judged_lines());
  for (const std::string& form : {kSameByteForms[0], kSameByteForms[1], kSameByteForms[2]}) {
    const std::string alone = trained_bytes(folder, "", form);
    CHECK(alone == trained_bytes(folder, mpi_processes(2), form));
    CHECK(alone == trained_bytes(folder, mpi_processes(4), form));
  }
}

TEST_CASE("A rank without MPI reports an error instead of training alone", "[fusion][rankboost][mpi]") {
  const TemporaryFolder folder;
  folder.write("judged", judged_lines());
  std::filesystem::copy_file(METAFUSE_EXECUTABLE, folder.path("metafuse"));
  const auto done = run_command({"/bin/sh", "-c",
                                 "OMPI_COMM_WORLD_SIZE=2 " + folder.path("metafuse") + " train --letor " +
                                     folder.path("judged") + " --model " + folder.path("never.json")});
  CHECK(done.status == 69);
  CHECK(done.err.find("metafuse_mpi.so") != std::string::npos);
  CHECK(content(folder.path("never.json")).starts_with("cannot be read"));
}

TEST_CASE("MPI ranks can read files with scattered queries and compressed files",
          "[fusion][rankboost][mpi]") {
  if (!has_mpi()) return;
  const TemporaryFolder folder;
  const std::string together = judged_lines();
  std::string apart;  // every seventh line, in seven passes
  for (std::size_t first = 0; first < 7; ++first) {
    std::size_t number = 0;
    for (std::size_t at = 0; at < together.size(); ++number) {
      const std::size_t end = together.find('\n', at) + 1;
      if (number % 7 == first) apart += together.substr(at, end - at);
      at = end;
    }
  }
  folder.write("judged", together);
  const std::string alone = trained_bytes(folder, "", kSameByteForms[0]);
  folder.write("judged", apart);
  CHECK(alone == trained_bytes(folder, mpi_processes(2), kSameByteForms[0]));
  const std::string path = folder.path("judged");
  REQUIRE(std::system(("gzip -f " + path + " && mv " + path + ".gz " + path).c_str()) == 0);
  CHECK(alone == trained_bytes(folder, mpi_processes(2), kSameByteForms[0]));
}

TEST_CASE("MPI ranks refuse the same input as one process and input that is read only once",
          "[fusion][rankboost][mpi]") {
  if (!has_mpi()) return;
  const TemporaryFolder folder;
  folder.write("judged", judged_lines());
  const auto refused = [&](const std::string& options) {
    return run_command({"/bin/sh", "-c",
                        mpi_processes(2) + " " METAFUSE_EXECUTABLE " train --learner rankboost --model " +
                            folder.path("never.json") + " " + options + " < /dev/null"})
        .err;
  };
  const std::string letor = "--letor " + folder.path("judged");
  const std::string pairs = folder.write("pairs", "# none\n0 d0 d1 1\n77 d0 d1 1\n");
  CHECK(refused(letor + " --pairs " + pairs).find("pairs:3: the query occurs in no list and no judgment") !=
        std::string::npos);
  CHECK(refused("--letor -").find("-: several processes cannot share input that can be read only once") !=
        std::string::npos);
  CHECK(refused("--store x --domain d").find("--store cannot be read by several processes") !=
        std::string::npos);
  // Line numbers in the second rank's part are counted from the beginning of the file.
  std::string bad = judged_lines();
  bad += "1 qid:99 1:inf\n";
  folder.write("judged", bad);
  CHECK(refused(letor).find("judged:1801: ") != std::string::npos);
}

TEST_CASE("A job with a killed rank ends and its resumed checkpoint gives the same bytes",
          "[fusion][rankboost][mpi]") {
  if (!has_mpi()) return;
  const TemporaryFolder folder;
  folder.write("judged", judged_lines());
  const std::string whole = trained_bytes(folder, "", "--absent unranked --rounds 400");
  // The second rank kills itself as soon as the first checkpoint exists.
  const std::string checkpoint = folder.path("checkpoint");
  const std::string train = std::string(METAFUSE_EXECUTABLE) + " train --letor " + folder.path("judged") +
                            " --absent unranked --rounds 10000000 --checkpoint-every 5 --checkpoint " +
                            checkpoint + " --model " + folder.path("never.json");
  folder.write("rank.sh", "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then\n  " + train +
                              " & job=$!\n  while [ ! -s " + checkpoint +
                              " ]; do sleep 0.02; done\n  kill -9 $job; wait $job\nelse\n  exec " + train +
                              "\nfi\n");
  const auto killed = run_command(
      {"/bin/sh", "-c", "timeout 120 env " + mpi_processes(2) + " /bin/sh " + folder.path("rank.sh")});
  INFO(killed.err);
  CHECK(killed.status != 0);
  CHECK(killed.status != 124);  // it ended by itself
  CHECK(content(folder.path("never.json")).starts_with("cannot be read"));
  CHECK(whole ==
        trained_bytes(folder, mpi_processes(2), "--absent unranked --rounds 400 --resume " + checkpoint));
  CHECK(whole == trained_bytes(folder, "", "--absent unranked --rounds 400 --resume " + checkpoint));
}
