#include "lab/learners/adaboost_mh/boost.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/contract.h"
#include "core/portable_math.h"

namespace metafuse::lab::adaboost_mh {

namespace {

/// A base classifier and its outputs for the training documents.
struct FittedBase {
  BaseClassifier base;
  std::vector<std::int8_t> outputs;  ///< documents x K
  double edge = 0.0;                 ///< the sum of w z h
};

/// Histograms of one problem's features that are currently not in use.
using HistogramPool = std::vector<std::unique_ptr<Histogram>>;

/// The documents that take part in training.
std::vector<std::uint32_t> weighted_documents(const SignedWeights& weights) {
  std::vector<std::uint32_t> documents;
  const auto count = static_cast<std::uint32_t>(weights.document_count());
  for (std::uint32_t d = 0; d < count; ++d) {
    const double* weight = weights.of(d);
    if (std::any_of(weight, weight + weights.classes, [](double w) { return w != 0.0; }))
      documents.push_back(d);
  }
  return documents;
}

/// The sum of the signed weights of the documents, each multiplied by its sign unless `signs` is empty.
std::vector<double> totals_of(const SignedWeights& weights, std::span<const std::uint32_t> documents,
                              std::span<const std::int8_t> signs) {
  std::vector<double> totals(weights.stride, 0.0);
  for (const std::uint32_t document : documents) {
    const double* weight = weights.of(document);
    const double sign = signs.empty() ? 1.0 : signs[document];
    for (std::size_t l = 0; l < weights.classes; ++l) totals[l] += weight[l] * sign;
  }
  return totals;
}

std::int8_t vote_of(double weight) {
  return weight >= 0.0 ? std::int8_t{1} : std::int8_t{-1};
}

/// Multiplies the documents' signs by the outputs of a stump.
void multiply_signs(const CodedFeatures& features, const Cut& cut, std::vector<std::int8_t>& signs) {
  const std::uint8_t* codes = features.bytes(cut.feature);
  for (std::size_t d = 0; d < signs.size(); ++d)
    signs[d] = static_cast<std::int8_t>(codes[d] <= cut.index ? -signs[d] : signs[d]);
}

/// Sets the votes and outputs of a product from the given signs.
void finish_product(const SignedWeights& weights, std::span<const std::uint32_t> documents,
                    std::span<const std::int8_t> signs, FittedBase& fitted) {
  const auto totals = totals_of(weights, documents, signs);
  fitted.edge = 0.0;
  for (std::size_t l = 0; l < weights.classes; ++l) {
    fitted.base.votes.push_back(vote_of(totals[l]));
    fitted.edge += std::abs(totals[l]);
  }
  fitted.outputs.reserve(signs.size() * weights.classes);
  for (const std::int8_t sign : signs)
    for (const std::int8_t vote : fitted.base.votes)
      fitted.outputs.push_back(static_cast<std::int8_t>(sign * vote));
}

/// A part of the training documents and the best way to cut it.
struct Region {
  std::vector<std::uint32_t> documents;
  std::unique_ptr<Histogram> histogram;  // empty if the region stays a leaf
  std::vector<double> totals;
  BestCut best;
  double gain = 0.0;
  std::int32_t parent = -1;
  bool is_above = false;
};

double edge_of(const std::vector<double>& totals) {
  double edge = 0.0;
  for (const double total : totals) edge += std::abs(total);
  return edge;
}

void set_cut(Region& region, const BestCut& best) {
  region.best = best;
  region.gain = best.is_found ? best.worth - edge_of(region.totals) : 0.0;
}

/// Fits trees. A tree grows at the leaf where the edge of the best stump exceeds the leaf's own edge most,
/// and each leaf votes for each label by the sign of its weight. Differs from the trees of Kegl,
/// Busa-Fekete 2009: the two sides of a finished cut need not vote oppositely, because for the same cuts the
/// edge can only become greater.
class TreeGrower {
 public:
  /// in: spare - histograms to reuse; used ones are returned to it
  TreeGrower(const CodedFeatures& features, const SignedWeights& weights, unsigned threads,
             HistogramPool& spare)
      : features_(features), weights_(weights), threads_(threads), spare_(spare) {
    Region root;
    root.documents = weighted_documents(weights);
    root.totals = totals_of(weights, root.documents, {});
    root.histogram = new_histogram();
    set_cut(root, root.histogram->fill({weights, root.documents, root.totals}));
    regions_.push_back(std::move(root));
  }

  /// in:   leaves - the most that the tree gets
  /// cost: a histogram of the smaller child of every cut except the last; that of the larger child is
  ///       a difference
  FittedBase grow(std::size_t leaves) {
    while (regions_.size() < leaves) {
      const std::size_t best = greatest_gain();
      // A smaller gain is a rounding error.
      if (regions_[best].gain <= 1e-12) break;
      split(best, regions_.size() + 1 == leaves);
    }
    return finish();
  }

 private:
  /// The first region whose gain is within 1e-9 of the greatest gain.
  std::size_t greatest_gain() const {
    double most = regions_[0].gain;
    for (const Region& region : regions_) most = std::max(most, region.gain);
    std::size_t place = 0;
    while (regions_[place].gain < most - 1e-9 * std::abs(most)) ++place;
    return place;
  }

  std::unique_ptr<Histogram> new_histogram() {
    if (spare_.empty()) return std::make_unique<Histogram>(features_, weights_.stride, threads_);
    auto histogram = std::move(spare_.back());
    spare_.pop_back();
    return histogram;
  }

  /// Splits a region in two. The parts of the last split are not searched for cuts, since they stay leaves.
  void split(std::size_t place, bool is_last) {
    Region whole = std::move(regions_[place]);
    const Cut cut = whole.best.cut;
    const auto node = static_cast<std::int32_t>(nodes_.size());
    nodes_.push_back({cut, 0, 0});
    attach(whole, node);
    Region below;
    Region above;
    divide(whole.documents, cut, below.documents, above.documents);
    below.parent = above.parent = node;
    above.is_above = true;
    below.totals = totals_of(weights_, below.documents, {});
    above.totals = totals_of(weights_, above.documents, {});
    if (!is_last) search(below, above, std::move(whole.histogram));
    regions_[place] = std::move(below);
    regions_.push_back(std::move(above));
  }

  void divide(std::span<const std::uint32_t> documents, const Cut& cut, std::vector<std::uint32_t>& below,
              std::vector<std::uint32_t>& above) const {
    const std::uint8_t* codes = features_.bytes(cut.feature);
    below.resize(documents.size());
    above.resize(documents.size());
    std::size_t below_count = 0;
    std::size_t above_count = 0;
    for (const std::uint32_t document : documents) {
      const bool is_above = codes[document] > cut.index;
      below[below_count] = above[above_count] = document;
      below_count += is_above ? 0 : 1;
      above_count += is_above ? 1 : 0;
    }
    below.resize(below_count);
    above.resize(above_count);
  }

  /// Finds the best cuts of the two parts of a region, whose histogram is `whole`.
  void search(Region& below, Region& above, std::unique_ptr<Histogram> whole) {
    Region& smaller = below.documents.size() <= above.documents.size() ? below : above;
    Region& larger = &smaller == &below ? above : below;
    smaller.histogram = new_histogram();
    larger.histogram = std::move(whole);
    const auto [best, rest] = smaller.histogram->split_off(
        *larger.histogram, {weights_, smaller.documents, smaller.totals}, larger.totals);
    set_cut(smaller, best);
    set_cut(larger, rest);
  }

  void attach(const Region& region, std::int32_t child) {
    if (region.parent < 0) return;
    TreeNode& parent = nodes_[static_cast<std::size_t>(region.parent)];
    (region.is_above ? parent.above : parent.below) = child;
  }

  FittedBase finish() {
    FittedBase fitted;
    fitted.outputs.resize(weights_.document_count() * weights_.classes);
    for (std::size_t leaf = 0; leaf < regions_.size(); ++leaf) {
      Region& region = regions_[leaf];
      if (region.histogram) spare_.push_back(std::move(region.histogram));
      attach(region, ~static_cast<std::int32_t>(leaf));
      for (std::size_t l = 0; l < weights_.classes; ++l) {
        const std::int8_t vote = vote_of(region.totals[l]);
        fitted.base.votes.push_back(vote);
        for (const std::uint32_t document : region.documents)
          fitted.outputs[document * weights_.classes + l] = vote;
      }
      fitted.edge += edge_of(region.totals);
    }
    fitted.base.nodes = std::move(nodes_);
    return fitted;
  }

  const CodedFeatures& features_;
  const SignedWeights& weights_;
  unsigned threads_;
  HistogramPool& spare_;         // histograms of these features that are not in use
  std::vector<Region> regions_;  // the leaves
  std::vector<TreeNode> nodes_;
};

/// Fits a product of at most `terms` stumps (a stump is a product of one). Terms start as the constant +1 and
/// are refitted in turn while the others are held fixed, until a refitted term no longer raises the edge.
/// source: Kegl, Busa-Fekete 2009, sec. 3
/// cost:   one histogram of all documents; then, in `terms` to 2 x `terms` steps, one of the documents whose
///         sign the changed term changes, or of the other documents if these are fewer
FittedBase fit_product(const CodedFeatures& features, const SignedWeights& weights, std::size_t terms,
                       unsigned threads) {
  const auto documents = weighted_documents(weights);
  Histogram histogram(features, weights.stride, threads);
  std::vector<Cut> cuts;
  std::vector<std::int8_t> signs(weights.document_count(), 1);  // product of all terms
  std::vector<std::int8_t> summed;                              // the signs in the histogram's sums
  double edge = -1.0;
  for (std::size_t step = 0;; ++step) {
    const std::size_t term = step % terms;
    std::vector<std::int8_t> others = signs;
    if (term < cuts.size()) multiply_signs(features, cuts[term], others);
    const auto totals = totals_of(weights, documents, others);
    const WeightedDocuments all{weights, documents, totals};
    const BestCut best = summed.empty() ? histogram.fill(all) : histogram.change_signs(all, summed, others);
    if (!best.is_found || best.worth <= edge + 1e-12) break;
    edge = best.worth;
    if (term < cuts.size())
      cuts[term] = best.cut;
    else
      cuts.push_back(best.cut);
    signs = others;
    multiply_signs(features, best.cut, signs);
    summed = std::move(others);
    if (terms == 1) break;
  }
  FittedBase fitted;
  fitted.base.terms = std::move(cuts);
  finish_product(weights, documents, signs, fitted);
  return fitted;
}

/// 1/2 ln((1 + edge)/(1 - edge)), kept finite for a perfect base classifier.
double alpha_of(double edge, std::size_t entries) {
  if (edge < 1.0 - 1e-12) return 0.5 * portable_log((1.0 + edge) / (1.0 - edge));
  const double smoothing = 1.0 / static_cast<double>(entries);
  return 0.5 * portable_log((1.0 + edge + smoothing) / (std::max(0.0, 1.0 - edge) + smoothing));
}

/// Multiplies the weights by exp(-alpha h z) and normalises them; returns their sum before that.
double reweight(SignedWeights& weights, const FittedBase& fitted, double alpha) {
  const double right = portable_exp(-alpha);
  const double wrong = portable_exp(alpha);
  double sum = 0.0;
  const std::size_t documents = weights.document_count();
  for (std::size_t d = 0; d < documents; ++d)
    for (std::size_t l = 0; l < weights.classes; ++l) {
      double& weight = weights.values[d * weights.stride + l];
      weight *= weight * fitted.outputs[d * weights.classes + l] > 0.0 ? right : wrong;
      sum += std::abs(weight);
    }
  for (double& weight : weights.values) weight /= sum;
  return sum;
}

bool is_left_out(const Problem& problem, std::size_t document) {
  return !problem.left_out.empty() && problem.left_out[document] != 0;
}

double hamming_loss(const Problem& problem, const std::vector<double>& votes) {
  std::size_t wrong = 0;
  std::size_t counted = 0;
  const std::size_t k = problem.class_count;
  for (std::size_t d = 0; d < problem.classes.size(); ++d) {
    if (is_left_out(problem, d)) continue;
    counted += k;
    for (std::size_t l = 0; l < k; ++l) {
      const bool is_own = problem.classes[d] == static_cast<int>(l);
      wrong += (votes[d * k + l] > 0.0) != is_own ? 1 : 0;
    }
  }
  return static_cast<double>(wrong) / static_cast<double>(counted);
}

}  // namespace

std::string BaseSetting::name() const {
  if (kind == BaseKind::tree) return "tree " + std::to_string(size);
  return size == 1 ? "stump" : "product " + std::to_string(size);
}

SignedWeights initial_weights(const Problem& problem) {
  require(problem.class_count >= 2 && problem.class_count <= 60, "AdaBoost.MH takes 2 to 60 classes");
  const std::size_t k = problem.class_count;
  SignedWeights weights{k, (k + 3) / 4 * 4, {}};
  weights.values.assign(problem.classes.size() * weights.stride, 0.0);
  const auto importance = [&](std::size_t d) {
    return problem.importance.empty() ? std::ldexp(1.0, problem.classes[d]) : problem.importance[d];
  };
  double sum = 0.0;
  for (std::size_t d = 0; d < problem.classes.size(); ++d)
    if (!is_left_out(problem, d)) sum += 2.0 * importance(d);
  for (std::size_t d = 0; d < problem.classes.size(); ++d) {
    if (is_left_out(problem, d)) continue;
    const double own = importance(d) / sum;
    for (std::size_t l = 0; l < k; ++l)
      weights.values[d * weights.stride + l] =
          problem.classes[d] == static_cast<int>(l) ? own : -own / static_cast<double>(k - 1);
  }
  return weights;
}

namespace {

/// The outputs of an existing base classifier for the training documents.
FittedBase replayed(const BaseClassifier& base, const CodedRows& rows, const SignedWeights& weights) {
  FittedBase fitted{base, {}, 0.0};
  for (std::size_t d = 0; d < rows.document_count(); ++d) {
    const std::uint8_t* row = rows.row(d);
    const bool is_negative = base.sign(row) < 0.0;
    const std::int8_t* votes = base.votes.data() + base.leaf(row) * weights.classes;
    for (std::size_t l = 0; l < weights.classes; ++l) {
      fitted.outputs.push_back(static_cast<std::int8_t>(is_negative ? -votes[l] : votes[l]));
      fitted.edge += weights.of(d)[l] * fitted.outputs.back();
    }
  }
  return fitted;
}

/// The state of a boosting run between two rounds.
struct Progress {
  BoostRun run;
  SignedWeights weights;
  std::vector<double> votes;

  void take(const Problem& problem, FittedBase fitted, double alpha) {
    for (std::size_t i = 0; i < votes.size(); ++i) votes[i] += alpha * fitted.outputs[i];
    const double z = reweight(weights, fitted, alpha);
    run.rounds.push_back({fitted.edge, alpha, z, hamming_loss(problem, votes)});
    run.classifier.rounds.push_back({alpha, std::move(fitted.base)});
  }
};

}  // namespace

BoostRun boost(const Problem& problem, const BaseSetting& setting, std::size_t rounds,
               const std::function<void(std::size_t)>& after_round, const BoostStart& start) {
  Progress progress;
  progress.run.classifier.classes = problem.class_count;
  progress.run.stop_reason = "all rounds done";
  progress.weights = initial_weights(problem);
  const std::size_t entries = problem.classes.size() * problem.class_count;
  progress.votes.assign(entries, 0.0);
  if (start.classifier != nullptr)
    for (std::size_t t = 0; t < std::min(rounds, start.classifier->rounds.size()); ++t) {
      const auto& [alpha, base] = start.classifier->rounds[t];
      progress.take(problem, replayed(base, *start.rows, progress.weights), alpha);
    }
  HistogramPool spare;
  for (std::size_t t = progress.run.rounds.size(); t < rounds; ++t) {
    FittedBase fitted =
        setting.kind == BaseKind::tree
            ? TreeGrower(*problem.features, progress.weights, problem.threads, spare).grow(setting.size)
            : fit_product(*problem.features, progress.weights, setting.size, problem.threads);
    if (fitted.edge <= 1e-12) {
      progress.run.stop_reason = "no base classifier is better than chance";
      break;
    }
    const bool is_perfect = fitted.edge >= 1.0 - 1e-12;
    const double alpha = alpha_of(fitted.edge, entries);
    progress.take(problem, std::move(fitted), alpha);
    if (is_perfect) {
      progress.run.stop_reason = "a base classifier is right everywhere";
      break;
    }
    if (after_round) after_round(t + 1);
  }
  return std::move(progress.run);
}

}  // namespace metafuse::lab::adaboost_mh
