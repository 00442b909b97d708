#include "fusion/learners/monotone_trees/boost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "core/contract.h"
#include "core/portable_math.h"
#include "fusion/data/thresholds.h"

namespace metafuse::fusion::monotone_trees {

PairSampler::PairSampler(const rankboost::Feedback& feedback, std::span<const std::size_t> queries)
    : feedback_(feedback) {
  require(feedback.pairs.empty(), "feedback from grades only");
  for (const std::size_t place : queries) add_query(place);
}

void PairSampler::add_query(std::size_t place) {
  const rankboost::QueryFeedback& source = feedback_.queries[place];
  Query query{rows_.size(), 0, place, 1.0, {}};
  for (std::uint32_t c = 0; c < source.classes; ++c) {
    query.class_at.push_back(rows_.size());
    for (std::size_t row = source.begin; row < source.end; ++row)
      if (feedback_.classes[row] == c) rows_.push_back(row);
  }
  query.end = rows_.size();
  query.class_at.push_back(query.end);
  const auto members = [&](std::size_t c) {
    return static_cast<double>(query.class_at[c + 1] - query.class_at[c]);
  };
  double drawn = 0.0;
  double wanted = 0.0;
  for (std::size_t a = 0; a < source.classes; ++a)
    for (std::size_t b = a + 1; b < source.classes; ++b) {
      const double weight =
          feedback_.weights[source.table + a * source.classes + b] * members(a) * members(b);
      const auto all = static_cast<double>(query.end - query.begin);
      drawn += weight * (1.0 / (all - members(a)) + 1.0 / (all - members(b)));
      wanted += weight;
    }
  query.scale = wanted / drawn;
  queries_.push_back(std::move(query));
}

void PairSampler::draw(Random& random, std::span<const double> scores, std::span<Push> pushes) const {
  std::fill(pushes.begin(), pushes.end(), Push{});
  for (const Query& query : queries_) draw_query(query, random, scores, pushes);
}

void PairSampler::draw_query(const Query& query, Random& random, std::span<const double> scores,
                             std::span<Push> pushes) const {
  const rankboost::QueryFeedback& source = feedback_.queries[query.place];
  for (std::size_t c = 0; c < source.classes; ++c) {
    const std::size_t begin = query.class_at[c];
    const std::size_t end = query.class_at[c + 1];
    const std::size_t others = (query.end - query.begin) - (end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      std::size_t j = query.begin + static_cast<std::size_t>(random.below(others));
      if (j >= begin) j += end - begin;
      const bool is_above = j < begin;
      const auto other = static_cast<std::size_t>(
          std::upper_bound(query.class_at.begin(), query.class_at.end(), j) - query.class_at.begin() - 1);
      const std::size_t lower = is_above ? other : c;
      const std::size_t upper = is_above ? c : other;
      const double weight = query.scale * feedback_.weights[source.table + lower * source.classes + upper];
      Push& high = pushes[is_above ? i : j];
      Push& low = pushes[is_above ? j : i];
      const double gap = is_above ? scores[i] - scores[j] : scores[j] - scores[i];
      const double wrong = 1.0 / (1.0 + portable_exp(gap));
      high.potential += weight * wrong;
      low.potential -= weight * wrong;
      // (d1 - d0)^2 <= 2 d1^2 + 2 d0^2 bounds the pair's second derivative by one of each document.
      const double curvature = 2.0 * weight * wrong * (1.0 - wrong);
      high.curvature += curvature;
      low.curvature += curvature;
    }
  }
}

namespace {

/// Added to the curvature of a node, as a share of the whole tree's: limits the steps of nearly empty leaves.
constexpr double kCalm = 1e-4;

/// The pairs of all queries weigh 1 together, so a smaller gain is a rounding error.
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

using Sums = std::array<Push, 256>;  // one per code

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

  /// Puts the documents of "no" before those of "yes".
  /// out:    where "yes" begins
  std::size_t part(std::size_t begin, std::size_t end, const Question& question) {
    const std::vector<std::uint8_t>& codes = in_.data.codes(question.feature);
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = order_.begin() + static_cast<std::ptrdiff_t>(end);
    const auto middle =
        std::stable_partition(first, last, [&](std::uint32_t i) { return codes[i] < question.code; });
    return static_cast<std::size_t>(middle - order_.begin());
  }

  /// The sums of the pushes per code. Neighbouring documents go to different partial sums: many have the same
  /// code, and each addition would otherwise wait for the one before.
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

namespace {

/// A random share of {0, ..., count - 1}, at least one number, ascending.
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
    if (options.is_over && options.is_over()) break;
  }
  return trees;
}

}  // namespace metafuse::fusion::monotone_trees
