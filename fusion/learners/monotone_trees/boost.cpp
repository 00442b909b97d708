#include "fusion/learners/monotone_trees/boost.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "core/contract.h"
#include "core/portable_math.h"
#include "core/random_numbers.h"

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
    classes_.resize(rows_.size(), c);
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

void PairSampler::draw(Random& random, std::span<const double> scores, Pushes& pushes) const {
  pushes.of_document.resize(rows_.size());
  pushes.total = {};
  Draws draws;
  for (const Query& query : queries_) {
    draw_pairs(query, random, scores, draws);
    portable_exp(draws.powers);
    draws.pushes.assign(draws.pairs.size(), Push{});
    push_pairs(draws.pairs, draws.powers, draws.pushes);
    pushes.total += round_pushes(draws.pushes,
                                 std::span(pushes.of_document).subspan(query.begin, query.end - query.begin));
  }
}

void PairSampler::draw_pairs(const Query& query, Random& random, std::span<const double> scores,
                             Draws& draws) const {
  const rankboost::QueryFeedback& source = feedback_.queries[query.place];
  const std::size_t documents = query.end - query.begin;
  draws.partners.resize(documents);
  draws.pairs.resize(documents);
  draws.powers.resize(documents);
  draws.weights.resize(source.classes);
  for (std::size_t c = 0; c < source.classes; ++c) {
    const std::size_t begin = query.class_at[c];
    const std::size_t end = query.class_at[c + 1];
    for (std::size_t other = 0; other < source.classes; ++other) {
      const std::size_t place = std::min(c, other) * source.classes + std::max(c, other);
      draws.weights[other] = query.scale * feedback_.weights[source.table + place];
    }
    const std::span<std::uint64_t> partners = std::span(draws.partners).first(end - begin);
    draw_below(random, documents - partners.size(), partners);
    for (std::size_t i = begin; i < end; ++i) {  // without a branch, which would be mispredicted
      std::size_t j = query.begin + partners[i - begin];
      j += partners.size() * static_cast<std::size_t>(j >= begin);
      const std::size_t high = std::max(i, j);  // a higher class has later rows
      const std::size_t low = std::min(i, j);
      draws.pairs[i - query.begin] = {static_cast<std::uint32_t>(high - query.begin),
                                      static_cast<std::uint32_t>(low - query.begin),
                                      draws.weights[classes_[j]]};
      draws.powers[i - query.begin] = scores[high] - scores[low];
    }
  }
}

namespace {

constexpr std::size_t kSparseDivisor = 4;  // a feature that ranks at most 1/4 of the documents is sparse

/// Added to the curvature of a node, as a share of the whole tree's: limits the steps of nearly empty leaves.
constexpr double kCalm = 1e-4;

/// The pairs of all queries together have weight 1, so a smaller gain is a rounding error.
constexpr double kLeastGain = 1e-14;

Push push_of(const WholePush& sum) {
  return {static_cast<double>(sum.potential) / kPushScale, static_cast<double>(sum.curvature) / kPushScale};
}

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
  std::size_t sums_at = 0;  // where the feature begins in Sums
};

/// The documents of a node: a range of Grower's order, and the sum of their pushes.
struct NodeDocuments {
  std::size_t begin = 0;
  std::size_t end = 0;
  WholePush total;

  std::size_t count() const { return end - begin; }
};

/// The sums of a node's pushes by code, for one feature after another. Code 0 is never read, since a question
/// is about all codes from some code on.
using Sums = std::vector<WholePush>;

class Grower {
 public:
  Grower(const GrowInput& input, std::span<double> steps)
      : in_(input), steps_(steps), pushes_(input.pushes.of_document), order_(pushes_.size()) {
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    for (const std::uint32_t feature : input.askable) {
      starts_.push_back(size_);
      size_ += input.data.most(feature) + 1;
      has_sparse_ = has_sparse_ || input.data.is_sparse(feature);
    }
  }

  Tree run() {
    const NodeDocuments all{0, order_.size(), in_.pushes.total};
    calm_ = kCalm * push_of(all.total).curvature;
    tree_.emplace_back();
    grow(0, all, in_.depth, {}, sums_of(all));
    return std::move(tree_);
  }

 private:
  double best_value(const Push& push, const Bounds& bounds) const {
    return std::clamp(push.potential / (push.curvature + calm_), bounds.lowest, bounds.highest);
  }

  /// By how much a step lowers twice the loss, to second order.
  double gain_of(const Push& push, double value) const {
    return 2.0 * push.potential * value - (push.curvature + calm_) * value * value;
  }

  /// Grows the subtree of node `at`, whose value is set. At each level only the child with fewer documents is
  /// summed; the sums of its sibling are the parent's minus these.
  void grow(std::size_t at, const NodeDocuments& node, std::size_t depth, const Bounds& bounds, Sums sums) {
    const Question best = depth == 0 ? Question{} : best_question(node, tree_[at].value, bounds, sums);
    if (best.feature == TreeNode::kLeaf) {
      for (std::size_t i = node.begin; i < node.end; ++i) steps_[order_[i]] = tree_[at].value;
      return;
    }
    const auto below = static_cast<std::uint32_t>(tree_.size());
    tree_.resize(tree_.size() + 2);
    tree_[at] = {best.feature, in_.data.threshold(best.feature, best.code), below, below + 1,
                 tree_[at].value};
    tree_[below].value = best.below;
    tree_[below + 1].value = best.above;
    if (depth == 1) return step(node, best);
    const double between = 0.5 * (best.below + best.above);
    const auto [low, high] = part(node, best, sums);
    const bool is_low_smaller = low.count() <= high.count();
    Sums smaller = sums_of(is_low_smaller ? low : high);
    for (std::size_t i = 0; i < size_; ++i) sums[i] -= smaller[i];
    Sums& low_sums = is_low_smaller ? smaller : sums;
    Sums& high_sums = is_low_smaller ? sums : smaller;
    grow(below, low, depth - 1, {bounds.lowest, between}, std::move(low_sums));
    grow(below + 1, high, depth - 1, {between, bounds.highest}, std::move(high_sums));
  }

  /// Sets the steps of a node's documents if both children are leaves, so that the documents need no order.
  void step(const NodeDocuments& node, const Question& question) {
    const std::uint8_t* codes = in_.data.codes(question.feature).data();
    const double values[] = {question.below, question.above};  // instead of a branch, as in part()
    for (std::size_t i = node.begin; i < node.end; ++i) {
      const std::uint32_t document = order_[i];
      steps_[document] = values[codes[document] >= question.code ? 1 : 0];
    }
  }

  /// Moves the documents of "no" before those of "yes".
  std::pair<NodeDocuments, NodeDocuments> part(const NodeDocuments& node, const Question& question,
                                               const Sums& sums) {
    const std::uint8_t* codes = in_.data.codes(question.feature).data();
    yes_.resize(node.count() + 1);
    std::uint32_t* const order = order_.data();
    std::uint32_t* const yes = yes_.data();
    std::size_t no_end = node.begin;
    std::size_t yes_count = 0;
    for (std::size_t i = node.begin; i < node.end; ++i) {  // without a branch, which would be mispredicted
      const std::uint32_t document = order[i];
      const std::size_t is_yes = codes[document] >= question.code ? 1 : 0;
      order[no_end] = document;
      yes[yes_count] = document;
      no_end += 1 - is_yes;
      yes_count += is_yes;
    }
    std::copy_n(yes_.begin(), yes_count, order_.begin() + static_cast<std::ptrdiff_t>(no_end));
    WholePush high;
    for (std::size_t code = question.code; code <= in_.data.most(question.feature); ++code)
      high += sums[question.sums_at + code];
    WholePush low = node.total;
    low -= high;
    return {{node.begin, no_end, low}, {no_end, node.end, high}};
  }

  Sums sums_of(const NodeDocuments& node) {
    Sums sums(size_);
    const bool is_all = node.count() == order_.size();
    if (!is_all && has_sparse_) mark(node);
    const std::span<const std::uint32_t> documents = std::span(order_).subspan(node.begin, node.count());
    std::vector<PushColumn> columns;
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      const std::span own(sums.data() + starts_[i], in_.data.most(in_.askable[i]) + 1);
      const std::span<const RankedDocument> ranked = in_.data.ranked(in_.askable[i]);
      const bool is_by_rank = in_.data.is_sparse(in_.askable[i]) && (is_all || ranked.size() < node.count());
      if (is_by_rank) {
        for (const RankedDocument& place : ranked)
          if (is_all || is_inside_[place.document] != 0) own[place.code] += pushes_[place.document];
      } else {
        columns.push_back({in_.data.codes(in_.askable[i]).data(), own});
      }
    }
    sum_pushes(columns, documents, pushes_);
    return sums;
  }

  /// Marks the documents that belong to the node.
  void mark(const NodeDocuments& node) {
    is_inside_.assign(order_.size(), 0);
    for (std::size_t i = node.begin; i < node.end; ++i) is_inside_[order_[i]] = 1;
  }

  Question best_question(const NodeDocuments& node, double value, const Bounds& bounds,
                         const Sums& sums) const {
    const Push all = push_of(node.total);
    Question best;
    best.gain = kLeastGain;
    const double unasked = gain_of(all, value);
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      WholePush above_sum;
      for (std::size_t code = in_.data.most(in_.askable[i]); code > 0; --code) {
        const WholePush& here = sums[starts_[i] + code];
        if (here.curvature <= 0) continue;
        above_sum += here;
        WholePush below_sum = node.total;
        below_sum -= above_sum;
        const Push above = push_of(above_sum);
        const Push below = push_of(below_sum);
        if (below.curvature <= 1e-9 * all.curvature) break;
        const double low = best_value(below, bounds);
        const double high = best_value(above, bounds);
        if (low > high) continue;
        const double gain = gain_of(below, low) + gain_of(above, high) - unasked;
        if (gain > best.gain)
          best = {gain, in_.askable[i], static_cast<std::uint32_t>(code), low, high, starts_[i]};
      }
    }
    return best;
  }

  const GrowInput& in_;
  std::span<double> steps_;
  std::span<const WholePush> pushes_;  // by document
  std::vector<std::uint32_t> order_;
  std::vector<std::size_t> starts_;  // where each askable feature begins in Sums
  std::size_t size_ = 0;             // of Sums
  std::vector<std::uint32_t> yes_;
  bool has_sparse_ = false;  // whether any askable feature is sparse
  std::vector<std::uint8_t> is_inside_;
  Tree tree_;
  double calm_ = 0.0;
};

}  // namespace

GrowData::GrowData(const CodedFeatures& features, std::span<const FeatureKind> kinds,
                   std::span<const std::size_t> rows)
    : features_(features),
      kinds_(kinds.begin(), kinds.end()),
      documents_(rows.size()),
      codes_(features.feature_count()),
      ranked_(features.feature_count()),
      is_sparse_(features.feature_count(), 0) {
  for (std::size_t feature = 0; feature < codes_.size(); ++feature) {
    auto& codes = codes_[feature];
    for (const std::size_t row : rows)
      codes.push_back(static_cast<std::uint8_t>(features.code(row, feature)));
    const auto unranked = static_cast<std::size_t>(std::count(codes.begin(), codes.end(), 0));
    if ((codes.size() - unranked) * kSparseDivisor > codes.size()) continue;
    for (std::uint32_t document = 0; document < codes.size(); ++document)
      if (codes[document] > 0) ranked_[feature].push_back({document, codes[document]});
    is_sparse_[feature] = 1;
  }
}

double GrowData::threshold(std::uint32_t feature, std::size_t code) const {
  return step_threshold(features_.thresholds(feature), code - 1, kinds_[feature]);
}

Tree grow_tree(const GrowInput& input, std::span<double> steps) {
  return Grower(input, steps).run();
}

namespace {

/// A random share of {0, ..., count - 1}, at least one number if there is one, ascending.
template <class Number>
std::vector<Number> sample(std::size_t count, double share, Random& random) {
  std::vector<Number> all(count);
  std::iota(all.begin(), all.end(), Number{0});
  if (share >= 1.0 || count == 0) return all;
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
  Pushes pushes;
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
