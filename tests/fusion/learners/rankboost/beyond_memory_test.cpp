// Training with columns in a file because they exceed the memory limit.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "tests/fusion/learners/rankboost/trained_model.h"

using namespace metafuse;
using test::has_mpi;
using test::mpi_processes;
using test::run_command;
using test::TemporaryFolder;
using test::trained_bytes;

namespace {

constexpr int kDocuments = 8'000;

/// 200 queries of 40 documents without ids and 30 features, most with many values: several parts of 40 MiB.
std::string lines_of_many_values() {
  Random random(23);
  std::string text;
  for (int i = 0; i < kDocuments; ++i) {
    const auto grade = random.below(3);
    text += std::to_string(grade) + " qid:" + std::to_string(i / 40);
    for (int j = 1; j <= 30; ++j) {
      const auto value = j < 4 ? random.below(12) + grade : random.below(900'000) + grade * 50'000;
      if (random.below(8) > 0) text += " " + std::to_string(j) + ":" + std::to_string(value);
    }
    text += "\n";
  }
  return text;
}

const std::vector<std::string> kFormsInFile = {
    "--rounds 30", "--rounds 12 --weak-learner 2.cum --q-default learn --absent unranked",
    "--rounds 12 --weak-learner 3 --alpha numeric --max-thresholds all --absent unranked"};

/// The names in a folder in ascending order.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("Training from columns in a file gives the same bytes as from memory", "[fusion][rankboost]") {
  const TemporaryFolder folder;
  folder.write("judged", lines_of_many_values());
  for (const std::string& form : kFormsInFile) {
    const std::string in_memory = trained_bytes(folder, "", form);
    CHECK(in_memory == trained_bytes(folder, "", form + " --threads 1 --memory-limit 40M"));
    CHECK(in_memory == trained_bytes(folder, "", form + " --threads 2 --memory-limit 40M --temporary /tmp"));
  }
  CHECK(names_in(folder.path()) == std::vector<std::string>{"judged", "model.json"});
}

TEST_CASE("Two ranks of MPI with columns in files give the bytes of one process",
          "[fusion][rankboost][mpi]") {
  if (!has_mpi()) return;
  const TemporaryFolder folder;
  folder.write("judged", lines_of_many_values());
  for (const std::string& form : {kFormsInFile[0], kFormsInFile[1]})
    CHECK(trained_bytes(folder, "", form) ==
          trained_bytes(folder, mpi_processes(2), form + " --memory-limit 40M"));
}

TEST_CASE("Killed training from a file of columns leaves no files and can be resumed",
          "[fusion][rankboost]") {
  const TemporaryFolder folder;
  folder.write("judged", lines_of_many_values());
  const std::string whole = trained_bytes(folder, "", "--rounds 40");
  const std::string checkpoint = folder.path("checkpoint");
  std::filesystem::remove(folder.path("model.json"));
  const auto killed = run_command(
      {"/bin/sh", "-c",
       METAFUSE_EXECUTABLE " train --learner rankboost --memory-limit 40M --rounds 10000000 --letor " +
           folder.path("judged") + " --model " + folder.path("model.json") +
           " --checkpoint-every 5 --checkpoint " + checkpoint + " & job=$!; while [ ! -s " + checkpoint +
           " ] && kill -0 $job; do sleep 0.02; done; kill -9 $job; wait $job"});
  CHECK(killed.status == 128 + 9);
  std::vector<std::string> left = names_in(folder.path());
  // the kill may have come between the naming of a whole checkpoint and its renaming
  std::erase_if(left, [](const std::string& name) { return name.starts_with("checkpoint."); });
  CHECK(left == std::vector<std::string>{"checkpoint", "judged"});
  CHECK(whole == trained_bytes(folder, "", "--rounds 40 --resume " + checkpoint));
  CHECK(whole == trained_bytes(folder, "", "--rounds 40 --memory-limit 40M --resume " + checkpoint));
}

TEST_CASE("A full disk ends training from a file of columns with one message and no files",
          "[fusion][rankboost]") {
  const TemporaryFolder folder;
  folder.write("judged", lines_of_many_values());
  const std::string command = METAFUSE_EXECUTABLE " train --letor " + folder.path("judged") + " --model " +
                              folder.path("model.json") + " --memory-limit 40M --learner ";
  const auto full = run_command({"/bin/sh", "-c", "ulimit -f 200; " + command + "rankboost"});
  INFO(full.err);
  CHECK(full.status == 75);
  CHECK(full.err.find("(a file of columns): cannot write: File too large") != std::string::npos);
  CHECK(std::count(full.err.begin(), full.err.end(), '\n') == 1);
  const auto nowhere =
      run_command({"/bin/sh", "-c", command + "rankboost --temporary " + folder.path("nowhere")});
  CHECK(nowhere.status == 66);
  CHECK(nowhere.err.find("nowhere: cannot write: No such file or directory") != std::string::npos);
  const auto other = run_command({"/bin/sh", "-c", command + "monotone-trees"});
  CHECK(other.status == 64);
  CHECK(other.err.find("monotone-trees needs all columns in memory") != std::string::npos);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"judged"});
}
