#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/learners/online/prank_bank.h"

namespace metafuse::fusion::online {

/// K(x, x') = x . x', or (x . x' + 1)^degree.
struct KernelOptions {
  bool is_polynomial = false;
  int degree = 2;
  std::size_t max_map = 1000;  ///< a polynomial kernel whose exact map has at most so many features uses it
  std::size_t budget = 500;    ///< else so many examples are stored, the oldest making room

  friend bool operator==(const KernelOptions&, const KernelOptions&) = default;
};

/// (x . x' + 1)^degree.
double polynomial_kernel(std::span<const double> left, std::span<const double> right, int degree);

/// Features of the exact map of a polynomial kernel: the monomials of degree at most `degree` in `inputs`
/// variables; saturates instead of overflowing.
std::size_t exact_map_size(std::size_t inputs, int degree);

/// The exact feature map of (x . x' + 1)^degree: every monomial times the root of its
/// multinomial coefficient.
class ExactMap {
 public:
  ExactMap() = default;
  /// Requires degree >= 1 and a map of sensible size.
  ExactMap(std::size_t inputs, int degree);

  std::size_t size() const { return coefficients_.size(); }
  /// Writes size() numbers.
  /// cost:   O(size x degree)
  void apply(std::span<const double> input, double* output) const;

  friend bool operator==(const ExactMap&, const ExactMap&) = default;

 private:
  std::size_t degree_ = 1;
  std::vector<std::size_t> variables_;  // size x degree; 0 is the constant 1, i > 0 is input i - 1
  std::vector<double> coefficients_;
};

enum class OnlineMethod { prank, prank_vp, widrow_hoff, oap_bpm, oap_bagg, oap_vp };

/// "prank", "prank-vp", "widrow-hoff", "oap-bpm", "oap-bagg", "oap-vp".
std::string_view to_name(OnlineMethod method);

/// Whether it is made of N PRanks.
bool is_ensemble(OnlineMethod method);

/// Whether its PRanks may take ROMMA's steps.
bool has_step_rule(OnlineMethod method);

/// "perceptron", "romma", "aggressive-romma".
std::string_view to_name(StepRule rule);

struct OnlineOptions {
  OnlineMethod method = OnlineMethod::oap_bpm;
  std::size_t inputs = 1;     ///< numbers per example
  int ranks = 2;              ///< k
  std::size_t rankers = 100;  ///< N, of the OAP methods
  double tau = 0.3;           ///< probability that a PRank is shown an example, of the OAP methods
  double step = 0.05;         ///< eta, of Widrow-Hoff
  StepOptions prank_step;     ///< of PRank and the OAP methods
  KernelOptions kernel;
  std::size_t max_votes = 10'000;  ///< rules that PRank-VP keeps; beyond, the one with the fewest votes goes
  std::uint64_t seed = 1;

  friend bool operator==(const OnlineOptions&, const OnlineOptions&) = default;
};

/// What a model says of one instance.
struct OnlinePrediction {
  double score = 0.0;  ///< what documents are ordered by
  double rank = 1.0;   ///< predicted rank, real-valued for Widrow-Hoff, OAP-Bagg, OAP-VP and PRank-VP
  int rounded = 1;     ///< the same as one of {1, ..., k}

  friend bool operator==(const OnlinePrediction&, const OnlinePrediction&) = default;
};

/// One of the six online rankers: a value that learns from a stream and can be saved at any step.
///
/// While it learns, PRank-VP predicts with its current rule, as the voted perceptron does in training; its
/// votes count in predict().
/// source: Harrington 2003
class OnlineModel {
 public:
  /// errors: usage, naming the option that is out of range
  static Result<OnlineModel> make(const OnlineOptions& options);

  const OnlineOptions& options() const { return options_; }
  std::uint64_t steps() const { return steps_; }

  /// Predicts each example and then learns from it, in order.
  ///
  /// in:     rows - examples x inputs numbers; ranks - one in {1, ..., k} each
  /// out:    one prediction an example, made before the model had seen its rank
  /// errors: bad_data when Widrow-Hoff's weights leave the range of numbers (its step is too large)
  Result<std::vector<OnlinePrediction>> learn(std::span<const double> rows, std::span<const int> ranks,
                                              unsigned threads = 1);

  /// Requires `inputs` finite numbers.
  OnlinePrediction predict(std::span<const double> row) const;

  /// The weights that a linear model orders by (OAP-BPM: the mean of N); empty for kernels and
  /// voting methods.
  std::vector<double> linear_weights() const;
  /// Adds `weight` to every ranker's weight of one input; linear kernel only.
  void start_from(std::size_t input, double weight);

  /// Everything, so that learning may go on elsewhere: {"method","inputs","ranks",...}.
  JsonObject state() const;
  /// errors: bad_data, naming the field
  static Result<OnlineModel> read(const JsonObject& state);

  const PrankBank& bank() const { return bank_; }
  friend bool operator==(const OnlineModel&, const OnlineModel&) = default;

 private:
  struct Voted {
    std::vector<double> weights;
    std::vector<double> thresholds;
    std::uint64_t votes = 0;
    friend bool operator==(const Voted&, const Voted&) = default;
  };

  bool is_stored() const { return options_.kernel.is_polynomial && map_.size() == 0; }
  bool wants_votes() const;
  std::size_t slot() const { return static_cast<std::size_t>(stored_count_ % options_.kernel.budget); }
  Result<std::vector<Voted>> read_rules(const JsonArray& items) const;
  std::vector<double> features(std::span<const double> input) const;
  void store(std::span<const double> input);
  void keep_rule();
  OnlinePrediction learn_step(std::span<const double> input, int rank);
  OnlinePrediction learn_gradient(std::span<const double> features, std::span<const double> input, int rank);
  void learn_rows(std::span<const double> rows, std::span<const int> ranks, unsigned threads,
                  std::vector<OnlinePrediction>& predictions);
  OnlinePrediction from_bank(const BankPrediction& prediction) const;
  OnlinePrediction real_valued(double prediction) const;
  OnlinePrediction voted_prediction(std::span<const double> features) const;

  OnlineOptions options_;
  std::uint64_t steps_ = 0;
  ExactMap map_;                     // empty: linear, or a kernel with stored examples
  PrankBank bank_;                   // all but Widrow-Hoff
  std::vector<double> weights_;      // Widrow-Hoff
  std::vector<double> stored_;       // budget x inputs
  std::uint64_t stored_count_ = 0;   // examples ever stored
  std::vector<Voted> rules_;         // PRank-VP
  std::uint64_t current_votes_ = 0;  // of its current rule
};

}  // namespace metafuse::fusion::online
