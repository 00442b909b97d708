#include "fusion/input/training_input.h"

#include <malloc.h>

#include "fusion/input/letor_input.h"
#include "fusion/input/pair_file.h"
#include "fusion/input/run_input.h"

namespace metafuse::fusion {

Result<TrainingSet> read_training_set(const TrainingInput& input, TrainingInputReport* report) {
  TrainingInputReport own;
  TrainingInputReport& told = report != nullptr ? *report : own;
  const int kinds = int(!input.runs.empty()) + int(!input.letor.empty()) + int(!input.letor_ranks.empty());
  if (kinds != 1)
    return fail(Code::usage,
                "one input is needed: --runs RUN... --qrels FILE, --letor FILE... or --letor-ranks FILE...");
  auto set = input.runs.empty() ? read_from_letor(input, told) : read_from_runs(input, told);
  if (!set) return set;
  TRY_VOID(apply_query_weights(input.query_weights, *set));
  // What reading freed lies between what it kept: given back, so that training does not come on top of it.
  ::malloc_trim(0);
  if (!input.pairs.empty()) TRY_VOID(read_pairs(input.pairs, input.communicator, *set));
  return set;
}

}  // namespace metafuse::fusion
