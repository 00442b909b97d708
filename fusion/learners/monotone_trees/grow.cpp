#include "fusion/learners/monotone_trees/grow.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>

#include "fusion/data/thresholds.h"

namespace metafuse::fusion::monotone_trees {
namespace {

/// Curvature added to that of a node, as a share of the whole tree's: keeps nearly empty leaves from jumping.
constexpr double kCalm = 1e-4;

/// The pairs of all queries weigh 1 together, so that a gain below this is rounding.
constexpr double kLeastGain = 1e-14;

struct Bounds {
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
};

struct Question {
  double gain = 0.0;
  std::uint32_t feature = TreeNode::kLeaf;
  std::uint32_t code = 0;  // "yes" from this code on
  double below = 0.0;
  double above = 0.0;
};

using Sums = std::array<Push, 256>;  // a code

class Grower {
 public:
  Grower(const GrowInput& input, std::span<double> steps)
      : in_(input), steps_(steps), order_(input.pushes.size()) {
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    calm_ = kCalm * total(0, order_.size()).curvature;
  }

  Tree run() {
    tree_.emplace_back();
    grow(0, 0, order_.size(), in_.depth, {});
    return std::move(tree_);
  }

 private:
  Push total(std::size_t begin, std::size_t end) const {
    Push sum;
    for (std::size_t i = begin; i < end; ++i) add(in_.pushes[order_[i]], sum);
    return sum;
  }

  static void add(const Push& push, Push& sum) {
    sum.potential += push.potential;
    sum.curvature += push.curvature;
  }

  double best_value(const Push& push, const Bounds& bounds) const {
    return std::clamp(push.potential / (push.curvature + calm_), bounds.lowest, bounds.highest);
  }

  /// How much a step lowers twice the loss, to second order.
  double gain_of(const Push& push, double value) const {
    return 2.0 * push.potential * value - (push.curvature + calm_) * value * value;
  }

  /// Documents order_[begin, end) stand at node `at`, whose value is set.
  void grow(std::size_t at, std::size_t begin, std::size_t end, std::size_t depth, const Bounds& bounds) {
    const Question best = depth == 0 ? Question{} : best_question(begin, end, tree_[at].value, bounds);
    if (best.feature == TreeNode::kLeaf) {
      for (std::size_t i = begin; i < end; ++i) steps_[order_[i]] = tree_[at].value;
      return;
    }
    const std::size_t middle = part(begin, end, best);
    const auto below = static_cast<std::uint32_t>(tree_.size());
    tree_.resize(tree_.size() + 2);
    tree_[at] = {best.feature, in_.data.threshold(best.feature, best.code), below, below + 1,
                 tree_[at].value};
    tree_[below].value = best.below;
    tree_[below + 1].value = best.above;
    const double between = 0.5 * (best.below + best.above);
    grow(below, begin, middle, depth - 1, {bounds.lowest, between});
    grow(below + 1, middle, end, depth - 1, {between, bounds.highest});
  }

  /// Puts the documents of "no" before those of "yes". out: where "yes" begins
  std::size_t part(std::size_t begin, std::size_t end, const Question& question) {
    const std::vector<std::uint8_t>& codes = in_.data.codes(question.feature);
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = order_.begin() + static_cast<std::ptrdiff_t>(end);
    const auto middle =
        std::stable_partition(first, last, [&](std::uint32_t i) { return codes[i] < question.code; });
    return static_cast<std::size_t>(middle - order_.begin());
  }

  /// What pushes the documents of each code. Neighbours are added to different sums, since many have the same
  /// code and an addition would wait for the one before.
  void add_up(std::size_t begin, std::size_t end, std::uint32_t feature, Sums& sums) const {
    const std::size_t count = in_.data.most(feature) + 1;
    const std::uint8_t* codes = in_.data.codes(feature).data();
    Sums odd;
    std::fill_n(sums.begin(), count, Push{});
    std::fill_n(odd.begin(), count, Push{});
    std::size_t i = begin;
    for (; i + 1 < end; i += 2) {
      add(in_.pushes[order_[i]], sums[codes[order_[i]]]);
      add(in_.pushes[order_[i + 1]], odd[codes[order_[i + 1]]]);
    }
    if (i < end) add(in_.pushes[order_[i]], sums[codes[order_[i]]]);
    for (std::size_t code = 0; code < count; ++code) add(odd[code], sums[code]);
  }

  Question best_question(std::size_t begin, std::size_t end, double value, const Bounds& bounds) const {
    const Push all = total(begin, end);
    Question best;
    best.gain = kLeastGain;
    const double unasked = gain_of(all, value);
    Sums sums;
    for (const std::uint32_t feature : in_.askable) {
      const std::size_t codes = in_.data.most(feature);
      add_up(begin, end, feature, sums);
      Push above;
      for (std::size_t code = codes; code > 0; --code) {
        if (sums[code].curvature <= 0.0) continue;
        add(sums[code], above);
        const Push below{all.potential - above.potential, all.curvature - above.curvature};
        if (below.curvature <= 1e-9 * all.curvature) break;
        const double low = best_value(below, bounds);
        const double high = best_value(above, bounds);
        if (low > high) continue;
        const double gain = gain_of(below, low) + gain_of(above, high) - unasked;
        if (gain > best.gain) best = {gain, feature, static_cast<std::uint32_t>(code), low, high};
      }
    }
    return best;
  }

  const GrowInput& in_;
  std::span<double> steps_;
  std::vector<std::uint32_t> order_;
  Tree tree_;
  double calm_ = 0.0;
};

}  // namespace

GrowData::GrowData(const CodedFeatures& features, std::span<const FeatureKind> kinds,
                   std::span<const std::size_t> rows)
    : features_(features),
      kinds_(kinds.begin(), kinds.end()),
      documents_(rows.size()),
      codes_(features.feature_count()) {
  for (std::size_t feature = 0; feature < codes_.size(); ++feature)
    for (const std::size_t row : rows)
      codes_[feature].push_back(static_cast<std::uint8_t>(features.code(row, feature)));
}

double GrowData::threshold(std::uint32_t feature, std::size_t code) const {
  return step_threshold(features_.thresholds(feature), code - 1, kinds_[feature]);
}

Tree grow_tree(const GrowInput& input, std::span<double> steps) {
  return Grower(input, steps).run();
}

}  // namespace metafuse::fusion::monotone_trees
