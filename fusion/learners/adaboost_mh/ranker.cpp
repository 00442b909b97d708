#include "fusion/learners/adaboost_mh/ranker.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "fusion/learners/adaboost_mh/classifier_file.h"
#include "fusion/learners/adaboost_mh/sigmoid.h"
#include "fusion/learners/online/state_fields.h"

namespace metafuse::fusion::adaboost_mh {

std::vector<double> gains_of(const std::vector<double>& grades) {
  std::vector<double> gains;
  for (const double grade : grades) gains.push_back(std::max(0.0, std::exp2(grade) - 1.0));
  return gains;
}

std::vector<double> posterior_scores(std::span<const double> votes, std::span<const double> gains) {
  const std::size_t k = gains.size();
  std::vector<double> posterior(k);
  std::vector<double> scores(votes.size() / k);
  for (std::size_t d = 0; d < scores.size(); ++d) {
    standard_posterior(votes.subspan(d * k, k), posterior);
    scores[d] = bayes_score(posterior, gains);
  }
  return scores;
}

std::vector<double> MhRanker::score(const FeatureMatrix& documents) const {
  const CodedRows rows(documents, table_);
  const std::vector<std::size_t> all = {classifier_.rounds.size()};
  return posterior_scores(classifier_.votes(rows, all)[0], gains_of(grades_));
}

std::vector<double> MhRanker::contributions(const FeatureMatrix&, std::size_t) const {
  return {};
}

JsonObject MhRanker::body() const {
  return JsonObject{
      {"grades", to_array(grades_)}, {"cuts", to_json(table_)}, {"rounds", to_json(classifier_)}};
}

std::string MhRanker::describe(const std::vector<Feature>& features) const {
  std::map<std::uint32_t, double> uses;
  for (const auto& [alpha, base] : classifier_.rounds) {
    for (const Cut& cut : base.terms) uses[cut.feature] += alpha;
    for (const TreeNode& node : base.nodes) uses[node.cut.feature] += alpha;
  }
  std::ostringstream text;
  text << "AdaBoost.MH of " << classifier_.rounds.size() << " rounds over grades";
  for (const double grade : grades_) text << ' ' << grade;
  text << "\nsum of alpha over the cuts of each feature:\n";
  std::vector<std::pair<double, std::uint32_t>> order;
  for (const auto& [feature, alpha] : uses) order.emplace_back(-alpha, feature);
  std::sort(order.begin(), order.end());
  for (const auto& [alpha, feature] : order) text << features[feature].name << '\t' << -alpha << '\n';
  return text.str();
}

Result<std::shared_ptr<const Ranker>> read_ranker(const JsonObject& body,
                                                  const std::vector<Feature>& features) {
  TRY(auto graded, read_graded_cuts(body, features.size()));
  StateFields fields(body);
  const JsonArray* rounds = fields.array("rounds");
  if (fields.failed()) return fields.error();
  TRY(auto classifier, read_classifier(*rounds, graded.grades.size(), graded.table));
  return std::shared_ptr<const Ranker>(
      std::make_shared<MhRanker>(std::move(graded.grades), std::move(graded.table), std::move(classifier)));
}

}  // namespace metafuse::fusion::adaboost_mh
