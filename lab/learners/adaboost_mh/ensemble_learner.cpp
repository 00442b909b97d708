#include <algorithm>
#include <charconv>
#include <cmath>
#include <mutex>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "core/parallel.h"
#include "core/random.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/options.h"
#include "fusion/training/registry.h"
#include "lab/learners/adaboost_mh/ensemble.h"
#include "lab/learners/adaboost_mh/learner.h"
#include "lab/learners/adaboost_mh/training_data.h"

// The learner calibrated-adaboost. It trains AdaBoost.MH with every setting without a share of the documents
// (and other learners, if asked for, without a share of the queries), calibrates each on that share, and
// chooses the number of rounds and the members' weights by NDCG@10 on validation data.
namespace metafuse::lab::adaboost_mh {

namespace {

/// Reads a list such as "5,10,15", of ascending whole numbers; "none" is the empty list.
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
      return refused_option(
          name, text,
          fmt::format("ascending whole numbers from {} to {}, separated by commas, or none", least, most));
    numbers.push_back(value);
  }
  return numbers;
}

Result<std::vector<const Learner*>> parse_others(const std::string& text, std::span<const Learner> others) {
  std::vector<const Learner*> members;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const Learner* learner = fusion::find_learner(item, others);
    if (learner == nullptr)
      return refused_option("others", item, "a learner that can be a member, such as rankboost or mpboost");
    members.push_back(learner);
  }
  return members;
}

/// The options of the learner calibrated-adaboost.
struct EnsembleOptions {
  std::vector<std::size_t> leaves = {5, 10, 15, 20, 25, 30, 35, 40, 45};
  std::vector<std::size_t> terms = {2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::vector<std::size_t> round_counts = {10, 20, 50, 100};
  std::span<const Learner> allowed;    ///< the learners that `others` may name
  std::vector<const Learner*> others;  ///< members in addition to AdaBoost.MH
  double calibration_share = 0.2;
  std::size_t max_thresholds = 255;
  CalibrationOptions calibration;

  std::vector<BaseSetting> settings() const {
    std::vector<BaseSetting> settings;
    for (const std::size_t size : leaves) settings.push_back({BaseKind::tree, size});
    for (const std::size_t size : terms) settings.push_back({BaseKind::product, size});
    return settings;
  }
};

void declare_options(OptionTable& table, EnsembleOptions& options) {
  const auto list = [&table](const LearnerOption& row, std::vector<std::size_t>& numbers, std::size_t least,
                             std::size_t most) {
    table.custom(row, [name = row.name, &numbers, least, most](const std::string& given) -> Result<void> {
      TRY(numbers, parse_list(name, given, least, most));
      return {};
    });
  };
  list({"leaves", "LIST", "5,10,...,45", "leaves of the trees, or none"}, options.leaves, 2, 1000);
  list({"terms", "LIST", "2,3,...,10", "terms of the products, or none"}, options.terms, 1, 100);
  list({"rounds", "LIST", "10,20,50,100", "numbers of rounds; validation chooses one"}, options.round_counts,
       1, 100'000);
  table.custom(
      {"others", "LIST", "", "other learners to include as members: rankboost, rankboost-plus, mpboost, ..."},
      [&options](const std::string& given) -> Result<void> {
        TRY(options.others, parse_others(given, options.allowed));
        return {};
      });
  table.choice("calibration", options.calibration.kinds,
               {{"both", CalibrationKinds::all},
                {"cpc", CalibrationKinds::sigmoids},
                {"rbc", CalibrationKinds::regressions}},
               "class probability or regression based calibration");
  table.number(
      "calibration-share", options.calibration_share, 0.01, 0.9,
      "share of the documents held out to calibrate each classifier (of the queries, "
      "for --others); without validation data, the same share of the queries is held out for validation",
      "P");
  table.count("process-points", options.calibration.regression.process_points, 10, 500,
              "maximum number of points of a Gaussian process, drawn with --seed");
  table.count("max-thresholds", options.max_thresholds, 1, 255, "thresholds per feature, at most 255");
}

Result<EnsembleOptions> ensemble_options_of(const TrainingRequest& request, std::span<const Learner> others) {
  EnsembleOptions start;
  start.allowed = others;
  TRY(auto options, read_options(request.options, start));
  options.calibration.regression.seed = request.seed;
  if (options.round_counts.empty())
    return fail(Code::usage, "--rounds none: give at least one number of rounds");
  if (options.settings().empty() && options.others.empty())
    return fail(Code::usage, "--leaves none --terms none: nothing is left to train");
  if (options.calibration.kinds == CalibrationKinds::sigmoids && options.settings().empty())
    return fail(Code::usage, "--calibration cpc needs AdaBoost.MH members; give --leaves or --terms");
  return options;
}

/// The queries split in two: a random share is held out.
struct Halves {
  TrainingSet kept;
  TrainingSet held_out;
};

Result<Halves> hold_out(const TrainingSet& set, double share, Random random) {
  std::vector<std::size_t> order(set.queries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  const auto count = std::max<std::size_t>(
      1, static_cast<std::size_t>(std::llround(share * static_cast<double>(order.size()))));
  if (order.size() < count + 1)
    return fail(Code::bad_data, std::to_string(order.size()) +
                                    " queries are too few to hold some out; give more, or use adaboost-mh");
  const auto taken = [&](std::size_t begin, std::size_t end) {
    std::vector<std::size_t> queries(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                     order.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(queries.begin(), queries.end());
    return select_queries(set, queries);
  };
  return Halves{taken(count, order.size()), taken(0, count)};
}

Result<Source> other_source(const Learner& learner, const TrainingSet& training,
                            const TrainingRequest& request) {
  TrainingRequest inner;
  inner.train = &training;
  inner.seed = request.seed;
  inner.threads = request.threads;
  inner.trace.is_wanted = false;
  auto result = learner.train(inner);
  if (!result) return fail(result.error().code, "the member " + learner.name + ": " + result.error().text);
  Source source;
  source.name = learner.name;
  source.ranker = result->model.ranker;
  const auto scores = source.ranker->score(training.matrix);
  source.low = *std::min_element(scores.begin(), scores.end());
  source.high = *std::max_element(scores.begin(), scores.end());
  return source;
}

/// The votes of a source, and the documents it was not trained on.
struct Heard {
  std::vector<int> classes;
  std::vector<RowRange> queries;
  std::vector<std::vector<double>> calibration;  ///< votes on these documents, one list per number of rounds
  std::vector<std::vector<double>> validation;
};

/// All inputs of one training.
struct Task {
  const TrainingRequest* request = nullptr;
  EnsembleOptions options;
  std::vector<double> grades;
  std::vector<double> gains;
  TrainingSet training_set;
  GradedDocuments training;
  GradedDocuments validation;
};

struct Members {
  CutTable table;
  std::vector<Source> sources;
  std::vector<Heard> heard;  ///< one per source
};

/// The best ensemble, and how all calibrations went.
struct Fitted {
  std::vector<Member> members;
  ChosenWeights chosen;
  std::size_t rounds = 0;
  std::size_t constant = 0;
  std::size_t fitted = 0;
};

Fitted best_ensemble(const Task& task, const Members& members) {
  Fitted best;
  const Judged validation{task.validation.classes, task.gains, task.validation.queries};
  for (std::size_t t = 0; t < task.options.round_counts.size(); ++t) {
    std::vector<SourceVotes> sources;
    for (std::size_t s = 0; s < members.sources.size(); ++s) {
      const Heard& heard = members.heard[s];
      sources.push_back({members.sources[s].width(),
                         {heard.classes, task.gains, heard.queries},
                         &heard.calibration[t],
                         &heard.validation[t]});
    }
    Pool pool = fit_pool(sources, validation, task.options.calibration, task.request->threads);
    best.constant += pool.constant;
    best.fitted += pool.members.size();
    ChosenWeights chosen = choose_weights(pool, validation);
    if (!(chosen.quality > best.chosen.quality + 1e-12)) continue;
    for (std::size_t m = 0; m < pool.members.size(); ++m) pool.members[m].weight = chosen.weights[m];
    best.members = std::move(pool.members);
    best.chosen = std::move(chosen);
    best.rounds = task.options.round_counts[t];
  }
  return best;
}

std::string ensemble_summary(const Task& task, const Fitted& best, std::size_t classifiers) {
  std::string text = fmt::format(
      "calibrated-adaboost: {} members from {} classifiers; chosen on validation: {} rounds, c = {:g}, "
      "NDCG@10 {:g}\n",
      best.members.size(), classifiers, best.rounds, best.chosen.c, best.chosen.quality);
  const std::size_t left_out = all_regressions().size() - regressions_of(task.grades.size()).size();
  if (left_out > 0 && task.options.calibration.kinds != CalibrationKinds::sigmoids)
    text += fmt::format(
        "the {} polynomials of highest degree are left out, each of more than {} monomials of {} "
        "grades' votes\n",
        left_out, kMostMonomials, task.grades.size());
  if (best.constant > 0)
    text += fmt::format("{} of {} calibrations had constant votes to fit and fell back to the mean gain\n",
                        best.constant, best.fitted);
  if (std::any_of(best.members.begin(), best.members.end(), [](const Member& member) {
        return member.calibration.regression && member.calibration.regression->was_singular;
      }))
    text += "a Gaussian process's kernel matrix was singular and got more jitter\n";
  return text;
}

TrainingResult result_of(const Task& task, Members members, Fitted best) {
  for (Source& source : members.sources)
    if (source.classifier.rounds.size() > best.rounds) source.classifier.rounds.resize(best.rounds);
  TrainingResult result;
  result.summary = ensemble_summary(task, best, members.sources.size());
  result.model.learner = "calibrated-adaboost";
  result.model.features = task.request->train->matrix.features();
  result.model.training = JsonObject{{"rounds", best.rounds},
                                     {"c", best.chosen.c},
                                     {"validation_ndcg_10", best.chosen.quality},
                                     {"fallbacks", best.constant}};
  result.model.ranker = std::make_shared<EnsembleRanker>(GradedCuts{task.grades, std::move(members.table)},
                                                         std::move(members.sources), std::move(best.members));
  return result;
}

Result<Task> task_of(const TrainingRequest& request, std::span<const Learner> others) {
  Task task;
  task.request = &request;
  TRY(task.options, ensemble_options_of(request, others));
  TRY(task.grades, class_grades(*request.train));
  task.gains = gains_of(task.grades);
  const TrainingSet* validation = request.validate;
  Halves halves;
  if (validation == nullptr) {
    TRY(halves, hold_out(*request.train, task.options.calibration_share, Random(request.seed)));
    validation = &halves.held_out;
  }
  TRY(task.validation, graded_documents(*validation, task.grades));
  task.training_set = request.validate == nullptr ? std::move(halves.kept) : *request.train;
  TRY(task.training, graded_documents(task.training_set, task.grades));
  if (task.training.classes.size() < 2 || task.validation.classes.empty())
    return fail(Code::bad_data,
                "a part of the queries has no judged document; give more queries, or use adaboost-mh");
  return task;
}

/// Makes one run per setting, in parallel on shared codes. Each run leaves out the documents of its split.
/// The runs do not depend on the number of threads.
std::vector<BoostRun> boost_all(const Task& task, const CodedFeatures& coded,
                                const std::vector<BaseSetting>& settings,
                                const std::vector<CalibrationSplit>& splits) {
  std::vector<BoostRun> runs(settings.size());
  std::mutex mutex;
  std::size_t done = 0;
  parallel_for(settings.size(), task.request->threads, [&](std::size_t i) {
    // Large products take longest, so they start first.
    const std::size_t place = settings.size() - 1 - i;
    runs[place] = boost({&coded, task.training.classes, task.grades.size(), 1, splits[place].left_out},
                        settings[place], task.options.round_counts.back());
    const std::lock_guard lock(mutex);
    ++done;
    if (task.request->progress) task.request->progress(done, settings.size());
  });
  return runs;
}

/// Trains AdaBoost.MH with every setting, each with its own split.
void add_classifiers(const Task& task, Members& members) {
  const CodedFeatures coded(task.training.matrix, ThresholdOptions{task.options.max_thresholds});
  members.table = cut_table(coded);
  const auto settings = task.options.settings();
  std::vector<CalibrationSplit> splits;
  for (std::size_t i = 0; i < settings.size(); ++i)
    splits.push_back(
        draw_split(task.training, task.options.calibration_share, Random(task.request->seed).split(i)));
  auto runs = boost_all(task, coded, settings, splits);
  const CodedRows rows(task.training.matrix, members.table);
  const CodedRows validation_rows(task.validation.matrix, members.table);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const StrongClassifier& classifier = runs[i].classifier;
    const CodedRows own(rows, splits[i].documents);
    members.heard.push_back({std::move(splits[i].classes), std::move(splits[i].queries),
                             classifier.votes(own, task.options.round_counts),
                             classifier.votes(validation_rows, task.options.round_counts)});
    members.sources.push_back({settings[i].name(), std::move(runs[i].classifier), nullptr, 0.0, 1.0});
  }
}

/// Trains the other learners. They need whole queries, so each leaves out a share of the queries.
Result<void> add_others(const Task& task, Members& members) {
  const auto& counts = task.options.round_counts;
  for (const Learner* other : task.options.others) {
    const std::size_t stream = members.sources.size();
    TRY(const auto halves, hold_out(task.training_set, task.options.calibration_share,
                                    Random(task.request->seed).split(stream)));
    TRY(auto source, other_source(*other, halves.kept, *task.request));
    TRY(auto calibration, graded_documents(halves.held_out, task.grades));
    if (calibration.classes.empty())
      return fail(Code::bad_data, "no judged document is left to calibrate " + other->name +
                                      " on; give more queries, or leave it out of --others");
    const CodedRows no_rows(FeatureMatrix{}, CutTable{});
    members.heard.push_back({calibration.classes, calibration.queries,
                             votes_of(source, calibration.matrix, no_rows, counts),
                             votes_of(source, task.validation.matrix, no_rows, counts)});
    members.sources.push_back(std::move(source));
  }
  return {};
}

Result<TrainingResult> train_ensemble(const TrainingRequest& request, std::span<const Learner> others) {
  TRY(const auto task, task_of(request, others));
  Members members;
  add_classifiers(task, members);
  TRY_VOID(add_others(task, members));
  Fitted best = best_ensemble(task, members);
  return result_of(task, std::move(members), std::move(best));
}

}  // namespace

Learner ensemble_learner(std::vector<Learner> others) {
  const auto shared = std::make_shared<const std::vector<Learner>>(std::move(others));
  return {
      .name = "calibrated-adaboost",
      .meaning = "AdaBoost.MH at many settings, calibrated in thirteen ways, weighted by validation NDCG@10",
      .source = "Busa-Fekete, Kegl, Elteto, Szarvas 2011",
      .options = option_rows<EnsembleOptions>(),
      .train = [shared](const TrainingRequest& request) { return train_ensemble(request, *shared); },
      .takes_query_weights = false,
      .can = {.validate = true}};
}

}  // namespace metafuse::lab::adaboost_mh
