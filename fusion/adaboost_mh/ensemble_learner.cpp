#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <sstream>

#include "core/random.h"
#include "fusion/adaboost_mh/ensemble_ranker.h"
#include "fusion/adaboost_mh/learner.h"
#include "fusion/adaboost_mh/ranker.h"
#include "fusion/adaboost_mh/training_data.h"
#include "fusion/option_reader.h"
#include "fusion/training_subset.h"

namespace metafuse::fusion::adaboost_mh {
namespace {

struct Options {
  std::vector<BaseSetting> settings;
  std::vector<std::size_t> round_counts;
  std::vector<std::string> others;
  PoolPart part = PoolPart::all;
  double calibration_share = 0.2;
  std::size_t max_thresholds = 255;
  CalibrationOptions calibration;
};

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

Result<std::vector<std::string>> parse_others(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const Learner* learner = find_learner(item);
    if (learner == nullptr || item == "calibrated-adaboost" || item == "adaboost-mh")
      return fail(Code::usage, "--others " + item +
                                   ": no learner that can be a member; such as rankboost, "
                                   "rankboost-plus, mpboost");
    names.push_back(item);
  }
  return names;
}

Result<void> read_lists(const OptionReader& reader, Options& options) {
  const auto or_else = [&](const char* name, const char* fallback) {
    return reader.has(name) ? reader.text(name) : std::string(fallback);
  };
  const auto leaves = parse_list("leaves", or_else("leaves", "5,10,15,20,25,30,35,40,45"), 2, 1000);
  if (!leaves) return leaves.error();
  const auto terms = parse_list("terms", or_else("terms", "2,3,4,5,6,7,8,9,10"), 1, 100);
  if (!terms) return terms.error();
  auto counts = parse_list("rounds", or_else("rounds", "10,20,50,100"), 1, 100'000);
  if (!counts) return counts.error();
  auto others = parse_others(reader.text("others"));
  if (!others) return others.error();
  for (const std::size_t size : *leaves) options.settings.push_back({BaseKind::tree, size});
  for (const std::size_t size : *terms) options.settings.push_back({BaseKind::product, size});
  options.round_counts = std::move(*counts);
  options.others = std::move(*others);
  if (options.round_counts.empty())
    return fail(Code::usage, "--rounds none: give at least one number of rounds");
  if (options.settings.empty() && options.others.empty())
    return fail(Code::usage, "--leaves none --terms none: nothing is left to train");
  return {};
}

Result<Options> read_options(const TrainingRequest& request) {
  OptionReader reader(request.options);
  Options options;
  constexpr PoolPart kParts[] = {PoolPart::all, PoolPart::sigmoids, PoolPart::regressions};
  options.part = kParts[reader.choice("calibration", {"both", "cpc", "rbc"})];
  options.calibration.has_sigmoids = options.part != PoolPart::regressions;
  options.calibration.has_regressions = options.part != PoolPart::sigmoids;
  options.calibration_share = reader.number("calibration-share", 0.2, 0.01, 0.9);
  options.calibration.regression.process_points = reader.count("process-points", 500, 10, 500);
  options.calibration.regression.seed = request.seed;
  options.max_thresholds = reader.count("max-thresholds", 255, 1, 255);
  if (auto outcome = reader.outcome(); !outcome) return outcome.error();
  if (auto lists = read_lists(reader, options); !lists) return lists.error();
  if (options.part == PoolPart::sigmoids && options.settings.empty())
    return fail(Code::usage, "--calibration cpc needs AdaBoost.MH members; give --leaves or --terms");
  return options;
}

/// Queries in a seeded order, cut into parts by shares.
struct Parts {
  TrainingSet training;
  TrainingSet calibration;
  TrainingSet validation;
};

Result<Parts> parts_of(const TrainingRequest& request, double share) {
  const TrainingSet& set = *request.train;
  std::vector<std::size_t> order(set.queries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random(request.seed).shuffle(order);
  const auto count = std::max<std::size_t>(
      1, static_cast<std::size_t>(std::llround(share * static_cast<double>(order.size()))));
  const bool has_validation = request.validate != nullptr;
  const std::size_t held_out = has_validation ? count : 2 * count;
  if (order.size() < held_out + 1)
    return fail(Code::bad_data, std::to_string(order.size()) +
                                    " queries are too few to be split into training, "
                                    "calibration and validation; take adaboost-mh");
  const auto taken = [&](std::size_t begin, std::size_t end) {
    std::vector<std::size_t> queries(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                     order.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(queries.begin(), queries.end());
    return select_queries(set, queries);
  };
  return Parts{taken(held_out, order.size()), taken(0, count),
               has_validation ? *request.validate : taken(count, 2 * count)};
}

Result<Source> other_source(const std::string& name, const TrainingSet& training,
                            const TrainingRequest& request) {
  TrainingRequest inner;
  inner.train = &training;
  inner.seed = request.seed;
  inner.threads = request.threads;
  inner.wants_trace = false;
  auto result = find_learner(name)->train(inner);
  if (!result) return fail(result.error().code, "the member " + name + ": " + result.error().text);
  Source source;
  source.name = name;
  source.ranker = result->model.ranker;
  const auto scores = source.ranker->score(training.matrix);
  source.low = *std::min_element(scores.begin(), scores.end());
  source.high = *std::max_element(scores.begin(), scores.end());
  return source;
}

/// Every source's votes on two sets of documents, a list for each number of rounds.
struct AllVotes {
  std::vector<std::vector<std::vector<double>>> calibration;
  std::vector<std::vector<std::vector<double>>> validation;
};

struct Fitted {
  std::vector<Member> members;
  Ensemble ensemble;
  std::size_t constant = 0;
  std::size_t fitted = 0;
};

Fitted best_ensemble(const std::vector<Source>& sources, const AllVotes& votes, const PoolData& measured,
                     const Options& options, const TrainingRequest& request) {
  Fitted best;
  best.ensemble.quality = -1.0;
  for (std::size_t t = 0; t < options.round_counts.size(); ++t) {
    PoolData data = measured;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      data.calibration_votes.push_back(&votes.calibration[s][t]);
      data.validation_votes.push_back(&votes.validation[s][t]);
    }
    Pool pool = fit_pool(data, options.round_counts[t], options.calibration, request.threads);
    const std::size_t constant = best.constant + pool.constant;
    const std::size_t count = best.fitted + pool.members.size();
    // Another learner's score has regressions only, so with it every part is taken as a whole.
    Ensemble chosen = choose_ensemble(pool, PoolPart::all, measured.validation);
    if (chosen.quality > best.ensemble.quality + 1e-12) {
      for (std::size_t i = 0; i < chosen.members.size(); ++i)
        pool.members[chosen.members[i]].weight = chosen.weights[i];
      best = {std::move(pool.members), std::move(chosen), 0, 0};
    }
    best.constant = constant;
    best.fitted = count;
  }
  return best;
}

TrainingResult result_of(const TrainingRequest& request, const std::vector<double>& grades, CutTable table,
                         std::vector<Source> sources, Fitted best) {
  for (Source& source : sources)
    if (source.classifier.rounds.size() > best.ensemble.rounds)
      source.classifier.rounds.resize(best.ensemble.rounds);
  std::ostringstream text;
  text << "calibrated-adaboost: " << best.members.size() << " members from " << sources.size()
       << " classifiers; chosen on validation: " << best.ensemble.rounds << " rounds, c = " << best.ensemble.c
       << ", NDCG@10 " << best.ensemble.quality << "\n";
  if (best.constant > 0)
    text << best.constant << " of " << best.fitted
         << " calibrations had constant votes to fit and fell back to the mean gain\n";
  const bool is_singular = std::any_of(best.members.begin(), best.members.end(), [](const Member& member) {
    return member.calibration.regression && member.calibration.regression->was_singular;
  });
  if (is_singular) text << "a Gaussian process's kernel matrix was singular and got more jitter\n";
  TrainingResult result;
  result.summary = text.str();
  result.model.learner = "calibrated-adaboost";
  result.model.features = request.train->matrix.features();
  result.model.training = JsonObject{{"rounds", best.ensemble.rounds},
                                     {"c", best.ensemble.c},
                                     {"validation_ndcg_10", best.ensemble.quality},
                                     {"fallbacks", best.constant}};
  result.model.ranker =
      std::make_shared<EnsembleRanker>(grades, std::move(table), std::move(sources), std::move(best.members));
  return result;
}

Result<TrainingResult> train(const TrainingRequest& request) {
  const auto options = read_options(request);
  if (!options) return options.error();
  const auto grades = class_grades(*request.train);
  if (!grades) return grades.error();
  const auto parts = parts_of(request, options->calibration_share);
  if (!parts) return parts.error();
  const auto training = graded_documents(parts->training, *grades);
  const auto calibration = graded_documents(parts->calibration, *grades);
  const auto validation = graded_documents(parts->validation, *grades);
  for (const auto* each : {&training, &calibration, &validation}) {
    if (!*each) return each->error();
    if ((*each)->classes.empty())
      return fail(Code::bad_data,
                  "a part of the queries has no judged document; give more queries, or take adaboost-mh");
  }
  const CodedFeatures coded(training->matrix, ThresholdOptions{options->max_thresholds});
  CutTable table = cut_table(coded);
  std::vector<Source> sources;
  const std::size_t most = options->round_counts.back();
  auto runs = boost_all({&coded, training->classes, grades->size()}, options->settings, most, request.threads,
                        [&](std::size_t done) {
                          if (request.progress) request.progress(done, options->settings.size());
                        });
  for (std::size_t i = 0; i < runs.size(); ++i)
    sources.push_back({options->settings[i].name(), std::move(runs[i].classifier), nullptr, 0.0, 1.0});
  for (const std::string& name : options->others) {
    auto source = other_source(name, parts->training, request);
    if (!source) return source.error();
    sources.push_back(std::move(*source));
  }
  const CodedRows calibration_rows(calibration->matrix, table);
  const CodedRows validation_rows(validation->matrix, table);
  AllVotes votes;
  for (const Source& source : sources) {
    votes.calibration.push_back(
        votes_of(source, calibration->matrix, calibration_rows, options->round_counts));
    votes.validation.push_back(votes_of(source, validation->matrix, validation_rows, options->round_counts));
  }
  const auto gains = gains_of(*grades);
  PoolData measured;
  measured.sources = &sources;
  measured.calibration = {calibration->classes, gains, calibration->queries};
  measured.validation = {validation->classes, gains, validation->queries};
  Fitted best = best_ensemble(sources, votes, measured, *options, request);
  return result_of(request, *grades, std::move(table), std::move(sources), std::move(best));
}

}  // namespace

Learner ensemble_learner() {
  Learner row;
  row.name = "calibrated-adaboost";
  row.meaning = "AdaBoost.MH at many settings, calibrated in thirteen ways, weighted by validation NDCG@10";
  row.source = "Busa-Fekete, Kegl, Elteto, Szarvas 2011";
  row.options = {
      {"leaves", "LIST", "5,10,...,45", "leaves of the trees, or none"},
      {"terms", "LIST", "2,3,...,10", "terms of the products, or none"},
      {"rounds", "LIST", "10,20,50,100", "numbers of rounds; validation chooses one"},
      {"others", "LIST", "", "other learners as members: rankboost, rankboost-plus, mpboost, ..."},
      {"calibration", "both|cpc|rbc", "both", "class probability or regression based calibration"},
      {"calibration-share", "P", "0.2",
       "share of the queries held out for calibration; as many again for validation when none are given"},
      {"process-points", "N", "500", "most points of a Gaussian process, drawn by --seed"},
      {"max-thresholds", "N", "255", "thresholds a feature, at most 255"}};
  row.train = train;
  row.read = read_ensemble;
  return row;
}

}  // namespace metafuse::fusion::adaboost_mh
