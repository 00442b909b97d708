#include "cli/allocator.h"
#include "cli/verbs.h"
#include "lab/program/verbs.h"
#include "lab/registry.h"

int main(int argc, char** argv) {
  using namespace metafuse::cli;
  return run_program(
      {.name = "metafuse-lab",
       .meaning = "the laboratory of metafuse: all learners, and the experiments of papers",
       .verbs = {{"Learn", {add_train, metafuse::lab::add_stream, metafuse::lab::add_experiment, add_model}},
                 {"Fuse and measure runs",
                  {add_fuse, add_score, add_evaluate, add_compare_methods, add_crossvalidate, add_lists}},
                 {"Set up", {add_completion, add_manual}}},
       .learners = metafuse::lab::learners()},
      argc, argv);
}
