#pragma once

// The online rankers of Harrington 2003 (PRank, its ensembles, Widrow-Hoff) behind one interface, with linear
// and polynomial kernels. A model's state can be saved and resumed at any step.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/model/online/prank_bank.h"

namespace metafuse::fusion::online {

/// K(x, x') = x . x', or (x . x' + 1)^degree.
struct KernelOptions {
  bool is_polynomial = false;
  int degree = 2;
  std::size_t max_map = 1000;  ///< a polynomial kernel uses its exact map up to this size of the map
  std::size_t budget = 500;    ///< otherwise it stores this many of the latest examples

  friend bool operator==(const KernelOptions&, const KernelOptions&) = default;
};

/// (x . x' + 1)^degree.
double polynomial_kernel(std::span<const double> left, std::span<const double> right, int degree);

/// The number of features of a polynomial kernel's exact map: the monomials of degree at most `degree` in
/// `inputs` variables. Saturates instead of overflowing.
std::size_t exact_map_size(std::size_t inputs, int degree);

/// The exact feature map of (x . x' + 1)^degree: every monomial times the square root of its
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

/// One row of the table of online learners.
struct OnlineMethodRow {
  OnlineMethod method;
  std::string_view name;
  std::string_view meaning;
};

/// In the order of OnlineMethod.
inline constexpr OnlineMethodRow kOnlineMethods[] = {
    {OnlineMethod::prank, "prank", "perceptron, or ROMMA, with ordered thresholds"},
    {OnlineMethod::prank_vp, "prank-vp", "PRank whose past rules vote by the examples they survived"},
    {OnlineMethod::widrow_hoff, "widrow-hoff", "least squares by one gradient step per document"},
    {OnlineMethod::oap_bpm, "oap-bpm",
     "mean of N PRanks, of perceptron or ROMMA, that each see a random part of the stream"},
    {OnlineMethod::oap_bagg, "oap-bagg", "mean rank of the same N PRanks"},
    {OnlineMethod::oap_vp, "oap-vp", "the same, weighted by how often each was right"}};

std::string_view to_name(OnlineMethod method);

/// The method of a learner, by the learner's name; nothing if the learner is not online.
std::optional<OnlineMethod> method_of(std::string_view learner);

/// Whether the method combines N PRanks.
bool is_ensemble(OnlineMethod method);

/// Whether the method's PRanks may use ROMMA's steps.
bool has_step_rule(OnlineMethod method);

/// The names of StepRule, in its order.
inline constexpr std::string_view kStepRules[] = {"perceptron", "romma", "aggressive-romma"};

inline std::string_view to_name(StepRule rule) {
  return kStepRules[static_cast<std::size_t>(rule)];
}

struct OnlineOptions {
  OnlineMethod method = OnlineMethod::oap_bpm;
  std::size_t inputs = 1;     ///< numbers per example
  int ranks = 2;              ///< k
  std::size_t rankers = 100;  ///< N, for the OAP methods
  double tau = 0.3;           ///< probability that a PRank sees an example, for the OAP methods
  double step = 0.05;         ///< eta, for Widrow-Hoff
  StepOptions prank_step;     ///< for PRank and the OAP methods
  KernelOptions kernel;
  std::size_t max_votes = 10'000;  ///< rules kept by PRank-VP; then the one with the fewest votes is dropped
  std::uint64_t seed = 1;

  friend bool operator==(const OnlineOptions&, const OnlineOptions&) = default;
};

/// How many numbers a model of some options has.
struct OnlineSizes {
  std::size_t dimensions = 0;  ///< d: of inputs, of features of the exact map, or of stored examples
  bool has_map = false;        ///< the features are those of the exact map
  std::size_t rankers = 0;     ///< PRanks; 0 for Widrow-Hoff
  std::size_t cuts = 0;        ///< thresholds of each
  std::size_t stored = 0;      ///< numbers of the stored examples
};

/// errors: usage, naming the option that is out of range
Result<OnlineSizes> sizes_of(const OnlineOptions& options);

/// The model's prediction for one instance.
struct OnlinePrediction {
  double score = 0.0;  ///< documents are ordered by it
  double rank = 1.0;   ///< predicted rank, real-valued for Widrow-Hoff, OAP-Bagg, OAP-VP and PRank-VP
  int rounded = 1;     ///< the rank, rounded to one of {1, ..., k}

  friend bool operator==(const OnlinePrediction&, const OnlinePrediction&) = default;
};

/// One of the six online rankers. A value type that learns from a stream and can be saved after any step.
///
/// While it learns, PRank-VP predicts with its current rule, as the voted perceptron does in training. The
/// votes are only used by predict().
/// source: Harrington 2003
class OnlineModel {
 public:
  /// errors: usage, naming the option that is out of range
  static Result<OnlineModel> make(const OnlineOptions& options);

  const OnlineOptions& options() const { return options_; }
  std::uint64_t steps() const { return steps_; }

  /// Predicts each example and then learns from it, in order.
  ///
  /// in:     rows - examples x inputs; ranks - one in {1, ..., k} per example
  /// out:    one prediction per example, made before the model saw the example's rank
  /// errors: bad_data for an example so large that weights could leave the range of a double; then no example
  ///         has changed anything. bad_data also when Widrow-Hoff diverges, because the step is too large;
  ///         then only the examples before that one have changed the model
  Result<std::vector<OnlinePrediction>> learn(std::span<const double> rows, std::span<const int> ranks,
                                              unsigned threads = 1);

  /// Requires `inputs` finite numbers.
  OnlinePrediction predict(std::span<const double> row) const;

  /// The weights by which a linear model orders (OAP-BPM: the mean of N); empty for kernels and
  /// voting methods.
  std::vector<double> linear_weights() const;
  /// Adds `weight` to the weight that every ranker gives one input. Linear kernel only.
  void start_from(std::size_t input, double weight);

  /// The complete state, from which learning can continue elsewhere: {"method","inputs","ranks",...}.
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
  bool is_gradient() const { return options_.method == OnlineMethod::widrow_hoff; }
  std::size_t slot() const { return static_cast<std::size_t>(stored_count_ % options_.kernel.budget); }
  Result<std::vector<Voted>> read_rules(const JsonArray& items) const;
  void map(std::span<const double> input, double* features) const;
  std::vector<double> features(std::span<const double> input) const;
  void store(std::span<const double> input);
  void keep_rule();
  bool is_too_large(std::span<const double> input) const;
  Result<OnlinePrediction> learn_step(std::span<const double> input, int rank);
  Result<OnlinePrediction> learn_gradient(std::span<const double> features, std::span<const double> input,
                                          int rank);
  void learn_rows(std::span<const double> rows, std::span<const int> ranks, unsigned threads,
                  std::vector<OnlinePrediction>& predictions);
  OnlinePrediction from_bank(const BankPrediction& prediction) const;
  OnlinePrediction real_valued(double prediction) const;
  OnlinePrediction voted_prediction(std::span<const double> features) const;

  OnlineOptions options_;
  std::uint64_t steps_ = 0;
  ExactMap map_;                     // empty for the linear kernel and for kernels with stored examples
  PrankBank bank_;                   // of all methods but Widrow-Hoff
  std::vector<double> weights_;      // of Widrow-Hoff
  std::vector<double> stored_;       // budget x inputs
  std::uint64_t stored_count_ = 0;   // number of examples ever stored
  std::vector<Voted> rules_;         // of PRank-VP
  std::uint64_t current_votes_ = 0;  // votes of its current rule
};

}  // namespace metafuse::fusion::online
