#include "fusion/unsupervised/query_lists.h"

#include <algorithm>

namespace metafuse::fusion {

std::vector<Standing> standings(const QueryLists& query) {
  std::vector<Standing> out(query.size());
  for (const auto& list : query.lists)
    for (std::size_t i = 0; i < list.size(); ++i)
      out[list[i].document].add(static_cast<std::uint32_t>(i + 1));
  return out;
}

std::vector<std::uint32_t> fused_order(const QueryLists& query, std::span<const double> scores,
                                       std::span<const Standing> known) {
  struct Keyed {
    double score;
    std::uint32_t document;
  };
  std::vector<Keyed> keyed(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) keyed[i] = {scores[i], static_cast<std::uint32_t>(i)};
  std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) { return a.score > b.score; });
  std::vector<Standing> counted;
  for (auto begin = keyed.begin(); begin != keyed.end();) {
    auto end = begin + 1;
    while (end != keyed.end() && end->score == begin->score) ++end;
    if (end - begin > 1) {
      if (known.empty()) known = counted = standings(query);
      std::sort(begin, end, [&](const Keyed& a, const Keyed& b) {
        const auto standing = by_standing(known[a.document], known[b.document]);
        if (standing != 0) return standing < 0;
        return query.documents[a.document] < query.documents[b.document];
      });
    }
    begin = end;
  }
  std::vector<std::uint32_t> order(keyed.size());
  for (std::size_t i = 0; i < keyed.size(); ++i) order[i] = keyed[i].document;
  return order;
}

std::vector<double> list_counts(const QueryLists& query) {
  std::vector<double> counts(query.size(), 0.0);
  for (const auto& list : query.lists)
    for (const ListEntry& entry : list) counts[entry.document] += 1.0;
  return counts;
}

std::vector<std::uint32_t> rank_table(const QueryLists& query) {
  std::vector<std::uint32_t> table(query.lists.size() * query.size(), 0);
  for (std::size_t list = 0; list < query.lists.size(); ++list)
    for (std::size_t i = 0; i < query.lists[list].size(); ++i)
      table[list * query.size() + query.lists[list][i].document] = static_cast<std::uint32_t>(i + 1);
  return table;
}

}  // namespace metafuse::fusion
