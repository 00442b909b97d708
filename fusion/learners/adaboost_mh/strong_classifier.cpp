#include "fusion/learners/adaboost_mh/strong_classifier.h"

#include <algorithm>

namespace metafuse::fusion::adaboost_mh {

std::size_t BaseClassifier::leaf(const std::uint8_t* row) const {
  if (nodes.empty()) return 0;
  std::int32_t at = 0;
  do {
    const TreeNode& node = nodes[static_cast<std::size_t>(at)];
    at = node.cut.fires(row) ? node.above : node.below;
  } while (at >= 0);
  return static_cast<std::size_t>(~at);
}

double BaseClassifier::sign(const std::uint8_t* row) const {
  bool is_negative = false;
  for (const Cut& term : terms) is_negative ^= !term.fires(row);
  return is_negative ? -1.0 : 1.0;
}

std::vector<std::vector<double>> StrongClassifier::votes(const CodedRows& rows,
                                                         std::span<const std::size_t> counts) const {
  const std::size_t documents = rows.document_count();
  std::vector<std::vector<double>> result;
  std::vector<double> sums(documents * classes, 0.0);
  double alphas = 0.0;
  std::size_t done = 0;
  for (const std::size_t count : counts) {
    for (; done < std::min(count, rounds.size()); ++done) {
      const auto& [alpha, base] = rounds[done];
      alphas += alpha;
      for (std::size_t d = 0; d < documents; ++d) {
        const std::uint8_t* row = rows.row(d);
        const double weight = alpha * base.sign(row);
        const std::int8_t* vote = base.votes.data() + base.leaf(row) * classes;
        for (std::size_t l = 0; l < classes; ++l) sums[d * classes + l] += weight * vote[l];
      }
    }
    result.push_back(sums);
    if (alphas > 0.0)
      for (double& sum : result.back()) sum /= alphas;
  }
  return result;
}

}  // namespace metafuse::fusion::adaboost_mh
