#include "cli/allocator.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  using namespace metafuse::cli;
  return run_program(
      {.name = "metafuse",
       .meaning = "meta-search whose fusion is learned from judged queries",
       .verbs = {{"Set up",
                  {add_init, add_index, add_engines, add_templates, add_config, add_key, add_doctor,
                   add_completion, add_manual}},
                 {"Search", {add_serve, add_search, add_mcp, add_expand}},
                 {"Learn", {add_judge, add_record, add_train, add_model, add_store}},
                 {"Fuse and measure runs",
                  {add_fuse, add_score, add_evaluate, add_compare_methods, add_crossvalidate, add_lists}}},
       .learners = metafuse::fusion::product_learners(),
       .is_server = true},
      argc, argv);
}
