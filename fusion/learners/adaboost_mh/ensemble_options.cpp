#include "fusion/learners/adaboost_mh/ensemble_options.h"

#include <charconv>
#include <sstream>

#include "fusion/learners/common/option_reader.h"

namespace metafuse::fusion::adaboost_mh {
namespace {

/// "5,10,15": ascending whole numbers; "none" is an empty list.
Result<std::vector<std::size_t>> parse_list(const std::string& name, const std::string& text,
                                            std::size_t least, std::size_t most) {
  std::vector<std::size_t> numbers;
  if (text == "none") return numbers;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), value);
    const bool is_good =
        error == std::errc() && end == item.data() + item.size() && value >= least && value <= most;
    if (!is_good || (!numbers.empty() && value <= numbers.back()))
      return fail(Code::usage, "--" + name + " " + text + ": give ascending whole numbers from " +
                                   std::to_string(least) + " to " + std::to_string(most) +
                                   " with commas, or none");
    numbers.push_back(value);
  }
  return numbers;
}

Result<std::vector<const Learner*>> parse_others(const std::string& text, std::span<const Learner> others) {
  std::vector<const Learner*> members;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const Learner* learner = find_other(others, item);
    if (learner == nullptr)
      return fail(Code::usage, "--others " + item +
                                   ": no learner that can be a member; such as rankboost, "
                                   "rankboost-plus, mpboost");
    members.push_back(learner);
  }
  return members;
}

Result<void> read_lists(const OptionReader& reader, std::span<const Learner> allowed,
                        EnsembleOptions& options) {
  const auto or_else = [&](const char* name, const char* fallback) {
    return reader.has(name) ? reader.text(name) : std::string(fallback);
  };
  TRY(const auto leaves, parse_list("leaves", or_else("leaves", "5,10,15,20,25,30,35,40,45"), 2, 1000));
  TRY(const auto terms, parse_list("terms", or_else("terms", "2,3,4,5,6,7,8,9,10"), 1, 100));
  TRY(auto counts, parse_list("rounds", or_else("rounds", "10,20,50,100"), 1, 100'000));
  TRY(auto others, parse_others(reader.text("others"), allowed));
  for (const std::size_t size : leaves) options.settings.push_back({BaseKind::tree, size});
  for (const std::size_t size : terms) options.settings.push_back({BaseKind::product, size});
  options.round_counts = std::move(counts);
  options.others = std::move(others);
  if (options.round_counts.empty())
    return fail(Code::usage, "--rounds none: give at least one number of rounds");
  if (options.settings.empty() && options.others.empty())
    return fail(Code::usage, "--leaves none --terms none: nothing is left to train");
  return {};
}

}  // namespace

std::vector<LearnerOption> ensemble_option_rows() {
  return {{"leaves", "LIST", "5,10,...,45", "leaves of the trees, or none"},
          {"terms", "LIST", "2,3,...,10", "terms of the products, or none"},
          {"rounds", "LIST", "10,20,50,100", "numbers of rounds; validation chooses one"},
          {"others", "LIST", "", "other learners as members: rankboost, rankboost-plus, mpboost, ..."},
          {"calibration", "both|cpc|rbc", "both", "class probability or regression based calibration"},
          {"calibration-share", "P", "0.2",
           "share of the documents that each classifier leaves out to be calibrated on (of the queries, for "
           "--others); as large a share of the queries for validation when none are given"},
          {"process-points", "N", "500", "most points of a Gaussian process, drawn by --seed"},
          {"max-thresholds", "N", "255", "thresholds a feature, at most 255"}};
}

const Learner* find_other(std::span<const Learner> others, std::string_view name) {
  for (const Learner& learner : others)
    if (learner.name == name) return &learner;
  return nullptr;
}

Result<EnsembleOptions> read_ensemble_options(const TrainingRequest& request,
                                              std::span<const Learner> others) {
  OptionReader reader(request.options);
  EnsembleOptions options;
  constexpr PoolPart kParts[] = {PoolPart::all, PoolPart::sigmoids, PoolPart::regressions};
  options.part = kParts[reader.choice("calibration", {"both", "cpc", "rbc"})];
  options.calibration.has_sigmoids = options.part != PoolPart::regressions;
  options.calibration.has_regressions = options.part != PoolPart::sigmoids;
  options.calibration_share = reader.number("calibration-share", 0.2, 0.01, 0.9);
  options.calibration.regression.process_points = reader.count("process-points", 500, 10, 500);
  options.calibration.regression.seed = request.seed;
  options.max_thresholds = reader.count("max-thresholds", 255, 1, 255);
  TRY_VOID(reader.outcome());
  TRY_VOID(read_lists(reader, others, options));
  if (options.part == PoolPart::sigmoids && options.settings.empty())
    return fail(Code::usage, "--calibration cpc needs AdaBoost.MH members; give --leaves or --terms");
  return options;
}

}  // namespace metafuse::fusion::adaboost_mh
