// Fusion on MQ2007-agg and MQ2008-agg over the five official folds: RankBoost, its bagged form and monotone
// trees against RRF, CombMNZ, Borda and SearXNG's formula, and against the runs in options.peer_runs.
// Validation parts choose one configuration of ours for both sets, the number of rounds for each set, and the
// peer's configuration. Every part validates one fold and tests another, so no choice is blind.
#include "lab/experiments/letor_agg.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "core/keyed_hash.h"
#include "evaluation/runs/run_file.h"
#include "evaluation/significance/significance.h"
#include "fusion/input/input_files.h"
#include "fusion/learners/common/rounds.h"
#include "fusion/training/cross_validation.h"
#include "lab/experiments/data_sets.h"

namespace metafuse::lab::experiments {
namespace letor_agg {
namespace {

constexpr std::array kMeasureTitles = {"NDCG@10", "MeanNDCG", "MAP"};

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

fusion::TrainingRequest request_of(const ExperimentOptions& options) {
  fusion::TrainingRequest request;
  request.seed = options.seed;
  request.threads = options.threads;
  return request;
}

/// The number of rounds with the highest mean over the folds. A fold whose training ended early keeps its
/// last value.
fusion::BestRound best_rounds(std::vector<std::vector<double>> curves) {
  std::size_t longest = 0;
  for (const auto& curve : curves) longest = std::max(longest, curve.size());
  for (auto& curve : curves) curve.resize(longest, curve.empty() ? 0.0 : curve.back());
  fusion::BestRound best(0);
  for (const double mean : means_of(curves)) best.add(mean);
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

/// Methods with their values on the same queries; the first is ours.
using Rows = std::vector<std::pair<std::string, Values>>;

/// Ours minus another method in one measure, with its 95 % bootstrap interval and the p value of the paired
/// randomisation test.
std::string difference_text(const Values& ours, const Values& theirs, std::size_t measure,
                            std::uint64_t seed) {
  std::vector<double> a, b, gain;
  for (std::size_t q = 0; q < ours.size(); ++q) {
    a.push_back(ours[q][measure]);
    b.push_back(theirs[q][measure]);
    gain.push_back(a.back() - b.back());
  }
  const auto [low, high] = evaluation::bootstrap_interval(gain, seed);
  const double p = evaluation::randomisation_test(a, b, seed);
  return fmt::format("{:+.4f} [{:+.4f}, {:+.4f}] p {}", interval_of(gain).mean, low, high,
                     p < 0.0001 ? "< .0001" : fixed(p, 4));
}

/// Adds the means of every method, and ours minus each other one, in each measure.
void describe(const std::string& set, const Rows& rows, std::uint64_t seed, Report& report) {
  Figures means{fmt::format("{}, {} queries", set, rows[0].second.size()),
                {kMeasureTitles.begin(), kMeasureTitles.end()}};
  Table gains{{{"ours less"}}};
  gains.rows[0].insert(gains.rows[0].end(), kMeasureTitles.begin(), kMeasureTitles.end());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [method, values] = rows[i];
    means.add(method, means_of(values));
    if (i == 0) continue;
    gains.add({method});
    for (std::size_t m = 0; m < kMeasureTitles.size(); ++m)
      gains.rows.back().push_back(difference_text(rows[0].second, values, m, seed));
  }
  report.add(means.table(4));
  if (rows.size() > 1) report.add(gains);
}

/// The values on a fold's test part of our model, trained on the given parts.
Result<Values> test_ours(const Fold& fold, const std::vector<std::string>& parts, const Ours& ours,
                         const QueryMeasures& measures, const ExperimentOptions& options) {
  const Candidate& candidate = ours.candidate;
  TRY(const auto set, read_parts(parts, candidate.reading));
  Method method = candidate.method;
  method.options["rounds"] = std::to_string(ours.rounds.at(fold.set));
  TRY(const auto model, train(method, set, request_of(options)));
  TRY(const auto test, read_parts({fold.test}, candidate.reading, model.features));
  return measures.of(model.ranker->score(test.matrix));
}

/// The values of all methods on a fold's test part: ours, those without training unless refitted, the peers.
/// in: is_refitted - trained again on training and validation parts, once nothing is left to choose
Result<Rows> test_fold(const Fold& fold, bool is_refitted, const Ours& ours,
                       const std::vector<std::string>& peers, const evaluation::MeasureSet& measures,
                       const ExperimentOptions& options) {
  // Derived features are not lists, so the methods without training read the part without them.
  TRY(const auto lists, read_parts({fold.test}, {}));
  const QueryMeasures measured(lists, measures);
  std::vector<std::string> parts = fold.train;
  if (is_refitted) parts.push_back(fold.validate);
  TRY(auto own, test_ours(fold, parts, ours, measured, options));
  Rows rows = {{ours.candidate.method.name, std::move(own)}};
  for (const fusion::Baseline& baseline : fusion::rank_baselines()) {
    if (is_refitted) break;
    std::vector<double> scores;
    for (const fusion::QueryRange& query : lists.queries) {
      const auto part = baseline.score(lists.matrix, query.begin, query.end);
      scores.insert(scores.end(), part.begin(), part.end());
    }
    rows.emplace_back(baseline.name, measured.of(scores));
  }
  for (const std::string& peer : peers) {
    TRY(auto theirs,
        peer_values(options.peer_runs, peer, fold, is_refitted ? "refitted" : "test", lists, measures));
    rows.emplace_back(peer, std::move(theirs));
  }
  return rows;
}

/// Adds the results on the test parts of each set and of both together.
Result<void> test_all(const std::vector<Fold>& folds, const Ours& ours, const std::vector<std::string>& peers,
                      const evaluation::MeasureSet& measures, const ExperimentOptions& options,
                      Report& report) {
  constexpr const char* kBoth = "both sets";
  for (const bool is_refitted : {false, true}) {
    std::map<std::string, Rows> by_set;
    for (const Fold& fold : folds) {
      TRY(const auto rows, test_fold(fold, is_refitted, ours, peers, measures, options));
      for (const std::string& set : {fold.set, std::string(kBoth)}) {
        Rows& all = by_set[set];
        all.resize(rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
          all[i].first = rows[i].first;
          all[i].second.insert(all[i].second.end(), rows[i].second.begin(), rows[i].second.end());
        }
      }
    }
    report.text +=
        is_refitted ? "Test parts, refitted on training and validation parts\n\n" : "Test parts\n\n";
    for (const char* set : {kSets[0], kSets[1], kBoth}) describe(set, by_set.at(set), options.seed, report);
  }
  return {};
}

}  // namespace

std::vector<Fold> official_folds(const std::string& data) {
  std::vector<Fold> folds;
  for (const char* set : kSets)
    for (int first = 0; first < kFolds; ++first) {
      const auto part = [&](int i) {
        return aggregation_part(data, set, static_cast<std::size_t>((first + i) % kFolds + 1));
      };
      folds.push_back({set, first + 1, {part(0), part(1), part(2)}, part(3), part(4)});
    }
  return folds;
}

std::vector<Candidate> candidates(const ExperimentOptions& options) {
  const std::string rounds = options.by_size("40", "150", "500");
  const std::string trees = options.by_size("10", "200", "300");  // per bag
  const std::string bags = options.by_size("4", "40", "100");
  std::vector<Candidate> all = {
      {{"rankboost", "rankboost", {{"rounds", rounds}, {"max-thresholds", "all"}}}, {}},
      {{"rankboost-bagged " + bags,
        "rankboost-bagged",
        {{"rounds", rounds}, {"max-thresholds", "all"}, {"bags", bags}}},
       {"equal", "share"}}};
  for (const std::string depth : {"2", "3"})
    all.push_back({{"monotone-trees " + bags + ", depth " + depth,
                    "monotone-trees",
                    {{"rounds", trees}, {"bags", bags}, {"tree-depth", depth}}},
                   {"documents", "share"}});
  for (Candidate& candidate : all) {
    // all pairs of grades weigh one
    candidate.method.name += ", " + candidate.reading.query_weights + ", one";
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
  fusion::TrainingRequest request = request_of(options);
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
  const std::vector<Candidate> all = candidates(options);
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
      const fusion::BestRound best_of_set = best_rounds(curves.at(set));
      found.rounds[set] = best_of_set.rounds();
      found.value += best_of_set.value() / static_cast<double>(kSets.size());
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
  const std::vector<Fold> folds = official_folds(options.data);
  TRY(const auto measures, evaluation::parse_measures(kMeasures));
  Report report{"Mean of the three measures over the validation parts of both sets\n\n"};
  TRY(const auto ours, choose_ours(folds, measures, options, report));
  TRY(const auto peers, choose_peers(folds, measures, options, report));
  TRY_VOID(test_all(folds, ours, peers, measures, options, report));
  if (options.progress) options.progress(1, 1);
  return report;
}

}  // namespace metafuse::lab::experiments
