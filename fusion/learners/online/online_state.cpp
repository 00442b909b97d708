// The state of an online ranker as JSON:
// {"method","inputs","ranks","rankers","tau","step","seed","max_votes",
//  "kernel":{"polynomial","degree","max_map","budget"},"steps","weights","thresholds","weight_sums",
//  "correct","stored","stored_count","rules":[{"votes","thresholds","weights"}],"current_votes"}
// and, only for ROMMA, "update","slack","slack_squares".
// "weights" holds N x d numbers for a bank of PRanks and d numbers for Widrow-Hoff, where d is the number of
// inputs, of features of the exact map, or of stored examples. Fields that a method does not have are empty.

#include <cmath>
#include <limits>

#include "fusion/learners/common/state_fields.h"
#include "fusion/learners/online/online_model.h"

namespace metafuse::fusion::online {
namespace {

constexpr OnlineMethod kStoredMethods[] = {OnlineMethod::prank,       OnlineMethod::prank_vp,
                                           OnlineMethod::widrow_hoff, OnlineMethod::oap_bpm,
                                           OnlineMethod::oap_bagg,    OnlineMethod::oap_vp};

Result<OnlineOptions> read_options(const JsonObject& state) {
  StateFields fields(state);
  OnlineOptions options;
  const std::string method = fields.text("method");
  bool is_known = false;
  for (const OnlineMethod each : kStoredMethods)
    if (to_name(each) == method) {
      options.method = each;
      is_known = true;
    }
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
  bool is_rule_known = false;
  for (const StepRule each : {StepRule::perceptron, StepRule::romma, StepRule::aggressive_romma})
    if (to_name(each) == rule) {
      options.prank_step.rule = each;
      is_rule_known = true;
    }
  if (!is_rule_known) return fail(Code::bad_data, "body.update: \"" + rule + "\" is not a known update rule");
  if (!is_known) return fail(Code::bad_data, "body.method: \"" + method + "\" is not a known online ranker");
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

std::vector<double> unpadded(std::span<const double> row, std::size_t numbers) {
  return {row.begin(), row.begin() + static_cast<std::ptrdiff_t>(numbers)};
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

}  // namespace

JsonObject OnlineModel::state() const {
  JsonObject state = to_json(options_);
  state["steps"] = steps_;
  std::vector<double> weights;
  std::vector<double> thresholds;
  std::vector<double> sums;
  if (options_.method == OnlineMethod::widrow_hoff) {
    weights = weights_;
  } else {
    for (std::size_t j = 0; j < bank_.rankers(); ++j) {
      const auto row = unpadded(bank_.weights(j), bank_.dimensions());
      weights.insert(weights.end(), row.begin(), row.end());
      thresholds.insert(thresholds.end(), bank_.thresholds(j).begin(), bank_.thresholds(j).end());
    }
    sums = unpadded(bank_.weight_sums(), bank_.dimensions());
  }
  state["weights"] = to_array(weights);
  state["thresholds"] = to_array(thresholds);
  state["weight_sums"] = to_array(sums);
  state["correct"] = to_array(bank_.correct());
  if (!bank_.slack_squares().empty()) state["slack_squares"] = to_array(bank_.slack_squares());
  state["stored"] = to_array(stored_);
  state["stored_count"] = stored_count_;
  JsonArray rules;
  for (const Voted& rule : rules_)
    rules.push_back(JsonObject{{"votes", rule.votes},
                               {"thresholds", to_array(rule.thresholds)},
                               {"weights", to_array(unpadded(rule.weights, bank_.dimensions()))}});
  state["rules"] = std::move(rules);
  state["current_votes"] = current_votes_;
  return state;
}

Result<OnlineModel> OnlineModel::read(const JsonObject& state) {
  TRY(auto options, read_options(state));
  auto made = make(options);
  if (!made) return fail(Code::bad_data, "body: " + made.error().text);
  OnlineModel& model = *made;
  StateFields fields(state);
  model.steps_ = fields.count("steps");
  const auto weights = fields.numbers("weights");
  const auto thresholds = fields.numbers("thresholds");
  const auto sums = fields.numbers("weight_sums");
  const auto correct = fields.counts("correct");
  const bool is_romma = options.prank_step.rule != StepRule::perceptron;
  const auto slack_squares = is_romma ? fields.numbers("slack_squares") : std::vector<double>();
  const auto stored = fields.numbers("stored");
  model.stored_count_ = fields.count("stored_count");
  model.current_votes_ = fields.count("current_votes");
  const JsonArray* rules = fields.array("rules");
  if (fields.failed()) return fields.error();
  const PrankBank& bank = model.bank_;
  const bool is_bank = options.method != OnlineMethod::widrow_hoff;
  const std::size_t cuts = static_cast<std::size_t>(options.ranks - 1);
  const std::size_t rankers = is_bank ? bank.rankers() : 0;
  if (auto sizes = check_sizes(
          {{"weights", weights.size(), is_bank ? rankers * bank.dimensions() : model.weights_.size()},
           {"thresholds", thresholds.size(), rankers * cuts},
           {"weight_sums", sums.size(), is_bank ? bank.dimensions() : 0},
           {"correct", correct.size(), rankers},
           {"slack_squares", slack_squares.size(), is_romma ? rankers : 0},
           {"stored", stored.size(), model.stored_.size()}});
      !sizes)
    return sizes.error();
  for (const double square : slack_squares)
    if (square < 0.0) return fail(Code::bad_data, "body.slack_squares: below 0");
  if (!are_sorted(thresholds, cuts)) return fail(Code::bad_data, "body.thresholds: not ascending");
  model.stored_ = stored;
  if (is_bank)
    model.bank_.restore(weights, thresholds, sums, correct, slack_squares);
  else
    model.weights_ = weights;
  TRY(model.rules_, model.read_rules(*rules));
  return made;
}

Result<std::vector<OnlineModel::Voted>> OnlineModel::read_rules(const JsonArray& items) const {
  std::vector<Voted> rules;
  for (const Json& item : items) {
    if (!item.is_object()) return fail(Code::bad_data, "body.rules: must contain only objects");
    StateFields fields(item.get_object());
    Voted rule{fields.numbers("weights"), fields.numbers("thresholds"), fields.count("votes")};
    if (fields.failed()) return fields.error();
    if (auto sizes = check_sizes(
            {{"rules.weights", rule.weights.size(), bank_.dimensions()},
             {"rules.thresholds", rule.thresholds.size(), static_cast<std::size_t>(options_.ranks - 1)}});
        !sizes)
      return sizes.error();
    rule.weights.resize(bank_.stride(), 0.0);
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace metafuse::fusion::online
