#include "experiments/calibrated/fold_data.h"

#include <array>
#include <filesystem>
#include <map>
#include <string_view>

#include "core/text_file.h"
#include "experiments/split.h"

namespace metafuse::experiments::calibrated {
namespace {

using fusion::TrainingSet;
using fusion::adaboost_mh::graded_documents;
using fusion::adaboost_mh::GradedDocuments;

/// A column of table 2, by the names of our rows and then of the other methods.
std::vector<std::pair<std::string, double>> published(const std::array<double, 10>& figures) {
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

/// The line of each document of a part, by its query and id; a part is read in an order of its own.
Result<std::vector<std::size_t>> lines_of(const DataSet& set, const std::string& data, int part,
                                          const TrainingSet& documents) {
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  const std::string path = with_packing(data + "/" + set.folder + "/S" + std::to_string(part) + ".txt");
  auto done = for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    places[{std::string(after(line, "qid:")), std::string(after(line, "#docid = "))}] = number;
    return {};
  });
  if (!done) return done.error();
  std::vector<std::size_t> lines;
  for (const auto& query : documents.queries)
    for (std::size_t d = query.begin; d < query.end; ++d) {
      const auto found = places.find({query.id, std::string(documents.documents[d])});
      if (found == places.end())
        return fail(Code::bad_data, path + ": a document of query " + query.id +
                                        " has no #docid; take the file as distributed");
      lines.push_back(found->second);
    }
  return lines;
}

}  // namespace

std::vector<DataSet> data_sets(const std::string& data) {
  std::vector<DataSet> sets = {
      {"OHSUMED", "letor3-OHSUMED/QueryLevelNorm", evaluation::Mode::letor3, "ndcg_cut_10",
       published({.4621, .4493, .4561, .4164, .4162, .4302, .4429, .4496, .4410, .4140})},
      {"MQ2008", "letor4-MQ2008", evaluation::Mode::letor4, "mean_ndcg",
       published({.4998, .5004, .5006, .4843, .4768, .4850, .4915, .4950, .4914, .4832})}};
  if (std::filesystem::exists(data + "/letor4-MQ2007"))
    sets.push_back({"MQ2007", "letor4-MQ2007", evaluation::Mode::letor4, "mean_ndcg",
                    published({.4975, .4976, .4974, .4868, .4785, .5003, .4891, .4914, .4988, .4966})});
  return sets;
}

Result<FoldData> read_fold(const DataSet& set, const std::string& data, int fold) {
  TRY(auto split, read_letor_split(data + "/" + set.folder, static_cast<std::size_t>(fold - 1)));
  FoldData out;
  TRY(auto grades, fusion::adaboost_mh::class_grades(split.train));
  out.grades = grades;
  TRY(auto lines, lines_of(set, data, (fold + 3) % 5 + 1, split.test));
  out.test_lines = std::move(lines);
  out.train = std::move(split.train);
  out.validation_set = std::move(split.validate);
  out.test_set = std::move(split.test);
  for (const auto& [source, target] :
       {std::pair<const TrainingSet*, GradedDocuments*>{&out.train, &out.training},
        {&out.validation_set, &out.validation},
        {&out.test_set, &out.test}}) {
    TRY(auto documents, graded_documents(*source, out.grades));
    *target = std::move(documents);
  }
  return out;
}

}  // namespace metafuse::experiments::calibrated
