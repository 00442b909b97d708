#include "fusion/learners/monotone_trees/boost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fusion/learners/monotone_trees/grow.h"
#include "fusion/learners/monotone_trees/pair_sampler.h"

namespace metafuse::fusion::monotone_trees {
namespace {

/// A share of {0, ..., count - 1}, at least one of it, ascending.
template <class Number>
std::vector<Number> sample(std::size_t count, double share, Random& random) {
  std::vector<Number> all(count);
  std::iota(all.begin(), all.end(), Number{0});
  if (share >= 1.0) return all;
  random.shuffle(all);
  const auto kept = static_cast<std::size_t>(std::ceil(share * static_cast<double>(count)));
  all.resize(std::max<std::size_t>(1, kept));
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

std::vector<Tree> boost_trees(const CodedFeatures& features, std::span<const FeatureKind> kinds,
                              const rankboost::Feedback& feedback, const BoostOptions& options,
                              Random random) {
  const auto queries = sample<std::size_t>(feedback.queries.size(), options.queries, random);
  const PairSampler sampler(feedback, queries);
  const GrowData data(features, kinds, sampler.rows());
  const std::size_t documents = data.document_count();
  std::vector<double> scores(documents, 0.0);
  std::vector<double> steps(documents, 0.0);
  std::vector<Push> pushes(documents);
  std::vector<Tree> trees;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    sampler.draw(random, scores, pushes);
    const auto askable = sample<std::uint32_t>(features.feature_count(), options.features, random);
    Tree tree = grow_tree({data, pushes, askable, options.depth}, steps);
    for (TreeNode& node : tree) node.value *= options.rate;
    for (std::size_t i = 0; i < documents; ++i) scores[i] += options.rate * steps[i];
    trees.push_back(std::move(tree));
  }
  return trees;
}

}  // namespace metafuse::fusion::monotone_trees
