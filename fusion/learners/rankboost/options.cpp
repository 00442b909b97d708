#include "fusion/learners/rankboost/options.h"

#include <algorithm>

#include "core/number.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr std::int64_t kMostRounds = 10'000'000;

Error bad_option(const std::string& name, const std::string& value) {
  for (const LearnerOption& row : option_rows())
    if (row.name == name) return fail(Code::usage, "--" + name + " " + value + ": give one of " + row.values);
  return fail(Code::usage, "rankboost has no option --" + name + "; see metafuse train --help");
}

Result<std::size_t> parse_count(const std::string& name, const std::string& value, std::int64_t lowest,
                                std::int64_t highest) {
  std::int64_t number = 0;
  if (!to_integer(value, number) || number < lowest || number > highest)
    return fail(Code::usage, "--" + name + " " + value + ": give a whole number from " +
                                 std::to_string(lowest) + " to " + std::to_string(highest));
  return static_cast<std::size_t>(number);
}

std::string text_of(Options::QDefault value) {
  return value == Options::QDefault::zero ? "0" : value == Options::QDefault::one ? "1" : "learn";
}

}  // namespace

std::vector<LearnerOption> option_rows() {
  return {
      {"rounds", "N", "100", "rounds of boosting"},
      {"weak-learner", "2|3|2.cum|3.cum", "3.cum",
       "2 takes the weak ranking of least Z, 3 that of largest |r|; .cum keeps cumulative weights positive"},
      {"weak-ranking", "threshold|value", "threshold",
       "h thresholds a feature, or is the feature scaled to [0, 1]"},
      {"alpha", "auto|numeric", "auto", "by the weak learner's own formula, or the minimum of Z by search"},
      {"q-default", "0|1|learn", "0", "what a weak ranking says of unranked documents"},
      {"max-thresholds", "N|all", "255", "candidate thresholds a feature, minus infinity among them"},
  };
}

Result<Options> parse_options(const std::map<std::string, std::string>& given) {
  Options options;
  for (const auto& [name, value] : given) {
    if (name == "rounds") {
      TRY(const auto count, parse_count(name, value, 0, kMostRounds));
      options.rounds = count;
    } else if (name == "weak-learner") {
      if (value != "2" && value != "3" && value != "2.cum" && value != "3.cum")
        return bad_option(name, value);
      options.criterion = value[0] == '2' ? Options::Criterion::z : Options::Criterion::r;
      options.is_cumulative = value.ends_with(".cum");
    } else if (name == "weak-ranking") {
      if (value != "threshold" && value != "value") return bad_option(name, value);
      options.is_value = value == "value";
    } else if (name == "alpha") {
      if (value != "auto" && value != "numeric") return bad_option(name, value);
      options.is_numeric = value == "numeric";
    } else if (name == "q-default") {
      if (value != "0" && value != "1" && value != "learn") return bad_option(name, value);
      options.q_default = value == "0"   ? Options::QDefault::zero
                          : value == "1" ? Options::QDefault::one
                                         : Options::QDefault::learn;
    } else if (name == "max-thresholds") {
      if (value == "all") {
        options.thresholds.max_thresholds = ThresholdOptions::kAll;
        continue;
      }
      TRY(const auto count, parse_count(name, value, 1, 1'000'000'000));
      options.thresholds.max_thresholds = count;
    } else {
      return bad_option(name, value);
    }
  }
  if (options.is_value && options.criterion == Options::Criterion::z)
    return fail(Code::usage,
                "--weak-ranking value needs --weak-learner 3 or 3.cum: weak learner 2 is for {0,1}-valued "
                "weak rankings");
  return options;
}

JsonObject options_json(const Options& options) {
  JsonObject json;
  json["rounds"] = options.rounds;
  json["weak_learner"] = std::string(options.criterion == Options::Criterion::z ? "2" : "3") +
                         (options.is_cumulative ? ".cum" : "");
  json["weak_ranking"] = options.is_value ? "value" : "threshold";
  json["alpha"] = options.is_numeric ? "numeric" : "auto";
  json["q_default"] = text_of(options.q_default);
  json["max_thresholds"] = options.thresholds.max_thresholds == ThresholdOptions::kAll
                               ? std::string("all")
                               : std::to_string(options.thresholds.max_thresholds);
  return json;
}

}  // namespace metafuse::fusion::rankboost
