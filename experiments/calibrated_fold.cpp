// One fold of the calibrated experiment: reads LETOR's parts, boosts and calibrates each setting, and
// measures the candidates.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "core/parallel.h"
#include "core/text_file.h"
#include "experiments/calibrated.h"
#include "experiments/data_sets.h"
#include "experiments/trials.h"
#include "fusion/learners/adaboost_mh/ranker.h"

namespace metafuse::experiments::calibrated {

using namespace fusion::adaboost_mh;

namespace {

/// A column of table 2 as (name, figure): first our rows, then the other methods.
std::vector<std::pair<std::string, double>> table_2(const std::array<double, 10>& figures) {
  constexpr std::array kNames = {"ensemble, CPC",
                                 "ensemble, RBC",
                                 "ensemble, CPC+RBC",
                                 "AdaBoost.MH, trees",
                                 "AdaBoost.MH, products",
                                 "RankBoost",
                                 "AdaRank-MAP",
                                 "AdaRank-NDCG",
                                 "ListNet",
                                 "RankSVM"};
  std::vector<std::pair<std::string, double>> column;
  for (std::size_t i = 0; i < kNames.size(); ++i) column.emplace_back(kNames[i], figures[i]);
  return column;
}

std::string_view after(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + mark.size());
  return line.substr(0, line.find(' '));
}

/// The line number of each document of a part, found by query and id; the training set is in a
/// different order.
Result<std::vector<std::size_t>> lines_of(const DataSet& set, const std::string& data, int part,
                                          const fusion::TrainingSet& documents) {
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  const std::string path = with_packing(fmt::format("{}/{}/S{}.txt", data, set.folder, part));
  TRY_VOID(for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    places[{std::string(after(line, "qid:")), std::string(after(line, "#docid = "))}] = number;
    return {};
  }));
  std::vector<std::size_t> lines;
  for (const auto& query : documents.queries)
    for (std::size_t d = query.begin; d < query.end; ++d) {
      const auto found = places.find({query.id, std::string(documents.documents[d])});
      if (found == places.end())
        return fail(Code::bad_data,
                    fmt::format("{}: a document of query {} has no #docid; use the file as distributed", path,
                                query.id));
      lines.push_back(found->second);
    }
  return lines;
}

/// Splits off a fifth of the documents, all documents of a fifth of the queries, or everything.
CalibrationSplit split_of(const GradedDocuments& documents, SplitKind kind, Random random) {
  if (kind == SplitKind::own_documents || kind == SplitKind::shared_documents)
    return draw_split(documents, 0.2, random);
  std::vector<std::size_t> order(documents.queries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  if (kind == SplitKind::own_queries) order.resize(std::max<std::size_t>(1, order.size() / 5));
  std::sort(order.begin(), order.end());
  CalibrationSplit split;
  split.left_out.assign(documents.classes.size(), 0);
  for (const std::size_t query : order) {
    const RowRange& range = documents.queries[query];
    const std::size_t begin = split.documents.size();
    for (std::size_t d = range.begin; d < range.end; ++d) {
      split.left_out[d] = 1;
      split.documents.push_back(static_cast<std::uint32_t>(d));
      split.classes.push_back(documents.classes[d]);
    }
    split.queries.push_back({begin, split.documents.size()});
  }
  return split;
}

Judged judged(const GradedDocuments& documents, std::span<const double> gains) {
  return {documents.classes, gains, documents.queries};
}

}  // namespace

std::vector<DataSet> data_sets(const std::string& data) {
  std::vector<DataSet> sets = {
      {"OHSUMED", "letor3-OHSUMED/QueryLevelNorm", evaluation::Mode::letor3, "ndcg_cut_10",
       table_2({.4621, .4493, .4561, .4164, .4162, .4302, .4429, .4496, .4410, .4140})},
      {"MQ2008", "letor4-MQ2008", evaluation::Mode::letor4, "mean_ndcg",
       table_2({.4998, .5004, .5006, .4843, .4768, .4850, .4915, .4950, .4914, .4832})}};
  if (std::filesystem::exists(data + "/letor4-MQ2007"))
    sets.push_back({"MQ2007", "letor4-MQ2007", evaluation::Mode::letor4, "mean_ndcg",
                    table_2({.4975, .4976, .4974, .4868, .4785, .5003, .4891, .4914, .4988, .4966})});
  return sets;
}

Result<FoldData> read_fold(const DataSet& set, const std::string& data, int fold) {
  TRY(auto split, read_letor_split(data + "/" + set.folder, static_cast<std::size_t>(fold - 1)));
  FoldData out;
  TRY(out.grades, class_grades(split.train));
  TRY(out.test_lines, lines_of(set, data, (fold + 3) % 5 + 1, split.test));
  for (auto [source, part] : {std::pair{&split.train, &out.training},
                              {&split.validate, &out.validation},
                              {&split.test, &out.test}}) {
    TRY(part->documents, graded_documents(*source, out.grades));
    part->set = std::move(*source);
  }
  return out;
}

std::vector<std::vector<double>> tool_values(const FoldData& data, const std::vector<double>& scores,
                                             evaluation::Mode mode, bool are_ties_by_id) {
  static const auto set = evaluation::parse_measures("ndcg_cut_1,2,3,4,5,6,7,8,9,10,mean_ndcg");
  evaluation::Rules rules;
  rules.mode = mode;
  std::vector<std::vector<double>> values;
  for (const RowRange& query : data.test.documents.queries) {
    std::vector<std::size_t> documents(query.end - query.begin);
    std::iota(documents.begin(), documents.end(), query.begin);
    if (!are_ties_by_id)  // else they stay in the order of their ids
      std::sort(documents.begin(), documents.end(),
                [&](std::size_t a, std::size_t b) { return data.test_lines[a] < data.test_lines[b]; });
    std::vector<double> part;
    std::vector<double> grades;
    for (const std::size_t d : documents) {
      part.push_back(scores[d]);
      grades.push_back(data.grades[static_cast<std::size_t>(data.test.documents.classes[d])]);
    }
    values.push_back(evaluation::evaluate(
        *set, evaluation::judged_ranking(grades, evaluation::order_by_score(part), part), rules));
  }
  return values;
}

/// The coded features, and what each setting has learned so far.
struct FoldRunner::State {
  const FoldData& data;
  const Plan& plan;
  evaluation::Mode mode;
  fusion::CodedFeatures coded;
  CutTable table;
  std::vector<double> gains;
  CodedRows training_rows, validation_rows, test_rows;
  std::vector<CalibrationSplit> splits;  // one per setting, like everything below
  std::vector<CodedRows> calibration_rows;
  std::vector<Source> sources;
  std::vector<std::vector<double>> calibration_votes, validation_votes, test_votes;
  std::array<std::vector<double>, 5> sigmoid_scores;
  std::size_t fallbacks = 0;

  State(const FoldData& fold, const Plan& how, evaluation::Mode rules)
      : data(fold),
        plan(how),
        mode(rules),
        coded(fold.training.documents.matrix, fusion::ThresholdOptions{how.max_thresholds}),
        table(cut_table(coded)),
        gains(gains_of(fold.grades)),
        training_rows(fold.training.documents.matrix, table),
        validation_rows(fold.validation.documents.matrix, table),
        test_rows(fold.test.documents.matrix, table) {}

  double quality(const std::vector<double>& validation_scores) const {
    if (!plan.measures_by_tool) return ndcg_10(validation_scores, judged(data.validation.documents, gains));
    static const auto measure = evaluation::parse_measures("ndcg_cut_10");
    evaluation::Rules rules;
    rules.mode = mode;
    const auto& documents = data.validation.documents;
    double sum = 0.0;
    for (const RowRange& query : documents.queries) {
      std::vector<double> grades;
      for (std::size_t d = query.begin; d < query.end; ++d)
        grades.push_back(data.grades[static_cast<std::size_t>(documents.classes[d])]);
      const std::vector<double> part(validation_scores.begin() + static_cast<std::ptrdiff_t>(query.begin),
                                     validation_scores.begin() + static_cast<std::ptrdiff_t>(query.end));
      sum += evaluation::evaluate(
          *measure, evaluation::judged_ranking(grades, evaluation::order_by_score(part), part), rules)[0];
    }
    return sum / static_cast<double>(documents.queries.size());
  }

  /// Scales scores to [0, 1] within each query if the plan says so.
  std::vector<double> scaled(std::vector<double> scores, const GradedDocuments& documents) const {
    if (!plan.scales_by_query) return scores;
    for (const RowRange& query : documents.queries) {
      const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(query.begin);
      const auto end = scores.begin() + static_cast<std::ptrdiff_t>(query.end);
      const auto [low, high] = std::minmax_element(begin, end);
      const double least = *low;
      const double span = *high - least;
      for (auto at = begin; at != end; ++at) *at = span > 0.0 ? (*at - least) / span : 0.0;
    }
    return scores;
  }

  /// The weight of each document in place of 2^label; empty to keep that.
  std::vector<double> importance(std::size_t setting) const {
    const auto& classes = data.training.documents.classes;
    if (plan.start == StartKind::by_label) return {};
    std::vector<double> weights(classes.size(), 1.0);
    if (plan.start == StartKind::equal) return weights;
    // Resampling: as many draws as there are documents, each with probability proportional to 2^label.
    std::vector<double> ends;
    double sum = 0.0;
    for (std::size_t d = 0; d < classes.size(); ++d)
      ends.push_back(sum += splits[setting].left_out[d] != 0 ? 0.0 : std::ldexp(1.0, classes[d]));
    std::fill(weights.begin(), weights.end(), 0.0);
    Random random = Random(plan.seed).split(7'000 + setting);
    for (std::size_t draw = 0; draw < classes.size(); ++draw) {
      const auto at = std::upper_bound(ends.begin(), ends.end(), random.uniform() * sum) - ends.begin();
      weights[std::min(static_cast<std::size_t>(at), classes.size() - 1)] += 1.0;
    }
    return weights;
  }

  /// Boosts every setting. The slowest settings are last in the list, so they are started first.
  void boost_to(std::size_t rounds) {
    parallel_for(sources.size(), plan.threads, [&](std::size_t i) {
      const std::size_t place = sources.size() - 1 - i;
      StrongClassifier& classifier = sources[place].classifier;
      const std::vector<double> weights = importance(place);
      const std::span<const std::uint8_t> left_out =
          plan.split == SplitKind::own_training ? std::span<const std::uint8_t>() : splits[place].left_out;
      const Problem problem{&coded, data.training.documents.classes, data.grades.size(), 1, left_out,
                            weights};
      BoostRun run = fusion::adaboost_mh::boost(problem, plan.settings[place], rounds, {},
                                                {&classifier, &training_rows});
      classifier = std::move(run.classifier);
    });
  }

  void vote(std::size_t rounds) {
    const std::vector<std::size_t> counts = {rounds};
    for (auto* votes : {&calibration_votes, &validation_votes, &test_votes})
      votes->assign(sources.size(), {});
    parallel_for(sources.size(), plan.threads, [&](std::size_t s) {
      const StrongClassifier& classifier = sources[s].classifier;
      calibration_votes[s] = classifier.votes(calibration_rows[s], counts)[0];
      validation_votes[s] = classifier.votes(validation_rows, counts)[0];
      test_votes[s] = classifier.votes(test_rows, counts)[0];
    });
  }

  void add_plain(std::size_t rounds, std::vector<Candidate>& candidates) const {
    for (std::size_t s = 0; s < sources.size(); ++s)
      candidates.push_back(
          {plan.settings[s].kind == BaseKind::tree ? "AdaBoost.MH, trees" : "AdaBoost.MH, products",
           fmt::format("{}, T {}", sources[s].name, rounds),
           quality(posterior_scores(validation_votes[s], gains)),
           tool_values(data, posterior_scores(test_votes[s], gains), mode, plan.are_ties_by_id)});
  }

  Pool calibrate(std::size_t rounds) const {
    PoolData pool_data;
    pool_data.sources = &sources;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      pool_data.calibration.push_back({splits[s].classes, gains, splits[s].queries});
      pool_data.calibration_votes.push_back(&calibration_votes[s]);
      pool_data.validation_votes.push_back(&validation_votes[s]);
    }
    pool_data.validation = judged(data.validation.documents, gains);
    CalibrationOptions options;
    options.regression.process_points = plan.process_points;
    options.regression.seed = plan.seed;
    return fit_pool(pool_data, rounds, options, plan.threads);
  }

  std::vector<double> test_scores(const Member& member) const {
    return calibrated_scores(member.calibration, test_votes[member.source], data.grades.size(), gains);
  }

  void add_ensembles(const Pool& pool, PoolPart part, const std::string& name,
                     std::vector<Candidate>& candidates) const {
    std::vector<std::vector<double>> test;
    std::vector<const std::vector<double>*> test_parts;
    std::vector<const std::vector<double>*> validation_parts;
    std::vector<double> qualities;
    std::vector<std::vector<double>> validation;
    for (const std::size_t place : members_of(pool, part)) {
      test.push_back(scaled(test_scores(pool.members[place]), data.test.documents));
      validation.push_back(scaled(pool.validation[place], data.validation.documents));
      qualities.push_back(plan.measures_by_tool ? quality(pool.validation[place])
                                                : pool.members[place].quality);
    }
    for (const auto& scores : test) test_parts.push_back(&scores);
    for (const auto& scores : validation) validation_parts.push_back(&scores);
    for (const double c : plan.bases) {
      const auto weights = exponential_weights(qualities, c);
      candidates.push_back(
          {name, fmt::format("T {}, c {}", pool.rounds, c),
           quality(weighted_scores(validation_parts, weights)),
           tool_values(data, weighted_scores(test_parts, weights), mode, plan.are_ties_by_id)});
    }
  }

  void keep_sigmoids(const Pool& pool) {
    const auto distance = [&](std::size_t s) {
      const BaseSetting& setting = plan.settings[s];
      return setting.kind == BaseKind::tree ? std::labs(static_cast<long>(setting.size) - 30) : 1000L;
    };
    std::size_t source = 0;
    for (std::size_t s = 1; s < sources.size(); ++s)
      if (distance(s) < distance(source)) source = s;
    for (const Member& member : pool.members)
      for (std::size_t t = 0; t < std::size(kSigmoidTargets); ++t)
        if (member.source == source && member.calibration.name == name_of(kSigmoidTargets[t]))
          sigmoid_scores[t] = test_scores(member);
  }
};

FoldRunner::FoldRunner(const FoldData& data, const Plan& plan, evaluation::Mode mode, std::uint64_t stream)
    : state_(std::make_unique<State>(data, plan, mode)) {
  const Random random = Random(plan.seed).split(stream);
  for (const BaseSetting& setting : plan.settings) {
    const std::size_t number = plan.split == SplitKind::shared_documents ? 0 : state_->splits.size();
    state_->splits.push_back(split_of(data.training.documents, plan.split, random.split(number)));
    state_->calibration_rows.emplace_back(state_->training_rows, state_->splits.back().documents);
    Source source;
    source.name = setting.name();
    source.classifier.classes = data.grades.size();
    state_->sources.push_back(std::move(source));
  }
}

FoldRunner::~FoldRunner() = default;

std::vector<Candidate> FoldRunner::run_to(std::size_t rounds) {
  state_->boost_to(rounds);
  state_->vote(rounds);
  std::vector<Candidate> candidates;
  state_->add_plain(rounds, candidates);
  const Pool pool = state_->calibrate(rounds);
  state_->fallbacks += pool.constant;
  state_->add_ensembles(pool, PoolPart::sigmoids, "ensemble, CPC", candidates);
  state_->add_ensembles(pool, PoolPart::regressions, "ensemble, RBC", candidates);
  state_->add_ensembles(pool, PoolPart::all, "ensemble, CPC+RBC", candidates);
  state_->keep_sigmoids(pool);
  return candidates;
}

const std::array<std::vector<double>, 5>& FoldRunner::sigmoid_scores() const {
  return state_->sigmoid_scores;
}

std::size_t FoldRunner::fallbacks() const {
  return state_->fallbacks;
}

Result<std::vector<Candidate>> rankboost_candidates(const FoldData& data, const Plan& plan,
                                                    evaluation::Mode mode) {
  std::vector<Candidate> candidates;
  const auto gains = gains_of(data.grades);
  fusion::TrainingSet set = data.training.set;
  for (const std::string method : {"RankBoost", kEqualRankBoost}) {
    if (method == kEqualRankBoost) set.feedback.query_weights = fusion::FeedbackOptions::QueryWeights::equal;
    for (const std::size_t rounds : plan.rankboost_rounds) {
      fusion::TrainingRequest request;
      request.threads = plan.threads;
      TRY(const auto model, train("rankboost", set, {{"rounds", std::to_string(rounds)}}, request));
      candidates.push_back(
          {method, fmt::format("T {}", rounds),
           ndcg_10(model.ranker->score(data.validation.set.matrix), judged(data.validation.documents, gains)),
           tool_values(data, model.ranker->score(data.test.set.matrix), mode)});
    }
  }
  if (plan.rankboost_rounds.empty()) return candidates;
  fusion::TrainingRequest request;
  request.threads = plan.threads;
  request.validate = &data.validation.set;
  request.measure_name = "ndcg_burges_10";
  TRY(const auto chosen, train("auto", data.training.set, {}, request));
  candidates.push_back(
      {kAutoRow, "by ndcg_burges_10",
       ndcg_10(chosen.ranker->score(data.validation.set.matrix), judged(data.validation.documents, gains)),
       tool_values(data, chosen.ranker->score(data.test.set.matrix), mode)});
  return candidates;
}

Candidate order_candidate(const FoldData& data, evaluation::Mode mode) {
  const std::vector<double> validation(data.validation.documents.classes.size(), 0.0);
  const std::vector<double> test(data.test.documents.classes.size(), 0.0);
  const auto gains = gains_of(data.grades);
  return {"the files' own order", "nothing", ndcg_10(validation, judged(data.validation.documents, gains)),
          tool_values(data, test, mode)};
}

}  // namespace metafuse::experiments::calibrated
