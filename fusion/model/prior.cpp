#include "fusion/model/prior.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "core/json_members.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/data/features.h"
#include "fusion/model/sum_ranker.h"

namespace metafuse::fusion {
namespace {

constexpr int kDepthOfEndless = 100;  // of a list without a given depth
constexpr int kMostRanks = 1024;
constexpr double kNoStep = 1e-12;

enum class Match { name, engine, none };

std::string_view engine_in(std::string_view feature) {
  const std::size_t at = feature.rfind('@');
  return at == std::string_view::npos ? std::string_view() : feature.substr(at + 1);
}

bool is_list(const Feature& feature) {
  return feature.kind == FeatureKind::rank && !is_derived(feature);
}

/// What a list adds to a score at rank 1, 2, ..., relative to a document that it does not hold.
using Shape = std::vector<double>;

Shape empty_shape(const Feature& feature) {
  const int depth = feature.depth > 0 ? std::min(feature.depth, kMostRanks) : kDepthOfEndless;
  return Shape(static_cast<std::size_t>(depth), 0.0);
}

void add(const Shape& from, double factor, Shape& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[std::min(i, from.size() - 1)];
}

double size_of(const Shape& shape) {
  double size = 0.0;
  for (const double value : shape) size = std::max(size, std::abs(value));
  return size;
}

/// The lists of a model that tell about a list, and how they were found.
struct Found {
  Match match = Match::none;
  std::vector<std::size_t> lists;
};

Found find_lists(const Model& model, const Feature& wanted) {
  Found found;
  const std::string_view engine = engine_in(wanted.name);
  for (std::size_t f = 0; f < model.features.size(); ++f) {
    if (!is_list(model.features[f])) continue;
    if (model.features[f].name == wanted.name) return {Match::name, {f}};
    if (!engine.empty() && engine_in(model.features[f].name) == engine) found.lists.push_back(f);
  }
  if (!found.lists.empty()) found.match = Match::engine;
  return found;
}

/// What one model says about the lists of a domain.
struct Opinion {
  std::vector<Shape> shapes;  ///< one per feature, empty for one that is no list
  std::vector<Match> matches;
  double size = 0.0;
};

/// What a list of a model says: how much better a document is that only this list holds, at each rank, than
/// one that no list holds. Of a sum over lists, these are its parts.
Shape shape_of(const Model& model, std::size_t list, std::size_t depth) {
  FeatureMatrix alone(model.features, depth + 1);  // the last document is in no list
  for (std::size_t i = 0; i < depth; ++i)
    alone.set(i, static_cast<std::uint32_t>(list), -static_cast<double>(i + 1));
  Shape shape = model.ranker->score(alone);
  const double unranked = shape.back();
  shape.pop_back();
  for (double& score : shape) score -= unranked;
  return shape;
}

/// The longest shape that a list of a domain can have.
std::size_t longest_shape(const std::vector<Feature>& features) {
  std::size_t longest = 0;
  for (const Feature& feature : features)
    if (is_list(feature)) longest = std::max(longest, empty_shape(feature).size());
  return longest;
}

Opinion opinion_of(const Model& model, const std::vector<Feature>& features) {
  Opinion out;
  const std::size_t depth = longest_shape(features);
  std::vector<Shape> told(model.features.size());  // of the model's lists; empty: not needed yet
  Shape mean(kMostRanks, 0.0);
  double known = 0.0;
  for (const Feature& feature : features) {
    out.shapes.emplace_back();
    out.matches.push_back(Match::none);
    if (!is_list(feature)) continue;
    const Found found = find_lists(model, feature);
    Shape& shape = out.shapes.back() = empty_shape(feature);
    for (const std::size_t list : found.lists) {
      if (told[list].empty()) told[list] = shape_of(model, list, depth);
      add(told[list], 1.0 / static_cast<double>(found.lists.size()), shape);
    }
    out.matches.back() = found.match;
    if (found.match == Match::none) continue;
    add(shape, 1.0, mean);
    ++known;
  }
  for (std::size_t f = 0; f < features.size(); ++f) {
    if (known > 0.0 && is_list(features[f]) && out.matches[f] == Match::none)
      add(mean, 1.0 / known, out.shapes[f]);
    out.size += size_of(out.shapes[f]);
  }
  return out;
}

/// What a model counts among others: the number of judged base queries of its own that it learned from, at
/// least 1. Of an older file that does not say, the number of all its queries.
double weight_of(const Model& model) {
  const JsonMembers training(model.training);
  const bool is_told = training.number(kJudgedQueries) != nullptr;
  return std::max(1.0, training.number_or(is_told ? kJudgedQueries : "queries"));
}

/// The weak rankings that add up to a shape.
void add_steps(const Shape& shape, std::uint32_t feature, std::vector<WeakRanking>& steps) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool is_last = i + 1 == shape.size();
    const double alpha = is_last ? shape[i] : shape[i] - shape[i + 1];
    if (std::abs(alpha) < kNoStep) continue;
    const double threshold = is_last ? -std::numeric_limits<double>::infinity() : -static_cast<double>(i + 2);
    steps.push_back({feature, threshold, 0.0, alpha});
  }
}

/// The opinions of all models, added up.
class Opinions {
 public:
  explicit Opinions(const std::vector<Feature>& features)
      : features_(features), matches_(features.size(), Match::none) {
    for (const Feature& feature : features) sum_.push_back(is_list(feature) ? empty_shape(feature) : Shape());
  }

  void take(const PriorSource& source) {
    const Opinion opinion = opinion_of(*source.model, features_);
    const bool is_known =
        std::ranges::any_of(opinion.matches, [](Match match) { return match != Match::none; });
    if (!is_known || !(opinion.size > 0.0)) return;
    sources_.push_back(source.name);
    const double weight = weight_of(*source.model);
    weights_ += weight;
    for (std::size_t f = 0; f < features_.size(); ++f) {
      if (!sum_[f].empty()) add(opinion.shapes[f], weight / opinion.size, sum_[f]);
      matches_[f] = std::min(matches_[f], opinion.matches[f]);
    }
  }

  Prior finish() const {
    Prior prior;
    prior.sources = sources_;
    for (std::size_t f = 0; f < features_.size(); ++f) {
      if (sum_[f].empty()) continue;
      ++(matches_[f] == Match::name     ? prior.lists_by_name
         : matches_[f] == Match::engine ? prior.lists_by_engine
                                        : prior.lists_unknown);
      Shape mean = sum_[f];
      for (double& value : mean) value /= weights_;
      add_steps(mean, static_cast<std::uint32_t>(f), prior.steps);
    }
    return prior;
  }

  bool is_empty() const { return sources_.empty(); }

 private:
  const std::vector<Feature>& features_;
  std::vector<Shape> sum_;
  std::vector<Match> matches_;  // the best of all sources
  std::vector<std::string> sources_;
  double weights_ = 0.0;
};

}  // namespace

Result<Prior> prior_of(std::span<const PriorSource> sources, const std::vector<Feature>& features) {
  Opinions opinions(features);
  for (const PriorSource& source : sources) opinions.take(source);
  if (opinions.is_empty())
    return fail(Code::bad_data,
                "none of the models to start from knows any of these lists or their engines; a list is named "
                "template@engine");
  return opinions.finish();
}

JsonObject prior_record(const Prior& prior) {
  return {{"models", JsonArray(prior.sources.begin(), prior.sources.end())},
          {"lists_by_name", prior.lists_by_name},
          {"lists_by_engine", prior.lists_by_engine},
          {"lists_unknown", prior.lists_unknown}};
}

Model model_of(const Prior& prior, const std::vector<Feature>& features) {
  Model model;
  model.learner = kPriorLearner;
  model.features = features;
  model.ranker = std::make_shared<SumRanker>(prior.steps, features);
  model.training["prior"] = prior_record(prior);
  return model;
}

}  // namespace metafuse::fusion
