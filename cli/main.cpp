#include "cli/allocator.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  using namespace metafuse::cli;
  return run_program({.name = "metafuse",
                      .meaning = "meta-search whose fusion is learned from judged queries",
                      .verbs = {add_init,  add_expand, add_templates,  add_engines,         add_config,
                                add_index, add_search, add_record,     add_judge,           add_train,
                                add_score, add_fuse,   add_evaluate,   add_compare_methods, add_crossvalidate,
                                add_lists, add_key,    add_mcp,        add_model,           add_serve,
                                add_store, add_doctor, add_completion, add_manual},
                      .learners = metafuse::fusion::product_learners(),
                      .is_server = true},
                     argc, argv);
}
