#include "fusion/model/online/online_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/contract.h"
#include "fusion/model/online/prank_bank.h"

namespace metafuse::fusion::online {

double polynomial_kernel(std::span<const double> left, std::span<const double> right, int degree) {
  double base = 1.0;
  for (std::size_t i = 0; i < left.size(); ++i) base += left[i] * right[i];
  double power = 1.0;
  for (int i = 0; i < degree; ++i) power *= base;
  return power;
}

std::size_t exact_map_size(std::size_t inputs, int degree) {
  double size = 1.0;
  for (int i = 1; i <= degree; ++i) size = size * (static_cast<double>(inputs) + i) / i;
  constexpr double kHuge = 1e15;
  return static_cast<std::size_t>(size < kHuge ? std::llround(size) : std::llround(kHuge));
}

namespace {
constexpr std::size_t kLargestMap = 10'000'000;
}

ExactMap::ExactMap(std::size_t inputs, int degree) : degree_(static_cast<std::size_t>(degree)) {
  require(degree >= 1, "a polynomial kernel has degree 1 at least");
  require(exact_map_size(inputs, degree) <= kLargestMap, "an exact map must fit into memory");
  std::vector<std::size_t> choice(degree_, 0);  // variables in ascending order, so each monomial occurs once
  for (;;) {
    double coefficient = 1.0;
    std::size_t run = 0;
    for (std::size_t i = 0; i < degree_; ++i) {
      run = i > 0 && choice[i] == choice[i - 1] ? run + 1 : 1;
      coefficient *= static_cast<double>(i + 1) / static_cast<double>(run);
    }
    variables_.insert(variables_.end(), choice.begin(), choice.end());
    coefficients_.push_back(std::sqrt(coefficient));
    std::size_t place = degree_;
    while (place > 0 && choice[place - 1] == inputs) --place;
    if (place == 0) break;
    const std::size_t next = choice[place - 1] + 1;
    for (std::size_t i = place - 1; i < degree_; ++i) choice[i] = next;
  }
}

void ExactMap::apply(std::span<const double> input, double* output) const {
  for (std::size_t m = 0; m < coefficients_.size(); ++m) {
    double product = coefficients_[m];
    for (std::size_t i = 0; i < degree_; ++i) {
      const std::size_t variable = variables_[m * degree_ + i];
      if (variable > 0) product *= input[variable - 1];
    }
    output[m] = product;
  }
}

namespace {

constexpr double kLeastSlack = 1e-6;
// No example may be longer than this under the kernel. PRank's weights are then sums of numbers of this size,
// and their products with features remain finite.
constexpr double kLongest = 1e100;

/// Whether predictions need the rank that each PRank predicts.
bool has_votes(OnlineMethod method) {
  return method == OnlineMethod::oap_bagg || method == OnlineMethod::oap_vp;
}

Result<void> check(const OnlineOptions& options) {
  const auto refuse = [](std::string text) { return Result<void>(fail(Code::usage, std::move(text))); };
  if (options.inputs == 0) return refuse("an online ranker needs at least one feature");
  if (options.ranks < 2)
    return refuse("an online ranker needs at least two grades; one class cannot be ranked");
  if (is_ensemble(options.method) && (options.rankers == 0 || options.rankers > 1'000'000))
    return refuse("--rankers must be from 1 to 1000000");
  if (!(options.tau > 0.0 && options.tau <= 1.0)) return refuse("--tau must be above 0 and at most 1");
  if (!(options.step > 0.0 && std::isfinite(options.step))) return refuse("--step must be above 0");
  if (options.kernel.degree < 1 || options.kernel.degree > 20) return refuse("--degree must be from 1 to 20");
  if (options.kernel.max_map > kLargestMap) return refuse("--max-map must be at most 10000000");
  if (options.kernel.budget == 0) return refuse("--budget must be 1 or more");
  if (options.max_votes == 0) return refuse("--max-votes must be 1 or more");
  if (options.prank_step.rule == StepRule::perceptron) return {};
  if (!has_step_rule(options.method))
    return refuse("--update: only prank and the OAP learners have this option; leave it out");
  if (!(options.prank_step.slack >= kLeastSlack && options.prank_step.slack <= 1.0 / kLeastSlack))
    return refuse("--slack must be from 0.000001 to 1000000");
  if (options.kernel.is_polynomial &&
      exact_map_size(options.inputs, options.kernel.degree) > options.kernel.max_map)
    return refuse("--update romma needs the kernel's exact map, of " +
                  std::to_string(exact_map_size(options.inputs, options.kernel.degree)) +
                  " features here; raise --max-map, or use --update perceptron");
  return {};
}

}  // namespace

std::string_view to_name(OnlineMethod method) {
  return kOnlineMethods[static_cast<std::size_t>(method)].name;
}

std::optional<OnlineMethod> method_of(std::string_view learner) {
  for (const OnlineMethodRow& row : kOnlineMethods)
    if (row.name == learner) return row.method;
  return std::nullopt;
}

bool has_step_rule(OnlineMethod method) {
  return method == OnlineMethod::prank || is_ensemble(method);
}

bool is_ensemble(OnlineMethod method) {
  return method == OnlineMethod::oap_bpm || method == OnlineMethod::oap_bagg ||
         method == OnlineMethod::oap_vp;
}

Result<OnlineSizes> sizes_of(const OnlineOptions& options) {
  TRY_VOID(check(options));
  OnlineSizes sizes;
  sizes.dimensions = options.inputs;
  if (const KernelOptions& kernel = options.kernel; kernel.is_polynomial) {
    const std::size_t map_size = exact_map_size(options.inputs, kernel.degree);
    sizes.has_map = map_size <= kernel.max_map;
    sizes.dimensions = sizes.has_map ? map_size : kernel.budget;
    if (!sizes.has_map) sizes.stored = kernel.budget * options.inputs;
  }
  if (options.method == OnlineMethod::widrow_hoff) return sizes;
  sizes.rankers = is_ensemble(options.method) ? options.rankers : 1;
  sizes.cuts = static_cast<std::size_t>(options.ranks - 1);
  return sizes;
}

Result<OnlineModel> OnlineModel::make(const OnlineOptions& options) {
  TRY(const OnlineSizes sizes, sizes_of(options));
  OnlineModel model;
  model.options_ = options;
  if (sizes.has_map) model.map_ = ExactMap(options.inputs, options.kernel.degree);
  model.stored_.assign(sizes.stored, 0.0);
  if (model.is_gradient()) {
    model.weights_.assign(padded(sizes.dimensions), 0.0);
    return model;
  }
  model.bank_ = PrankBank({sizes.rankers, sizes.dimensions, options.ranks,
                           is_ensemble(options.method) ? options.tau : 1.0, options.seed, options.prank_step,
                           has_votes(options.method)});
  return model;
}

/// Writes the features of an input: its own numbers, those of the exact map, or the kernel's values for the
/// stored examples.
void OnlineModel::map(std::span<const double> input, double* features) const {
  if (map_.size() > 0) return map_.apply(input, features);
  if (!is_stored()) {
    std::copy(input.begin(), input.end(), features);
    return;
  }
  const auto count = std::min<std::uint64_t>(stored_count_, options_.kernel.budget);
  for (std::size_t i = 0; i < count; ++i)
    features[i] =
        polynomial_kernel({&stored_[i * options_.inputs], options_.inputs}, input, options_.kernel.degree);
}

std::vector<double> OnlineModel::features(std::span<const double> input) const {
  std::vector<double> row(is_gradient() ? weights_.size() : bank_.stride(), 0.0);
  map(input, row.data());
  return row;
}

void OnlineModel::store(std::span<const double> input) {
  const std::size_t place = slot();
  std::copy(input.begin(), input.end(),
            stored_.begin() + static_cast<std::ptrdiff_t>(place * options_.inputs));
  for (Voted& rule : rules_) rule.weights[place] = 0.0;
  ++stored_count_;
}

OnlinePrediction OnlineModel::real_valued(double prediction) const {
  return {prediction, prediction, nearest_rank(prediction, options_.ranks)};
}

OnlinePrediction OnlineModel::from_bank(const BankPrediction& prediction) const {
  if (options_.method == OnlineMethod::oap_bagg) return real_valued(prediction.bagged);
  if (options_.method == OnlineMethod::oap_vp) return real_valued(prediction.voted);
  return {prediction.score, static_cast<double>(prediction.point), prediction.point};
}

/// Whether the square of an example's length, K(x, x), is not a number of sensible size.
bool OnlineModel::is_too_large(std::span<const double> input) const {
  const double square = options_.kernel.is_polynomial
                            ? polynomial_kernel(input, input, options_.kernel.degree)
                            : std::inner_product(input.begin(), input.end(), input.begin(), 0.0);
  return !(square <= kLongest * kLongest);
}

Result<OnlinePrediction> OnlineModel::learn_gradient(std::span<const double> features,
                                                     std::span<const double> input, int rank) {
  const double value = padded_dot(weights_.data(), features.data(), weights_.size());
  const double move = options_.step * (rank - value);
  if (!(std::abs(move) <= kLongest))
    return fail(Code::bad_data, "after " + std::to_string(steps_) +
                                    " examples the weights would overflow; use a smaller --step or scale the "
                                    "features");
  if (is_stored()) {
    weights_[slot()] = move;
    store(input);
  } else {
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] += move * features[i];
  }
  return real_valued(value);
}

void OnlineModel::keep_rule() {
  if (current_votes_ == 0) return;
  Voted rule{{bank_.weights(0).begin(), bank_.weights(0).end()},
             {bank_.thresholds(0).begin(), bank_.thresholds(0).end()},
             current_votes_};
  current_votes_ = 0;
  if (rules_.size() < options_.max_votes) {
    rules_.push_back(std::move(rule));
    return;
  }
  const auto weakest = std::min_element(rules_.begin(), rules_.end(),
                                        [](const Voted& a, const Voted& b) { return a.votes < b.votes; });
  if (weakest->votes >= rule.votes) return;
  rules_.erase(weakest);
  rules_.push_back(std::move(rule));
}

Result<OnlinePrediction> OnlineModel::learn_step(std::span<const double> input, int rank) {
  const std::vector<double> row = features(input);
  if (is_gradient()) return learn_gradient(row, input, rank);
  BankPrediction prediction = bank_.predict(row.data());
  if (options_.method == OnlineMethod::prank_vp) {
    if (prediction.point == rank)
      ++current_votes_;
    else
      keep_rule();
  }
  if (is_stored()) {
    if (bank_.learn_stored(row.data(), rank, steps_, slot())) store(input);
  } else {
    bank_.learn({row.data(), {&rank, 1}, steps_}, 1, {&prediction, 1});
  }
  return from_bank(prediction);
}

void OnlineModel::learn_rows(std::span<const double> rows, std::span<const int> ranks, unsigned threads,
                             std::vector<OnlinePrediction>& predictions) {
  constexpr std::size_t kRows = 1024;  // examples mapped at a time
  const std::size_t stride = bank_.stride();
  for (std::size_t begin = 0; begin < ranks.size(); begin += kRows) {
    const std::size_t count = std::min(kRows, ranks.size() - begin);
    std::vector<double> mapped(count * stride, 0.0);
    for (std::size_t t = 0; t < count; ++t)
      map(rows.subspan((begin + t) * options_.inputs, options_.inputs), &mapped[t * stride]);
    std::vector<BankPrediction> block(count);
    bank_.learn({mapped.data(), ranks.subspan(begin, count), steps_}, threads, block);
    steps_ += count;
    for (const BankPrediction& prediction : block) predictions.push_back(from_bank(prediction));
  }
}

Result<std::vector<OnlinePrediction>> OnlineModel::learn(std::span<const double> rows,
                                                         std::span<const int> ranks, unsigned threads) {
  require(rows.size() == ranks.size() * options_.inputs, "rows hold `inputs` numbers per example");
  for (std::size_t t = 0; t < ranks.size(); ++t) {
    require(ranks[t] >= 1 && ranks[t] <= options_.ranks, "ranks are 1 to k");
    if (is_too_large(rows.subspan(t * options_.inputs, options_.inputs)))
      return fail(
          Code::bad_data,
          options_.kernel.is_polynomial
              ? "an example exceeds 1e100 under the kernel; scale the features or use a lower --degree"
              : "an example exceeds 1e100; scale the features");
  }
  std::vector<OnlinePrediction> predictions;
  predictions.reserve(ranks.size());
  if (is_ensemble(options_.method) && !is_stored()) {
    learn_rows(rows, ranks, threads, predictions);
    return predictions;
  }
  for (std::size_t t = 0; t < ranks.size(); ++t) {
    TRY(const auto said, learn_step(rows.subspan(t * options_.inputs, options_.inputs), ranks[t]));
    predictions.push_back(said);
    ++steps_;
  }
  return predictions;
}

OnlinePrediction OnlineModel::voted_prediction(std::span<const double> features) const {
  std::uint64_t votes = current_votes_;
  auto sum =
      static_cast<double>(current_votes_ * static_cast<std::uint64_t>(bank_.predict(features.data()).point));
  for (const Voted& rule : rules_) {
    const int rank =
        rank_of(padded_dot(rule.weights.data(), features.data(), rule.weights.size()), rule.thresholds);
    votes += rule.votes;
    sum += static_cast<double>(rule.votes) * rank;
  }
  if (votes == 0) return from_bank(bank_.predict(features.data()));
  return real_valued(sum / static_cast<double>(votes));
}

OnlinePrediction OnlineModel::predict(std::span<const double> row) const {
  require(row.size() == options_.inputs, "an instance has the model's number of inputs");
  const std::vector<double> mapped = features(row);
  if (is_gradient()) return real_valued(padded_dot(weights_.data(), mapped.data(), weights_.size()));
  if (options_.method == OnlineMethod::prank_vp) return voted_prediction(mapped);
  return from_bank(bank_.predict(mapped.data()));
}

std::vector<double> OnlineModel::linear_weights() const {
  if (options_.kernel.is_polynomial || has_votes(options_.method) ||
      options_.method == OnlineMethod::prank_vp)
    return {};
  if (is_gradient())
    return {weights_.begin(), weights_.begin() + static_cast<std::ptrdiff_t>(options_.inputs)};
  std::vector<double> mean(options_.inputs);
  for (std::size_t i = 0; i < mean.size(); ++i)
    mean[i] = bank_.state().weight_sums[i] / static_cast<double>(bank_.options().rankers);
  return mean;
}

void OnlineModel::start_from(std::size_t input, double weight) {
  require(!options_.kernel.is_polynomial && input < options_.inputs,
          "only a linear ranker starts from a weight");
  if (is_gradient())
    weights_[input] += weight;
  else
    bank_.start_from(input, weight);
}

}  // namespace metafuse::fusion::online
