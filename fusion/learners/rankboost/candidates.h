#pragma once

// RankBoost's options and the candidate weak rankings that they allow, with what both weak learners need to
// search these: cumulative weights, histograms of potentials, and the order in which features are visited.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/thresholds.h"
#include "fusion/learners/common/options.h"
#include "fusion/learners/rankboost/distribution.h"
#include "fusion/learners/rankboost/joint_sums.h"

namespace metafuse::fusion::rankboost {

/// RankBoost's options (Freund et al. 2003, sec. 3.2 and 4).
struct Options {
  enum class Criterion { z, r };  ///< weak learner 2: smallest Z; weak learner 3: largest |r|
  enum class QDefault { zero, one, learn };
  struct WeakLearner {
    Criterion criterion = Criterion::r;
    bool is_cumulative = true;  ///< `.cum`: cumulative weights stay positive

    friend bool operator==(const WeakLearner&, const WeakLearner&) = default;
  };

  std::size_t rounds = 100;
  WeakLearner weak_learner;
  bool is_numeric = false;  ///< alpha minimises Z numerically
  bool is_value = false;    ///< h = f itself, scaled to [0, 1]
  QDefault q_default = QDefault::zero;
  ThresholdOptions thresholds;
  std::string thresholds_file;  ///< the file of given thresholds; empty: none
  /// Training ends if the ranking loss fell by at most one percent over this many rounds; 0: never.
  std::size_t flat_rounds = 0;

  bool may_be_zero() const { return q_default != QDefault::one; }
  bool may_be_one() const { return q_default != QDefault::zero; }
};

void declare_options(OptionTable& table, Options& options);

/// errors: usage for options that cannot be combined
Result<void> check_options(const Options& options);

/// A candidate weak ranking. Thresholds are numbered as in Thresholds. Number size() stands for the highest
/// value of the feature: no ranked document exceeds it, so that h is 1 at most for unranked documents. A
/// value ranking has threshold 0.
struct Candidate {
  std::uint32_t feature = 0;
  std::uint32_t threshold = 0;
  std::uint8_t q_default = 0;
  double r = 0.0;          ///< eq. (5)
  double criterion = 0.0;  ///< |r|, or 1 - Z
  double right = 0.0;      ///< W- (weak learner 2 only): the weight of correctly ordered pairs
  double wrong = 0.0;      ///< W+ (weak learner 2 only): the weight of incorrectly ordered pairs
};

/// The cumulative weight of every candidate so far.
class CumulativeWeights {
 public:
  explicit CumulativeWeights(const CodedFeatures& features);
  double& at(std::size_t feature, std::size_t threshold, std::size_t q_default) {
    return weights_[starts_[feature] + 2 * threshold + q_default];
  }
  double at(std::size_t feature, std::size_t threshold, std::size_t q_default) const {
    return weights_[starts_[feature] + 2 * threshold + q_default];
  }

 private:
  std::vector<std::size_t> starts_;
  std::vector<double> weights_;
};

/// Computes the alpha of a candidate: needed to tell whether its cumulative weight would become negative.
using AlphaOf = std::function<double(const Candidate&)>;

/// What candidates are judged by in one round.
struct RoundState {
  const CumulativeWeights& weights;
  const AlphaOf& alpha_of;
  double total;  ///< of D, by which edges are divided
};

/// What a training works on; all of it must outlive the training.
struct Problem {
  const Feedback& feedback;
  const CodedFeatures& features;
  const Options& options;
  unsigned threads = 1;
  Communicator* communicator = nullptr;  ///< of the processes that hold the other queries, or null

  /// A candidate as a weak ranking on the training documents.
  CodedRanking ranking_of(const Candidate& candidate) const;

  /// Whether 3.cum or 2.cum may choose a candidate: its cumulative weight must become positive.
  /// in: surely_positive - above this edge, alpha is positive and need not be computed
  bool is_admissible(const Candidate& candidate, const RoundState& round, double surely_positive) const;
};

/// Searches the features for the largest criterion. They are visited in batches, by descending upper bound of
/// their best criterion, until no bound reaches the best one found.
class FeatureSearch {
 public:
  /// How far a criterion may lie below the best one and still count as equal to it.
  using Tolerance = double (*)(double best);

  explicit FeatureSearch(Tolerance tolerance) : tolerance_(tolerance) {}

  /// The best criterion of the last run; 0 before the first, negative if nothing was admissible.
  double best() const { return best_; }

  /// in: bounds - by feature; batch - features per batch; likely - a batch takes all features whose bound is
  ///     at least this; begin - called with each batch; visit - the best admissible criterion of a feature,
  ///     negative if there is none, or nothing if it only lowered the feature's bound
  template <class Begin, class Visit>
  void run(std::span<const double> bounds, std::size_t batch, double likely, const Begin& begin,
           const Visit& visit) {
    start(bounds.size());
    const auto is_later = [&](std::size_t a, std::size_t b) {
      return bounds[a] != bounds[b] ? bounds[a] < bounds[b] : a > b;
    };
    std::make_heap(waiting_.begin(), waiting_.end(), is_later);
    for (;;) {
      batch_.clear();
      while (!waiting_.empty() && (batch_.size() < batch || bounds[waiting_.front()] >= likely) &&
             bounds[waiting_.front()] >= best_ - 2.0 * tolerance_(best_)) {
        batch_.push_back(waiting_.front());
        std::pop_heap(waiting_.begin(), waiting_.end(), is_later);
        waiting_.pop_back();
      }
      if (batch_.empty()) return;
      begin(std::span<const std::size_t>(batch_));
      for (const std::size_t feature : batch_) {
        if (const std::optional<double> found = visit(feature)) {
          best_ = std::max(best_, best_of_[feature] = *found);
        } else {
          waiting_.push_back(feature);
          std::push_heap(waiting_.begin(), waiting_.end(), is_later);
        }
      }
    }
  }

  /// The first candidate that ties with the best one.
  /// in: for_each_candidate - called with a feature and a function that takes its candidates in order
  template <class ForEachCandidate, class IsAdmissible>
  std::optional<Candidate> first_best(const ForEachCandidate& for_each_candidate,
                                      const IsAdmissible& is_admissible) const {
    std::optional<Candidate> chosen;
    const auto ties = [&](double criterion) { return best_ - criterion <= tolerance_(best_); };
    for (std::size_t feature = 0; best_ >= 0.0 && !chosen && feature < best_of_.size(); ++feature)
      if (ties(best_of_[feature]))
        for_each_candidate(feature, [&](const Candidate& candidate) {
          if (!chosen && ties(candidate.criterion) && is_admissible(candidate)) chosen = candidate;
        });
    return chosen;
  }

 private:
  void start(std::size_t features);

  Tolerance tolerance_;
  double best_ = 0.0;
  std::vector<std::size_t> waiting_;  // a heap by bound
  std::vector<std::size_t> batch_;
  std::vector<double> best_of_;  // by feature; -1 if it was not visited
};

/// Rows [begin, end) of a training set.
struct RowRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t count() const { return end - begin; }
};

/// For each feature, the sum of the potentials of the documents with each code. The edge of every threshold
/// is a suffix sum of these.
class Histograms {
 public:
  Histograms(const CodedFeatures& features, RowRange rows, Communicator* communicator = nullptr);

  /// Recomputes the histograms of some features.
  /// in:   potentials - of all documents of the training set
  /// cost: one addition per document and feature, or per two features of few codes; if a feature ranks few
  ///       documents, one per ranked document
  void fill(std::span<const std::size_t> features, std::span<const std::int64_t> potentials,
            unsigned threads);

  /// The sum of the potentials per code; the entry of code 0 (unranked) stays 0.
  std::span<const std::int64_t> of(std::size_t feature) const {
    return {sums_.data() + starts_[feature], starts_[feature + 1] - starts_[feature]};
  }

 private:
  /// The ranked documents of a feature that ranks few: the distance in rows from the previous entry, and the
  /// code. An entry with code 0 only bridges a distance that does not fit in one byte.
  struct Sparse {
    std::vector<std::uint8_t> steps;
    std::vector<std::uint8_t> codes;
  };

  std::size_t size_of(std::size_t feature) const { return starts_[feature + 1] - starts_[feature]; }
  static Sparse sparse_of(std::span<const std::uint8_t> codes);

  bool is_dense(std::size_t feature) const;
  void fill_dense(std::span<const std::size_t> features, std::span<const std::int64_t> potentials);
  void fill_pairs(std::span<const FeaturePair> pairs, std::span<const std::int64_t> potentials);
  void fill_others(std::size_t feature, std::span<const std::int64_t> potentials);

  void add_up_ranks(std::span<const std::size_t> features);

  const std::uint8_t* bytes(std::size_t feature) const { return features_->bytes(feature) + rows_.begin; }

  const CodedFeatures* features_;
  RowRange rows_;
  Communicator* communicator_;
  std::vector<std::size_t> starts_;
  std::vector<std::int64_t> sums_;
  std::vector<Sparse> sparse_;
};

}  // namespace metafuse::fusion::rankboost
