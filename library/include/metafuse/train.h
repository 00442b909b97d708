#pragma once

// Trains models on judged runs.

#include <string>
#include <vector>

#include <metafuse/model.h>

namespace metafuse {
inline namespace library_0 {

/// Trains a model; the names of the runs become its lists.
/// in: learner - a row of describe("learners"); options - its own, and those of metafuse_train() in
///     metafuse.h; validate - judgments of other queries, for learners that stop early
inline Model train(const std::vector<Run>& runs, const Qrels& qrels, const std::string& learner = "auto",
                   const Options& options = {}, const Qrels* validate = nullptr, Progress progress = {}) {
  const auto handles = detail::handles_of(runs);
  const detail::OptionList given(options);
  metafuse_model* model = nullptr;
  detail::check(metafuse_train(handles.data(), handles.size(), qrels.handle(),
                               validate == nullptr ? nullptr : validate->handle(), learner.c_str(),
                               given.data(), given.size(), progress ? detail::call_progress : nullptr,
                               &progress, &model));
  return Model(model);
}

/// Cross-validates a learner over folds of the queries.
/// in:  options - as train(), and folds
/// out: a JSON report with the best rank of a relevant document in each query, for the learner, for the
///      baseline methods and for each run alone
inline std::string cross_validate(const std::vector<Run>& runs, const Qrels& qrels,
                                  const std::string& learner = "rankboost", const Options& options = {},
                                  Progress progress = {}) {
  const auto handles = detail::handles_of(runs);
  const detail::OptionList given(options);
  return detail::text_of([&](char** json) {
    return metafuse_cross_validate(handles.data(), handles.size(), qrels.handle(), learner.c_str(),
                                   given.data(), given.size(), progress ? detail::call_progress : nullptr,
                                   &progress, json);
  });
}

}  // namespace library_0
}  // namespace metafuse
