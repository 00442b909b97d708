#include <algorithm>

#include "fusion/unsupervised/methods.h"

// Condorcet fusion: sort the documents by the majority of the lists, each list preferring what it ranks
// higher and any ranked document over an unranked one (Montague, Aslam 2002; with list weights: weighted
// Condorcet). The majority is not transitive, so the answer of a sort depends on where it starts: this one
// starts from the Borda order and merges stably, which makes it the same for every order of the input. cost:
// O(documents log documents x lists)
namespace metafuse::fusion::methods {
namespace {

/// Ranks document by document, unranked as a number behind all others: one comparison reads two short rows.
class Majority {
 public:
  Majority(const QueryLists& query, const FusionOptions& options)
      : lists_(query.lists.size()), ranks_(lists_ * query.size(), kUnranked) {
    for (std::size_t list = 0; list < lists_; ++list) {
      weights_.push_back(options.weight(list));
      for (std::size_t i = 0; i < query.lists[list].size(); ++i)
        ranks_[query.lists[list][i].document * lists_ + list] = static_cast<std::int32_t>(i);
    }
    is_weighted_ = !options.weights.empty();
  }

  bool prefers(std::uint32_t a, std::uint32_t b) const {
    const std::int32_t* x = ranks_.data() + a * lists_;
    const std::int32_t* y = ranks_.data() + b * lists_;
    if (is_weighted_) {
      double votes = 0.0;
      for (std::size_t i = 0; i < lists_; ++i)
        votes += x[i] < y[i] ? weights_[i] : x[i] > y[i] ? -weights_[i] : 0.0;
      return votes > 1e-12;
    }
    int votes = 0;
    for (std::size_t i = 0; i < lists_; ++i)
      votes += static_cast<int>(x[i] < y[i]) - static_cast<int>(x[i] > y[i]);
    return votes > 0;
  }

 private:
  static constexpr std::int32_t kUnranked = 0x7fffffff;
  std::size_t lists_;
  std::vector<std::int32_t> ranks_;
  std::vector<double> weights_;
  bool is_weighted_ = false;
};

/// Bottom-up merge sort that is safe for a relation that is not transitive.
void merge_sort(std::vector<std::uint32_t>& order, const Majority& majority) {
  std::vector<std::uint32_t> merged(order.size());
  for (std::size_t width = 1; width < order.size(); width *= 2) {
    for (std::size_t begin = 0; begin < order.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, order.size());
      const std::size_t end = std::min(begin + 2 * width, order.size());
      std::size_t i = begin;
      std::size_t j = middle;
      for (std::size_t out = begin; out < end; ++out) {
        const bool takes_right = j < end && (i >= middle || majority.prefers(order[j], order[i]));
        merged[out] = takes_right ? order[j++] : order[i++];
      }
    }
    order.swap(merged);
  }
}

}  // namespace

void condorcet(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  Scores start(query.size(), 0.0);
  borda(query, options, 0.0, start);
  std::vector<std::uint32_t> order = fused_order(query, start);
  merge_sort(order, Majority(query, options));
  for (std::size_t i = 0; i < order.size(); ++i) scores[order[i]] = -static_cast<double>(i);
}

}  // namespace metafuse::fusion::methods
