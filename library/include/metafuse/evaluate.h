#pragma once

// Evaluates runs against judgments, and compares runs.

#include <string>
#include <vector>

#include <metafuse/runs.h>

namespace metafuse {
inline namespace library_0 {

/// A table of queries x measures, and its summary.
class Evaluation {
 public:
  explicit Evaluation(metafuse_evaluation* owned) : handle_(owned) {}

  std::vector<std::string> queries() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < metafuse_evaluation_query_count(handle()); ++i)
      out.push_back(metafuse_evaluation_query(handle(), i));
    return out;
  }
  std::vector<std::string> measures() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < metafuse_evaluation_measure_count(handle()); ++i)
      out.push_back(metafuse_evaluation_measure(handle(), i));
    return out;
  }
  /// Requires numbers below the counts.
  double value(std::size_t query, std::size_t measure) const {
    return metafuse_evaluation_values(
        handle())[query * metafuse_evaluation_measure_count(handle()) + measure];
  }
  double summary(std::size_t measure) const { return metafuse_evaluation_summary(handle())[measure]; }

  const metafuse_evaluation* handle() const { return handle_.get(); }

 private:
  detail::Owned<metafuse_evaluation> handle_;
};

/// in: measures - "map,P_10,ndcg_cut_10", or a set such as "official"; options - those of
///     metafuse_evaluate() in metafuse.h
inline Evaluation evaluate(const Run& run, const Qrels& qrels,
                           const std::string& measures = "map,recip_rank,P_10,ndcg_cut_10",
                           const Options& options = {}) {
  const detail::OptionList given(options);
  metafuse_evaluation* evaluation = nullptr;
  detail::check(metafuse_evaluate(run.handle(), qrels.handle(), measures.c_str(), given.data(), given.size(),
                                  &evaluation));
  return Evaluation(evaluation);
}

/// Evaluates the runs side by side; with the option `baseline`, tests each other run against that one.
/// in:  options - those of metafuse_compare() in metafuse.h
/// out: a report in the form that the option `format` names (default: json)
inline std::string compare(const std::vector<Run>& runs, const Qrels& qrels,
                           const std::string& measures = "map,recip_rank,P_10,ndcg_cut_10",
                           const Options& options = {}) {
  const auto handles = detail::handles_of(runs);
  const detail::OptionList given(options);
  return detail::text_of([&](char** report) {
    return metafuse_compare(handles.data(), handles.size(), qrels.handle(), measures.c_str(), given.data(),
                            given.size(), report);
  });
}

/// Compares all fusion methods, and learners by cross-validation, on the same judged queries.
/// in:  options - those of metafuse_compare_methods() in metafuse.h
inline std::string compare_methods(const std::vector<Run>& runs, const Qrels& qrels,
                                   const std::string& measures = "map,recip_rank,P_10,ndcg_cut_10",
                                   const Options& options = {}, Progress progress = {}) {
  const auto handles = detail::handles_of(runs);
  const detail::OptionList given(options);
  return detail::text_of([&](char** report) {
    return metafuse_compare_methods(handles.data(), handles.size(), qrels.handle(), measures.c_str(),
                                    given.data(), given.size(), progress ? detail::call_progress : nullptr,
                                    &progress, report);
  });
}

}  // namespace library_0
}  // namespace metafuse
