#include "fusion/data/base_queries.h"

#include <map>
#include <set>

#include "evaluation/significance/significance.h"

namespace metafuse::fusion {

std::string_view base_query_of(std::string_view id) {
  id = id.substr(0, id.find('#'));
  for (const std::string_view origin : {kJudgedRow, kClickedRow})
    if (id.starts_with(origin)) id.remove_prefix(origin.size());
  return id;
}

std::vector<std::string_view> base_queries(const TrainingSet& set, const std::vector<bool>& is_marked) {
  std::set<std::string_view> names;
  for (std::size_t query = 0; query < is_marked.size(); ++query)
    if (is_marked[query]) names.insert(base_query_of(set.queries[query].id));
  return {names.begin(), names.end()};
}

Result<std::vector<std::size_t>> folds_of_base_queries(const TrainingSet& set,
                                                       const std::vector<bool>& is_marked, std::size_t folds,
                                                       std::uint64_t seed) {
  const std::vector<std::string_view> names = base_queries(set, is_marked);
  TRY(const auto cut, evaluation::random_folds(names, folds, seed));
  std::map<std::string_view, std::size_t> fold_of;
  for (std::size_t i = 0; i < names.size(); ++i) fold_of[names[i]] = cut.fold_of[i];
  std::vector<std::size_t> out;
  for (const QueryRange& query : set.queries) {
    const auto at = fold_of.find(base_query_of(query.id));
    out.push_back(at == fold_of.end() ? folds : at->second);
  }
  return out;
}

std::vector<std::size_t> outside_fold(const std::vector<std::size_t>& fold_of, std::size_t fold) {
  std::vector<std::size_t> out;
  for (std::size_t query = 0; query < fold_of.size(); ++query)
    if (fold_of[query] != fold) out.push_back(query);
  return out;
}

}  // namespace metafuse::fusion
