#include "fusion/learners/rankboost_plus/boost.h"

#include "core/contract.h"
#include "fusion/learners/rankboost_plus/plain_boost.h"
#include "fusion/learners/rankboost_plus/plus_boost.h"

namespace metafuse::fusion::rankboost_plus {

BoostRun boost_stumps(const StumpTable& stumps, const PairRows& pairs, const BoostOptions& options,
                      const RoundWatch& watch) {
  require(stumps.document_count() == pairs.document_count, "the table and the pairs are of one training set");
  require(options.form != Form::pair_free, "the pair-free form has a function of its own");
  if (stumps.stumps().empty()) {
    BoostRun nothing;
    nothing.stop_reason = "no weak ranking gains";
    return nothing;
  }
  if (options.form == Form::discrete || options.form == Form::continuous)
    return boost_plain(stumps, pairs, options, watch);
  return boost_plus(stumps, pairs, options, watch);
}

std::string_view form_name(Form form) {
  switch (form) {
    case Form::discrete:
      return "Rb-d";
    case Form::continuous:
      return "Rb-c";
    case Form::plus_efficient:
      return "RankBoost+";
    case Form::plus_optimal:
      return "RankBoost+ (optimal)";
    case Form::pair_free:
      break;
  }
  return "RankBoost+ (pair-free)";
}

}  // namespace metafuse::fusion::rankboost_plus
