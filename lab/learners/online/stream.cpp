#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lab/learners/online/learner.h"

namespace metafuse::lab::online {

Result<DocumentStream> DocumentStream::start(const LearnerSettings& settings) {
  if (settings.grades.empty())
    return fail(Code::usage, "a new stream needs --grades with all possible grades, such as 0,1,2");
  DocumentStream stream;
  stream.settings_ = settings;
  return stream;
}

Result<DocumentStream> DocumentStream::resume(const Model& model) {
  const JsonObject body = model.ranker->body();
  if (!body.contains("state"))
    return fail(Code::usage, "--resume: the learner " + model.learner + " does not learn from a stream");
  TRY(const auto ranker, fusion::online::read_online_ranker(body, model.features));
  DocumentStream stream;
  stream.features_ = model.features;
  stream.inputs_ = ranker.inputs();
  stream.model_ = ranker.model();
  stream.is_absent_zero_ = model.is_absent_zero;
  stream.are_ranks_ = !model.features.empty() && model.features[0].kind == FeatureKind::rank;
  return stream;
}

Result<std::vector<double>> DocumentStream::row_of(std::span<const StreamCell> cells) const {
  std::vector<double> row(inputs_->size(), inputs_->has_bias ? 1.0 : 0.0);
  if (is_absent_zero_)
    for (std::size_t f = 0; f < features_.size(); ++f)
      row[f] = inputs_->scales[f].offset * inputs_->scales[f].factor;
  for (const StreamCell& cell : cells) {
    if (cell.index == 0 || cell.index > features_.size())
      return fail(Code::bad_data, "there is a feature " + std::to_string(cell.index) +
                                      ", but the model has " + std::to_string(features_.size()) +
                                      " features");
    const InputScale& scale = inputs_->scales[cell.index - 1];
    const double value = are_ranks_ ? -cell.value : cell.value;
    row[cell.index - 1] = cell.is_unranked ? 0.0 : (value + scale.offset) * scale.factor;
  }
  return row;
}

Result<StreamPrediction> DocumentStream::take(double grade, std::span<const StreamCell> cells) {
  const bool is_first = !model_;
  auto taken = take_known(grade, cells);
  if (!taken && is_first) {
    features_.clear();
    inputs_.reset();
    model_.reset();
  }
  return taken;
}

Result<StreamPrediction> DocumentStream::take_known(double grade, std::span<const StreamCell> cells) {
  if (!model_) {
    std::uint32_t count = 0;
    for (const StreamCell& cell : cells) count = std::max(count, cell.index);
    std::vector<Feature> features;
    for (std::uint32_t f = 1; f <= count; ++f) features.push_back({std::to_string(f), FeatureKind::value, 0});
    auto ranker = fresh_ranker(settings_, std::vector<InputScale>(count), settings_.grades);
    if (!ranker) return fail(Code::bad_data, ranker.error().text);
    features_ = std::move(features);
    inputs_ = ranker->inputs();
    model_ = ranker->model();
  }
  const auto rank = inputs_->rank(grade);
  if (!rank) return fail(Code::bad_data, fmt::format("grade {:g} is not one of the model's grades", grade));
  TRY(auto row, row_of(cells));
  TRY(const auto predictions, model_->learn(row, {&*rank, 1}));
  const OnlinePrediction& said = predictions.front();
  return StreamPrediction{inputs_->grades[static_cast<std::size_t>(said.rounded - 1)], said.score,
                          std::abs(said.rank - *rank)};
}

Result<Model> DocumentStream::model() const {
  if (!model_)
    return fail(Code::bad_data, "the stream contained no documents, so there is no model to write");
  Model model;
  model.learner = std::string(to_name(model_->options().method));
  model.features = features_;
  model.training = JsonObject{{"examples", model_->steps()}};
  model.is_absent_zero = is_absent_zero_;
  model.ranker = std::make_shared<OnlineRanker>(*inputs_, *model_);
  return model;
}

}  // namespace metafuse::lab::online
