#include "fusion/rankboost/learner.h"

#include "fusion/weak_ranking.h"

namespace metafuse::fusion::rankboost {

Learner learner() {
  Learner row;
  row.name = "rankboost";
  row.meaning = "a sum of thresholded ranking features, chosen round by round on the crucial pairs";
  row.source = "Freund, Iyer, Schapire, Singer 2003, sec. 3 and 4";
  row.read = read_step_ranker;
  return row;
}

}  // namespace metafuse::fusion::rankboost
