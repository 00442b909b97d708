#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/learners/adaboost_mh/pool.h"
#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::adaboost_mh {

/// A calibrated ensemble as a ranker: the weighted mean [6] of its members' scores, in about [0, 1].
/// Body: {"grades","cuts","sources":[{"name","rounds"} or {"name","body","low","high"}...],
///        "members":[{"source","weight","quality","calibration",...}...]}
class EnsembleRanker : public Ranker {
 public:
  EnsembleRanker(std::vector<double> grades, CutTable table, std::vector<Source> sources,
                 std::vector<Member> members);

  const std::vector<Member>& members() const { return members_; }

  std::vector<double> score(const FeatureMatrix& documents) const override;
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override;
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  std::vector<double> grades_;
  std::vector<double> gains_;
  CutTable table_;
  std::vector<Source> sources_;
  std::vector<Member> members_;
};

/// in:     others - the learners that may be members
/// errors: bad_data, naming the field; those of the nested learners
Result<std::shared_ptr<const Ranker>> read_ensemble(const JsonObject& body,
                                                    const std::vector<Feature>& features,
                                                    std::span<const Learner> others);

}  // namespace metafuse::fusion::adaboost_mh
