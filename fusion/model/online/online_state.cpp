// The state of an online ranker as JSON:
// {"method","inputs","ranks","rankers","tau","step","seed","max_votes",
//  "kernel":{"polynomial","degree","max_map","budget"},"steps","weights","thresholds","weight_sums",
//  "correct","stored","stored_count","rules":[{"votes","thresholds","weights"}],"current_votes"}
// and, only for ROMMA, "update","slack","slack_squares".
// "weights" holds N x d numbers for a bank of PRanks and d numbers for Widrow-Hoff, where d is the number of
// inputs, of features of the exact map, or of stored examples. Fields that a method does not have are empty.

#include <algorithm>
#include <iterator>
#include <tuple>

#include "fusion/model/online/online_model.h"
#include "fusion/model/state_fields.h"

namespace metafuse::fusion::online {
namespace {

Result<OnlineOptions> read_options(const JsonObject& state) {
  StateFields fields(state);
  OnlineOptions options;
  const std::string name = fields.text("method");
  options.inputs = fields.count("inputs");
  options.ranks = static_cast<int>(fields.count("ranks", 1000));
  options.rankers = fields.count("rankers");
  options.tau = fields.number("tau");
  options.step = fields.number("step");
  options.seed = fields.count("seed");
  options.max_votes = fields.count("max_votes");
  const JsonObject* kernel = fields.object("kernel");
  const std::string rule = state.contains("update") ? fields.text("update") : "perceptron";
  if (rule != "perceptron") options.prank_step.slack = fields.number("slack");
  if (fields.failed()) return fields.error();
  const auto known_rule = std::find(std::begin(kStepRules), std::end(kStepRules), rule);
  if (known_rule == std::end(kStepRules))
    return fail(Code::bad_data, "body.update: \"" + rule + "\" is not a known update rule");
  options.prank_step.rule = static_cast<StepRule>(known_rule - std::begin(kStepRules));
  const auto method = method_of(name);
  if (!method) return fail(Code::bad_data, "body.method: \"" + name + "\" is not a known online ranker");
  options.method = *method;
  StateFields inner(*kernel);
  options.kernel.is_polynomial = inner.flag("polynomial");
  options.kernel.degree = static_cast<int>(inner.count("degree", 1000));
  options.kernel.max_map = inner.count("max_map");
  options.kernel.budget = inner.count("budget", 1'000'000);
  if (inner.failed()) return inner.error();
  if (options.inputs > 10'000'000) return fail(Code::bad_data, "body.inputs: too many; the file is damaged");
  return options;
}

Result<void> check_sizes(std::initializer_list<std::tuple<const char*, std::size_t, std::size_t>> sizes) {
  for (const auto& [name, is, must] : sizes)
    if (is != must)
      return fail(Code::bad_data, std::string("body.") + name + ": has " + std::to_string(is) +
                                      " numbers instead of " + std::to_string(must) +
                                      "; the state has other dimensions");
  return {};
}

/// Rows of another width: with the numbers that fit, and zeros in the rest.
std::vector<double> with_width(std::span<const double> rows, std::size_t width, std::size_t new_width) {
  std::vector<double> resized(rows.empty() ? 0 : rows.size() / width * new_width, 0.0);
  for (std::size_t from = 0, to = 0; from < rows.size(); from += width, to += new_width)
    std::copy_n(&rows[from], std::min(width, new_width), &resized[to]);
  return resized;
}

bool are_sorted(const std::vector<double>& thresholds, std::size_t cuts) {
  for (std::size_t i = 1; i < thresholds.size(); ++i)
    if (i % cuts != 0 && thresholds[i] < thresholds[i - 1]) return false;
  return true;
}

JsonObject to_json(const OnlineOptions& options) {
  const KernelOptions& kernel = options.kernel;
  JsonObject json{{"method", to_name(options.method)},
                  {"inputs", options.inputs},
                  {"ranks", options.ranks},
                  {"rankers", options.rankers},
                  {"tau", options.tau},
                  {"step", options.step},
                  {"seed", options.seed},
                  {"max_votes", options.max_votes},
                  {"kernel", JsonObject{{"polynomial", kernel.is_polynomial},
                                        {"degree", kernel.degree},
                                        {"max_map", kernel.max_map},
                                        {"budget", kernel.budget}}}};
  if (options.prank_step.rule != StepRule::perceptron) {
    json["update"] = to_name(options.prank_step.rule);
    json["slack"] = options.prank_step.slack;
  }
  return json;
}

/// The arrays of a state.
struct Arrays {
  BankState bank;
  std::vector<double> stored;
};

/// errors: bad_data, naming the array that has other dimensions than the options say
Result<Arrays> read_arrays(const JsonObject& state, const OnlineOptions& options, const OnlineSizes& sizes) {
  StateFields fields(state);
  Arrays out;
  BankState& bank = out.bank;
  bank.weights = fields.weights("weights");
  bank.thresholds = fields.weights("thresholds");
  bank.weight_sums = fields.weights("weight_sums");
  bank.correct = fields.counts("correct");
  const bool is_romma = options.prank_step.rule != StepRule::perceptron;
  if (is_romma) bank.slack_squares = fields.numbers("slack_squares");
  out.stored = fields.weights("stored");
  if (fields.failed()) return fields.error();
  const bool is_bank = sizes.rankers > 0;
  TRY_VOID(check_sizes({{"weights", bank.weights.size(),
                         is_bank ? sizes.rankers * sizes.dimensions : padded(sizes.dimensions)},
                        {"thresholds", bank.thresholds.size(), sizes.rankers * sizes.cuts},
                        {"weight_sums", bank.weight_sums.size(), is_bank ? sizes.dimensions : 0},
                        {"correct", bank.correct.size(), sizes.rankers},
                        {"slack_squares", bank.slack_squares.size(), is_romma ? sizes.rankers : 0},
                        {"stored", out.stored.size(), sizes.stored}}));
  for (const double square : bank.slack_squares)
    if (square < 0.0) return fail(Code::bad_data, "body.slack_squares: below 0");
  if (!are_sorted(bank.thresholds, sizes.cuts)) return fail(Code::bad_data, "body.thresholds: not ascending");
  return out;
}

}  // namespace

JsonObject OnlineModel::state() const {
  JsonObject state = to_json(options_);
  const BankState& bank = bank_.state();
  const std::size_t dimensions = bank_.options().dimensions;
  state["steps"] = steps_;
  state["weights"] =
      to_array(is_gradient() ? weights_ : with_width(bank.weights, bank_.stride(), dimensions));
  state["thresholds"] = to_array(bank.thresholds);
  state["weight_sums"] = to_array(with_width(bank.weight_sums, bank_.stride(), dimensions));
  state["correct"] = to_array(bank.correct);
  if (!bank.slack_squares.empty()) state["slack_squares"] = to_array(bank.slack_squares);
  state["stored"] = to_array(stored_);
  state["stored_count"] = stored_count_;
  JsonArray rules;
  for (const Voted& rule : rules_)
    rules.push_back(JsonObject{{"votes", rule.votes},
                               {"thresholds", to_array(rule.thresholds)},
                               {"weights", to_array(with_width(rule.weights, bank_.stride(), dimensions))}});
  state["rules"] = std::move(rules);
  state["current_votes"] = current_votes_;
  return state;
}

Result<OnlineModel> OnlineModel::read(const JsonObject& state) {
  TRY(auto options, read_options(state));
  const auto sizes = sizes_of(options);
  if (!sizes) return fail(Code::bad_data, "body: " + sizes.error().text);
  // What the options ask for is only allocated if the file holds as much.
  TRY(auto arrays, read_arrays(state, options, *sizes));
  TRY(OnlineModel model, make(options));
  StateFields fields(state);
  model.steps_ = fields.count("steps");
  model.stored_count_ = fields.count("stored_count");
  model.current_votes_ = fields.count("current_votes");
  const JsonArray* rules = fields.array("rules");
  if (fields.failed()) return fields.error();
  model.stored_ = std::move(arrays.stored);
  BankState& bank = arrays.bank;
  if (model.is_gradient()) {
    model.weights_ = std::move(bank.weights);
  } else {
    bank.weights = with_width(bank.weights, sizes->dimensions, model.bank_.stride());
    bank.weight_sums.resize(model.bank_.stride(), 0.0);
    model.bank_.restore(std::move(bank));
  }
  TRY(model.rules_, model.read_rules(*rules));
  return model;
}

Result<std::vector<OnlineModel::Voted>> OnlineModel::read_rules(const JsonArray& items) const {
  std::vector<Voted> rules;
  for (const Json& item : items) {
    if (!item.is_object()) return fail(Code::bad_data, "body.rules: must contain only objects");
    StateFields fields(item.get_object());
    Voted rule{fields.weights("weights"), fields.weights("thresholds"), fields.count("votes")};
    if (fields.failed()) return fields.error();
    TRY_VOID(check_sizes(
        {{"rules.weights", rule.weights.size(), bank_.options().dimensions},
         {"rules.thresholds", rule.thresholds.size(), static_cast<std::size_t>(options_.ranks - 1)}}));
    rule.weights.resize(bank_.stride(), 0.0);
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace metafuse::fusion::online
