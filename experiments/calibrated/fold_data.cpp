#include "experiments/calibrated/fold_data.h"

#include <filesystem>

#include "experiments/paper_report.h"
#include "fusion/training_input.h"

namespace metafuse::experiments::calibrated {
namespace {

using fusion::TrainingSet;
using fusion::adaboost_mh::graded_documents;
using fusion::adaboost_mh::GradedDocuments;

Result<TrainingSet> read_parts(const DataSet& set, const std::string& data, const std::vector<int>& parts) {
  fusion::TrainingInput input;
  for (const int part : parts)
    input.letor.push_back(with_packing(data + "/" + set.folder + "/S" + std::to_string(part) + ".txt"));
  return fusion::read_training_set(input);
}

}  // namespace

std::vector<DataSet> data_sets(const std::string& data) {
  std::vector<DataSet> sets = {{"OHSUMED",
                                "letor3-OHSUMED/QueryLevelNorm",
                                evaluation::Mode::letor3,
                                "ndcg_cut_10",
                                {{"ensemble, CPC", .4621},
                                 {"ensemble, RBC", .4493},
                                 {"ensemble, CPC+RBC", .4561},
                                 {"AdaBoost.MH, trees", .4164},
                                 {"AdaBoost.MH, products", .4162},
                                 {"RankBoost", .4302},
                                 {"AdaRank-MAP", .4429},
                                 {"AdaRank-NDCG", .4496},
                                 {"ListNet", .4410},
                                 {"RankSVM", .4140}}},
                               {"MQ2008",
                                "letor4-MQ2008",
                                evaluation::Mode::letor4,
                                "mean_ndcg",
                                {{"ensemble, CPC", .4998},
                                 {"ensemble, RBC", .5004},
                                 {"ensemble, CPC+RBC", .5006},
                                 {"AdaBoost.MH, trees", .4843},
                                 {"AdaBoost.MH, products", .4768},
                                 {"RankBoost", .4850},
                                 {"AdaRank-MAP", .4915},
                                 {"AdaRank-NDCG", .4950},
                                 {"ListNet", .4914},
                                 {"RankSVM", .4832}}}};
  if (std::filesystem::exists(data + "/letor4-MQ2007"))
    sets.push_back({"MQ2007",
                    "letor4-MQ2007",
                    evaluation::Mode::letor4,
                    "mean_ndcg",
                    {{"ensemble, CPC", .4975},
                     {"ensemble, RBC", .4976},
                     {"ensemble, CPC+RBC", .4974},
                     {"AdaBoost.MH, trees", .4868},
                     {"AdaBoost.MH, products", .4785},
                     {"RankBoost", .5003},
                     {"AdaRank-MAP", .4891},
                     {"AdaRank-NDCG", .4914},
                     {"ListNet", .4988},
                     {"RankSVM", .4966}}});
  return sets;
}

Result<FoldData> read_fold(const DataSet& set, const std::string& data, int fold) {
  const auto part = [&](int offset) { return (fold - 1 + offset) % 5 + 1; };
  auto train = read_parts(set, data, {part(0), part(1), part(2)});
  if (!train) return train.error();
  auto validation = read_parts(set, data, {part(3)});
  if (!validation) return validation.error();
  auto test = read_parts(set, data, {part(4)});
  if (!test) return test.error();
  FoldData out;
  auto grades = fusion::adaboost_mh::class_grades(*train);
  if (!grades) return grades.error();
  out.grades = *grades;
  out.train = std::move(*train);
  out.validation_set = std::move(*validation);
  out.test_set = std::move(*test);
  for (const auto& [source, target] :
       {std::pair<const TrainingSet*, GradedDocuments*>{&out.train, &out.training},
        {&out.validation_set, &out.validation},
        {&out.test_set, &out.test}}) {
    auto documents = graded_documents(*source, out.grades);
    if (!documents) return documents.error();
    *target = std::move(*documents);
  }
  return out;
}

}  // namespace metafuse::experiments::calibrated
