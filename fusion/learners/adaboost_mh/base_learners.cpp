#include "fusion/learners/adaboost_mh/base_learners.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace metafuse::fusion::adaboost_mh {
namespace {

/// Those that take part: a document that is left out has no weight.
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

/// Sums of signed weights over the documents.
std::vector<double> totals_of(const SignedWeights& weights, std::span<const std::uint32_t> documents,
                              std::span<const double> signs) {
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

/// The signs of the terms' product over the documents, leaving one term out.
std::vector<double> signs_without(const CodedFeatures& features, const std::vector<Cut>& terms,
                                  std::size_t left_out, std::size_t documents) {
  std::vector<double> signs(documents, 1.0);
  for (std::size_t term = 0; term < terms.size(); ++term) {
    if (term == left_out) continue;
    const std::uint8_t* codes = features.bytes(terms[term].feature);
    for (std::size_t d = 0; d < documents; ++d)
      if (codes[d] <= terms[term].index) signs[d] = -signs[d];
  }
  return signs;
}

/// Votes and outputs of a finished product.
void finish_product(const CodedFeatures& features, const SignedWeights& weights,
                    std::span<const std::uint32_t> documents, FittedBase& fitted) {
  const auto signs =
      signs_without(features, fitted.base.terms, fitted.base.terms.size(), weights.document_count());
  const auto totals = totals_of(weights, documents, signs);
  fitted.edge = 0.0;
  for (std::size_t l = 0; l < weights.classes; ++l) {
    fitted.base.votes.push_back(vote_of(totals[l]));
    fitted.edge += std::abs(totals[l]);
  }
  for (const double sign : signs)
    for (const std::int8_t vote : fitted.base.votes)
      fitted.outputs.push_back(static_cast<std::int8_t>(sign < 0.0 ? -vote : vote));
}

/// A part of the training documents, with the best way to cut it.
struct Region {
  std::vector<std::uint32_t> documents;
  std::unique_ptr<Histogram> histogram;  // empty once it is known that the region stays a leaf
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

void find_cut(Region& region) {
  region.best = best_cut(*region.histogram, region.totals);
  region.gain = region.best.is_found ? region.best.worth - edge_of(region.totals) : 0.0;
}

class TreeGrower {
 public:
  TreeGrower(const CodedFeatures& features, const SignedWeights& weights, unsigned threads)
      : features_(features), weights_(weights), threads_(threads) {
    Region root;
    root.documents = weighted_documents(weights);
    root.totals = totals_of(weights, root.documents, {});
    root.histogram = std::make_unique<Histogram>(features, weights.stride);
    root.histogram->fill(weights, root.documents, {}, threads);
    find_cut(root);
    regions_.push_back(std::move(root));
  }

  FittedBase grow(std::size_t leaves) {
    while (regions_.size() < leaves) {
      const std::size_t best = greatest_gain();
      // Below this a gain is rounding.
      if (regions_[best].gain <= 1e-12) break;
      split(best);
    }
    return finish();
  }

 private:
  /// The first region whose gain is within 1e-9 of the greatest.
  std::size_t greatest_gain() const {
    double most = regions_[0].gain;
    for (const Region& region : regions_) most = std::max(most, region.gain);
    std::size_t place = 0;
    while (regions_[place].gain < most - 1e-9 * std::abs(most)) ++place;
    return place;
  }

  void split(std::size_t place) {
    Region whole = std::move(regions_[place]);
    const Cut cut = whole.best.cut;
    const auto node = static_cast<std::int32_t>(nodes_.size());
    nodes_.push_back({cut, 0, 0});
    attach(whole, node);
    Region below;
    Region above;
    const std::uint8_t* codes = features_.bytes(cut.feature);
    for (const std::uint32_t document : whole.documents)
      (codes[document] > cut.index ? above : below).documents.push_back(document);
    below.parent = above.parent = node;
    above.is_above = true;
    below.totals = totals_of(weights_, below.documents, {});
    above.totals = totals_of(weights_, above.documents, {});
    Region& smaller = below.documents.size() <= above.documents.size() ? below : above;
    Region& larger = &smaller == &below ? above : below;
    smaller.histogram = std::make_unique<Histogram>(features_, weights_.stride);
    smaller.histogram->fill(weights_, smaller.documents, {}, threads_);
    larger.histogram = std::move(whole.histogram);
    larger.histogram->subtract(*smaller.histogram);
    find_cut(below);
    find_cut(above);
    regions_[place] = std::move(below);
    regions_.push_back(std::move(above));
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
      const Region& region = regions_[leaf];
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
  std::vector<Region> regions_;  // the leaves
  std::vector<TreeNode> nodes_;
};

}  // namespace

FittedBase fit_product(const CodedFeatures& features, const SignedWeights& weights, std::size_t terms,
                       unsigned threads) {
  const auto documents = weighted_documents(weights);
  Histogram histogram(features, weights.stride);
  std::vector<Cut> cuts;
  double edge = -1.0;
  for (std::size_t step = 0;; ++step) {
    const std::size_t term = step % terms;
    const auto signs = signs_without(features, cuts, term, weights.document_count());
    histogram.fill(weights, documents, signs, threads);
    const BestCut best = best_cut(histogram, totals_of(weights, documents, signs));
    if (!best.is_found || best.worth <= edge + 1e-12) break;
    edge = best.worth;
    if (term < cuts.size())
      cuts[term] = best.cut;
    else
      cuts.push_back(best.cut);
    if (terms == 1) break;
  }
  FittedBase fitted;
  fitted.base.terms = std::move(cuts);
  finish_product(features, weights, documents, fitted);
  return fitted;
}

FittedBase fit_tree(const CodedFeatures& features, const SignedWeights& weights, std::size_t leaves,
                    unsigned threads) {
  return TreeGrower(features, weights, threads).grow(leaves);
}

}  // namespace metafuse::fusion::adaboost_mh
