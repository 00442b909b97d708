// Fusion on MQ2007-agg and MQ2008-agg over the five official folds: RankBoost, its bagged form and monotone
// trees against RRF, CombMNZ, Borda and SearXNG's formula, and against the runs in options.peer_runs.
// Validation parts choose one configuration of ours for both sets, the number of rounds for each set, and the
// peer's configuration; only then are the test parts read, once.
#include "lab/experiments/letor_agg.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "core/keyed_hash.h"
#include "evaluation/runs/run_file.h"
#include "evaluation/significance/significance.h"
#include "fusion/input/input_files.h"
#include "fusion/training/cross_validation.h"
#include "lab/experiments/data_sets.h"

namespace metafuse::lab::experiments {
namespace letor_agg {
namespace {

constexpr std::array kMeasureTitles = {"NDCG@10", "MeanNDCG", "MAP"};
constexpr std::size_t kMeasureCount = kMeasureTitles.size();

/// The values of one method on the queries of one or more parts: queries x measures.
using Values = std::vector<std::vector<double>>;

/// The criterion by which configurations and numbers of rounds are chosen: the mean of the three measures.
double criterion(const Values& values) {
  return mean_of(means_of(values));
}

/// in: expected - the features that the parts must have; empty: any
Result<fusion::TrainingSet> read_parts(const std::vector<std::string>& files, const Reading& reading,
                                       const std::vector<fusion::Feature>& expected = {}) {
  fusion::TrainingInput input;
  input.letor_ranks = files;
  input.query_weights = reading.query_weights;
  input.feedback.grade_weights = fusion::FeedbackOptions::GradeWeights::one;
  input.derive = reading.derive;
  input.expected = expected;
  return fusion::read_training_set(input);
}

struct Rounds {
  std::size_t count = 0;
  double value = -1.0;
};

/// The number of rounds with the highest mean over the folds. A fold whose training ended early keeps its
/// last value.
Rounds best_rounds(const std::vector<std::vector<double>>& curves) {
  std::size_t longest = 0;
  for (const auto& curve : curves) longest = std::max(longest, curve.size());
  Rounds best;
  for (std::size_t t = 0; t < longest; ++t) {
    double mean = 0.0;
    for (const auto& curve : curves)
      if (!curve.empty()) mean += curve[std::min(t, curve.size() - 1)] / static_cast<double>(curves.size());
    if (mean > best.value) best = {t + 1, mean};
  }
  return best;
}

std::string rounds_text(const Ours& ours) {
  return fmt::format("{}, {}", ours.rounds.at(kSets[0]), ours.rounds.at(kSets[1]));
}

/// The names of the folders, sorted; none for an empty path.
Result<std::vector<std::string>> peer_configurations(const std::string& folder) {
  std::vector<std::string> names;
  if (folder.empty()) return names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  if (error) return fail(Code::no_input, folder + ": " + error.message() + "; --peer-runs must be a folder");
  if (names.empty())
    return fail(Code::no_input,
                folder + ": contains no configuration folder; create it with scripts/letor-agg-xgboost");
  std::sort(names.begin(), names.end());
  return names;
}

/// Evaluates a peer's run on the documents of a part, with the usual rule for ties.
///
/// in: part - "validation" or "test", whose documents are in `set`; "refitted" is the test part, ranked by a
///     model trained on training and validation parts
Result<Values> peer_values(const std::string& folder, const std::string& configuration, const Fold& fold,
                           const std::string& part, const fusion::TrainingSet& set,
                           const evaluation::MeasureSet& measures) {
  const std::string path =
      with_packing(fmt::format("{}/{}/{}/fold{}/{}.run", folder, configuration, fold.set, fold.number, part));
  TRY(const auto run, evaluation::read_run(path));
  std::vector<double> scores(set.grades.size(), 0.0);
  for (const fusion::QueryRange& query : set.queries) {
    TextViewMap<double> by_document;
    if (const evaluation::RunTopic* topic = run.find(query.id))
      for (const evaluation::RunEntry& entry : topic->entries) by_document[entry.document] = entry.score;
    for (std::size_t row = query.begin; row < query.end; ++row) {
      const auto found = by_document.find(set.documents[row]);
      if (found == by_document.end())
        return fail(
            Code::bad_data,
            fmt::format(
                "{}: no score for document {} of query {}; a run must contain every document of its part",
                path, std::string_view(set.documents[row]), query.id));
      scores[row] = found->second;
    }
  }
  return QueryMeasures(set, measures).of(scores);
}

/// The values of every method on the test parts.
struct Outcome {
  std::vector<std::string> methods;                   ///< the first is ours
  std::map<std::string, std::vector<Values>> by_set;  ///< per set: one Values per method
};

/// Ours minus another method in one measure, with its 95 % bootstrap interval and the p value of the paired
/// randomisation test.
struct Difference {
  double mean = 0.0;
  evaluation::Interval interval;
  double p = 1.0;
};

Difference difference_of(const Values& ours, const Values& theirs, std::size_t measure, std::uint64_t seed) {
  std::vector<double> a, b, gain;
  for (std::size_t q = 0; q < ours.size(); ++q) {
    a.push_back(ours[q][measure]);
    b.push_back(theirs[q][measure]);
    gain.push_back(a.back() - b.back());
  }
  Difference difference;
  for (const double value : gain) difference.mean += value / static_cast<double>(gain.size());
  difference.interval = evaluation::bootstrap_interval(gain, seed);
  difference.p = evaluation::randomisation_test(a, b, seed);
  return difference;
}

void describe_set(const std::string& set, const std::vector<std::string>& methods,
                  const std::vector<Values>& values, std::uint64_t seed, Report& report) {
  Table means{{{fmt::format("{}, {} queries", set, values[0].size())}}};
  Table gains{{{"ours less"}}};
  for (const char* title : kMeasureTitles) {
    means.rows[0].emplace_back(title);
    gains.rows[0].emplace_back(title);
  }
  for (std::size_t method = 0; method < values.size(); ++method) {
    const std::vector<double> mean = means_of(values[method]);
    means.add(methods[method], mean, 4);
    if (method > 0) gains.add({methods[method]});
    for (std::size_t m = 0; m < kMeasureCount; ++m) {
      if (method == 0) continue;
      const Difference difference = difference_of(values[0], values[method], m, seed);
      const auto& [low, high] = difference.interval;
      gains.rows.back().push_back(fmt::format("{:+.4f} [{:+.4f}, {:+.4f}] p {}", difference.mean, low, high,
                                              difference.p < 0.0001 ? "< .0001" : fixed(difference.p, 4)));
    }
  }
  report.add(means);
  if (values.size() > 1) report.add(gains);
}

void append(Values& to, const Values& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// Adds to the report the means of every method, and ours minus each other one, for each set and for the
/// queries of both together, in each measure.
void describe(const Outcome& outcome, std::uint64_t seed, Report& report) {
  std::vector<Values> both(outcome.methods.size());
  for (const char* set : kSets) {
    const std::vector<Values>& values = outcome.by_set.at(set);
    describe_set(set, outcome.methods, values, seed, report);
    for (std::size_t method = 0; method < both.size(); ++method) append(both[method], values[method]);
  }
  describe_set("both sets", outcome.methods, both, seed, report);
}

/// The values on a fold's test part of our model, trained on the given parts.
Result<Values> test_ours(const Fold& fold, const std::vector<std::string>& parts, const Ours& ours,
                         const QueryMeasures& measures, const ExperimentOptions& options) {
  const Candidate& candidate = ours.candidate;
  TRY(const auto set, read_parts(parts, candidate.reading));
  Method method = candidate.method;
  method.options["rounds"] = std::to_string(ours.rounds.at(fold.set));
  fusion::TrainingRequest request;
  request.seed = options.seed;
  request.threads = options.threads;
  TRY(const auto model, train(method, set, request));
  TRY(const auto test, read_parts({fold.test}, candidate.reading, model.features));
  return measures.of(model.ranker->score(test.matrix));
}

/// The values of each method without training on a part.
std::vector<Values> test_baselines(const fusion::TrainingSet& lists, const QueryMeasures& measures) {
  std::vector<Values> values;
  for (const fusion::Baseline& baseline : fusion::rank_baselines()) {
    std::vector<double> scores(lists.grades.size());
    for (const fusion::QueryRange& query : lists.queries) {
      const auto part = baseline.score(lists.matrix, query.begin, query.end);
      std::copy(part.begin(), part.end(), scores.begin() + static_cast<std::ptrdiff_t>(query.begin));
    }
    values.push_back(measures.of(scores));
  }
  return values;
}

/// The results on the test parts: of models trained on the training parts, and of models trained again on
/// training and validation parts once nothing is left to choose.
struct Tested {
  Outcome plain;
  Outcome refitted;
};

Result<void> test_fold(const Fold& fold, const Ours& ours, const std::vector<std::string>& peers,
                       const evaluation::MeasureSet& measures, const ExperimentOptions& options,
                       Tested& tested) {
  // Derived features are not lists, so the methods without training read the part without them.
  TRY(const auto lists, read_parts({fold.test}, {}));
  const QueryMeasures measured(lists, measures);
  const auto add = [&](Outcome& outcome, const std::vector<std::string>& parts, const char* peer_part,
                       std::vector<Values> others) -> Result<void> {
    TRY(auto own, test_ours(fold, parts, ours, measured, options));
    others.insert(others.begin(), std::move(own));
    for (const std::string& peer : peers) {
      TRY(auto theirs, peer_values(options.peer_runs, peer, fold, peer_part, lists, measures));
      others.push_back(std::move(theirs));
    }
    std::vector<Values>& values = outcome.by_set[fold.set];
    values.resize(others.size());
    for (std::size_t i = 0; i < others.size(); ++i) append(values[i], others[i]);
    return {};
  };
  std::vector<std::string> more = fold.train;
  more.push_back(fold.validate);
  TRY_VOID(add(tested.plain, fold.train, "test", test_baselines(lists, measured)));
  return add(tested.refitted, more, "refitted", {});
}

Result<void> test_all(const std::vector<Fold>& folds, const Ours& ours, const std::vector<std::string>& peers,
                      const evaluation::MeasureSet& measures, const ExperimentOptions& options,
                      Report& report) {
  Tested tested;
  tested.plain.methods = tested.refitted.methods = {ours.candidate.method.name};
  for (const fusion::Baseline& baseline : fusion::rank_baselines())
    tested.plain.methods.push_back(baseline.name);
  for (Outcome* outcome : {&tested.plain, &tested.refitted})
    outcome->methods.insert(outcome->methods.end(), peers.begin(), peers.end());
  for (const Fold& fold : folds) TRY_VOID(test_fold(fold, ours, peers, measures, options, tested));
  report.text += "Test parts\n\n";
  describe(tested.plain, options.seed, report);
  report.text += "Test parts, refitted on training and validation parts\n\n";
  describe(tested.refitted, options.seed, report);
  return {};
}

}  // namespace

Result<std::vector<Fold>> official_folds(const std::string& data) {
  std::vector<Fold> folds;
  for (const char* set : kSets) {
    std::vector<std::string> parts;
    for (std::size_t part = 1; part <= kFolds; ++part) {
      parts.push_back(aggregation_part(data, set, part));
      if (!std::filesystem::exists(parts.back()))
        return fail(Code::no_input, parts.back() +
                                        ": no such file, nor compressed as .xz, .gz or .zst; --data must be "
                                        "the folder that contains letor4-agg");
    }
    for (int first = 0; first < kFolds; ++first) {
      const auto part = [&](int i) { return parts[static_cast<std::size_t>((first + i) % kFolds)]; };
      folds.push_back({set, first + 1, {part(0), part(1), part(2)}, part(3), part(4)});
    }
  }
  return folds;
}

std::vector<Candidate> candidates(ExperimentOptions::Size size) {
  struct Scale {
    const char *rounds, *bags, *trees;  // trees: per bag
  };
  const Scale scale = size == ExperimentOptions::Size::quick    ? Scale{"40", "4", "10"}
                      : size == ExperimentOptions::Size::normal ? Scale{"150", "40", "200"}
                                                                : Scale{"500", "100", "300"};
  const std::string bags = scale.bags;
  const auto trees = [&](const std::string& depth) {
    return Candidate{{"monotone-trees " + bags + ", depth " + depth,
                      "monotone-trees",
                      {{"rounds", scale.trees}, {"bags", bags}, {"tree-depth", depth}}},
                     {"documents", "share"}};
  };
  std::vector<Candidate> all = {
      {{"rankboost", "rankboost", {{"rounds", scale.rounds}, {"max-thresholds", "all"}}}, {}},
      {{"rankboost-bagged " + bags,
        "rankboost-bagged",
        {{"rounds", scale.rounds}, {"max-thresholds", "all"}, {"bags", bags}}},
       {"equal", "share"}},
      trees("2"),
      trees("3")};
  for (Candidate& candidate : all) {
    candidate.method.name +=
        ", " + candidate.reading.query_weights + ", one";  // all pairs of grades weigh one
    if (!candidate.reading.derive.empty()) candidate.method.name += ", derive " + candidate.reading.derive;
  }
  return all;
}

Result<std::vector<double>> validation_curve(const Fold& fold, const Candidate& candidate,
                                             const evaluation::MeasureSet& measures,
                                             const ExperimentOptions& options) {
  TRY(const auto set, read_parts(fold.train, candidate.reading));
  TRY(const auto validation, read_parts({fold.validate}, candidate.reading, set.matrix.features()));
  const QueryMeasures measured(validation, measures);
  std::vector<double> curve;
  fusion::TrainingRequest request;
  request.seed = options.seed;
  request.threads = options.threads;
  request.validate = &validation;
  request.measure.name = "the mean of the three measures";
  request.measure.value = [&](std::span<const double> scores) {
    curve.push_back(criterion(measured.of({scores.begin(), scores.end()})));
    return curve.back();
  };
  TRY_VOID(train(candidate.method, set, request));
  return curve;
}

Result<Ours> choose_ours(const std::vector<Fold>& folds, const evaluation::MeasureSet& measures,
                         const ExperimentOptions& options, Report& report) {
  Ours best;
  const std::vector<Candidate> all = candidates(options.size);
  Table table{{{"configuration", "rounds", "validation"}}};
  std::size_t done = 0;
  for (const Candidate& candidate : all) {
    std::map<std::string, std::vector<std::vector<double>>> curves;  // by set
    for (const Fold& fold : folds) {
      TRY(auto curve, validation_curve(fold, candidate, measures, options));
      curves[fold.set].push_back(std::move(curve));
      if (options.progress) options.progress(++done, (all.size() + 1) * folds.size());
    }
    Ours found{candidate, {}, 0.0};
    for (const char* set : kSets) {
      const Rounds of_set = best_rounds(curves.at(set));
      found.rounds[set] = of_set.count;
      found.value += of_set.value / static_cast<double>(kSets.size());
    }
    table.add({candidate.method.name, rounds_text(found), fixed(found.value, 4)});
    if (found.value > best.value) best = found;
  }
  report.add(table);
  report.text += fmt::format("chosen: {}; rounds {}\n\n", best.candidate.method.name, rounds_text(best));
  return best;
}

Result<std::vector<std::string>> choose_peers(const std::vector<Fold>& folds,
                                              const evaluation::MeasureSet& measures,
                                              const ExperimentOptions& options, Report& report) {
  TRY(const auto names, peer_configurations(options.peer_runs));
  std::vector<double> values(names.size(), 0.0);
  std::vector<std::string> chosen;
  if (names.empty()) return chosen;
  for (const Fold& fold : folds) {
    TRY(const auto set, read_parts({fold.validate}, {}));
    for (std::size_t i = 0; i < names.size(); ++i) {
      TRY(const auto measured, peer_values(options.peer_runs, names[i], fold, "validation", set, measures));
      values[i] += criterion(measured) / static_cast<double>(folds.size());
    }
  }
  Table table{{{"other learner", "validation"}}};
  std::map<std::string, std::size_t> best;  // by the part of the name after the comma
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    table.add({name, fixed(values[i], 4)});
    std::size_t& leader = best.emplace(name.substr(std::min(name.find(','), name.size())), i).first->second;
    if (values[i] > values[leader]) leader = i;
  }
  report.add(table);
  for (const auto& [way, i] : best) {
    chosen.push_back(names[i]);
    report.text += "chosen: " + chosen.back() + "\n";
  }
  report.text += "\n";
  return chosen;
}

}  // namespace letor_agg

Result<Report> run_letor_agg(const ExperimentOptions& options) {
  using namespace letor_agg;
  TRY(const auto folds, official_folds(options.data));
  TRY(const auto measures, evaluation::parse_measures(kMeasures));
  Report report{"Mean of the three measures over the validation parts of both sets\n\n"};
  TRY(const auto ours, choose_ours(folds, measures, options, report));
  TRY(const auto peers, choose_peers(folds, measures, options, report));
  TRY_VOID(test_all(folds, ours, peers, measures, options, report));
  if (options.progress) options.progress(1, 1);
  return report;
}

}  // namespace metafuse::lab::experiments
