#include "fusion/training/registry.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.h"
#include "fusion/learners/common/validation.h"
#include "fusion/learners/monotone_trees/boost.h"
#include "fusion/learners/monotone_trees/tree_ranker.h"
#include "fusion/learners/rankboost/learner.h"
#include "fusion/learners/reciprocal_ranks/learner.h"
#include "fusion/learners/similarity/similarity.h"
#include "fusion/model/linear_ranker.h"
#include "fusion/model/online/online_ranker.h"
#include "fusion/model/prior.h"
#include "fusion/model/sum_ranker.h"
#include "fusion/model/votes/vote_rankers.h"
#include "fusion/training/auto_learner.h"

namespace metafuse::fusion {
namespace {

/// Records how many judged base queries a model learned from, by which it counts among other models.
Learner noting_judged_queries(Learner row) {
  row.train = [train = std::move(row.train)](const TrainingRequest& request) -> Result<TrainingResult> {
    TRY(auto result, train(request));
    result.model.training[kJudgedQueries] =
        sum_over_processes(request.communicator, static_cast<std::int64_t>(count_answerable(*request.train)));
    return result;
  };
  return row;
}

/// The learners; each is defined in a folder of its own.
std::vector<Learner> make_table() {
  std::vector<Learner> rows = {
      rankboost::learner(),        rankboost::bagged_learner(),       monotone_trees::learner(),
      reciprocal_ranks::learner(), reciprocal_ranks::blend_learner(),
  };
  rows.push_back(auto_learner(rows));
  // The outermost wrapper, so that learners that train others see this feature's values like those of
  // any other.
  for (Learner& row : rows) row = noting_judged_queries(similarity::with_similarity_feature(std::move(row)));
  return rows;
}

constexpr std::string_view kLaboratoryLearners[] = {
    "rankboost-plus", "mpboost",         "nearest-neighbour", "regression",  "vector-similarity",
    "best-feature",   "random-guessing", "adaboost-ordering", "adaboost-mh", "calibrated-adaboost",
    "prank",          "prank-vp",        "widrow-hoff",       "oap-bpm",     "oap-bagg",
    "oap-vp"};

using ReadBody = Result<SharedRanker> (*)(const JsonObject& body, const std::vector<Feature>& features);

Result<SharedRanker> read_plain_body(const JsonObject& body, const std::vector<Feature>& features);

Result<SharedRanker> read_ensemble_body(const JsonObject& body, const std::vector<Feature>& features) {
  return votes::read_ensemble(
      body, features, [](const JsonObject& inner, const std::vector<Feature>& same) -> Result<SharedRanker> {
        if (inner.contains("sources"))
          return fail(Code::bad_data, "body.sources: an ensemble within an ensemble; train the model again");
        return read_plain_body(inner, same);
      });
}

/// Reads a body by a function that returns the ranker itself.
template <auto Read>
Result<SharedRanker> shared(const JsonObject& body, const std::vector<Feature>& features) {
  TRY(auto ranker, Read(body, features));
  return std::make_shared<const decltype(ranker)>(std::move(ranker));
}

/// A form of models, known by a field that only its bodies have.
struct Form {
  std::string_view field;
  ReadBody read;
};

constexpr Form kForms[] = {
    {"fused", shared<read_sum_ranker>},
    {"k", shared<read_sum_ranker>},
    {"weak_rankings", shared<read_sum_ranker>},
    {"value_rankings", shared<read_sum_ranker>},
    {"trees", monotone_trees::read_tree_ranker},
    {"terms", shared<read_linear_ranker>},
    {"sources", read_ensemble_body},
    {"rounds", shared<votes::read_ranker>},
    {"state", shared<online::read_online_ranker>},
};

Result<SharedRanker> read_plain_body(const JsonObject& body, const std::vector<Feature>& features) {
  const auto form = std::ranges::find_if(kForms, [&](const Form& each) { return body.contains(each.field); });
  if (form == std::end(kForms))
    return fail(Code::bad_data,
                "body: of a form that this version does not know; use the version that wrote the file, or "
                "train the model again");
  return form->read(body, features);
}

Result<SharedRanker> read_body(const JsonObject& body, const std::vector<Feature>& features) {
  return similarity::read_with_similarity(read_plain_body, body, features);
}

}  // namespace

Learners product_learners() {
  static const std::vector<Learner> table = make_table();
  return table;
}

const Learner* find_learner(std::string_view name, Learners table) {
  const auto at = std::ranges::find(table, name, &Learner::name);
  return at == table.end() ? nullptr : &*at;
}

std::span<const std::string_view> laboratory_learners() {
  return kLaboratoryLearners;
}

Result<const Learner*> learner_named(std::string_view name, Learners table) {
  if (const Learner* learner = find_learner(name, table)) return learner;
  std::vector<std::string> names;
  for (const Learner& row : table) names.push_back(row.name);
  if (std::ranges::find(kLaboratoryLearners, name) != std::end(kLaboratoryLearners))
    return fail(Code::usage,
                fmt::format("the learner {} is in the program metafuse-lab, which has the same verbs; "
                            "run that, or take one of {}",
                            name, fmt::join(names, ", ")));
  return fail(Code::usage, fmt::format("no learner \"{}\"{}", name, did_you_mean(name, names)));
}

Result<Model> parse_model(std::string_view text, std::string_view name) {
  return parse_model(text, name, read_body);
}

Result<Model> read_model(const std::string& path) {
  return read_model(path, read_body);
}

}  // namespace metafuse::fusion
