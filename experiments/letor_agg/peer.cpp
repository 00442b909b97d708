#include "experiments/letor_agg/peer.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <unordered_map>

#include "evaluation/runs/run_file.h"
#include "experiments/round_curve.h"
#include "experiments/split.h"

namespace metafuse::experiments::letor_agg {

Result<std::vector<std::string>> peer_configurations(const std::string& folder) {
  std::vector<std::string> names;
  if (folder.empty()) return names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  if (error) return fail(Code::no_input, folder + ": " + error.message() + "; --peer-runs names a folder");
  if (names.empty())
    return fail(Code::no_input,
                folder + ": no folder of a configuration in it; write it by scripts/letor-agg-xgboost");
  std::sort(names.begin(), names.end());
  return names;
}

Result<Values> peer_values(const std::string& folder, const std::string& configuration, const Fold& fold,
                           const std::string& part, const fusion::TrainingSet& set,
                           const evaluation::MeasureSet& measures) {
  const std::string path = with_packing(folder + "/" + configuration + "/" + fold.set + "/fold" +
                                        std::to_string(fold.number) + "/" + part + ".run");
  TRY(const auto run, evaluation::read_run(path));
  std::vector<double> scores(set.grades.size(), 0.0);
  for (const fusion::QueryRange& query : set.queries) {
    std::unordered_map<std::string_view, double> by_document;
    if (const evaluation::RunTopic* topic = run.find(query.id))
      for (const evaluation::RunEntry& entry : topic->entries) by_document[entry.document] = entry.score;
    for (std::size_t row = query.begin; row < query.end; ++row) {
      const auto found = by_document.find(set.documents[row]);
      if (found == by_document.end())
        return fail(Code::bad_data, path + ": no score for document " + std::string(set.documents[row]) +
                                        " of query " + query.id +
                                        "; a run must hold every document of its part");
      scores[row] = found->second;
    }
  }
  return RoundCurve(set, measures).per_query(scores);
}

}  // namespace metafuse::experiments::letor_agg
