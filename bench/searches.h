#pragma once

// Searches to fuse and a model that fuses them, for the programs of this folder that measure fusing.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "fusion/model/fuse.h"
#include "fusion/model/sum_ranker.h"

namespace metafuse::bench {

/// Lists of ids that look like canonical URLs; a list shares about half of its documents with the others.
struct Search {
  std::vector<std::string> pool;
  std::vector<std::vector<std::string_view>> ids;  ///< one per list
};

inline Search make_search(std::size_t lists, std::size_t depth, std::uint64_t seed) {
  Random random(seed);
  Search search;
  for (std::size_t i = 0; i < lists * depth / 2 + depth; ++i)
    search.pool.push_back("example" + std::to_string(random.below(1000)) + ".org/pages/" +
                          std::to_string(random.next()));
  search.ids.resize(lists);
  for (auto& list : search.ids) {
    std::vector<std::size_t> order(search.pool.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    random.shuffle(order);
    for (std::size_t i = 0; i < depth; ++i) list.emplace_back(search.pool[order[i]]);
  }
  return search;
}

/// Different searches, to be fused in turns, so that the branch predictor cannot remember the previous one.
inline std::vector<Search> make_searches(std::size_t count, std::size_t lists, std::size_t depth) {
  std::vector<Search> searches;
  for (std::uint64_t seed = 1; seed <= count; ++seed) searches.push_back(make_search(lists, depth, seed));
  return searches;
}

/// A dozen thresholds per feature.
inline fusion::SumRanker step_ranker(const std::vector<fusion::Feature>& features) {
  std::vector<fusion::WeakRanking> rankings;
  for (std::size_t i = 0; i < features.size(); ++i)
    for (int k = 1; k <= 12; ++k)
      rankings.push_back({static_cast<std::uint32_t>(i), -static_cast<double>(k * k) / 4.0 - 1.0, 0.0,
                          0.01 * static_cast<double>(k + 1)});
  return {std::move(rankings), features};
}

/// The ranks in the lists, by step_ranker().
inline fusion::Model step_model(std::size_t lists) {
  fusion::Model model;
  model.learner = "rankboost";
  for (std::size_t i = 0; i < lists; ++i)
    model.features.push_back({"list" + std::to_string(i), fusion::FeatureKind::rank, 0});
  model.ranker = std::make_shared<fusion::SumRanker>(step_ranker(model.features));
  return model;
}

/// One search fused: its documents in their order.
inline fusion::FusedRanking fuse_search(const fusion::Model& model, const Search& search) {
  return fusion::fuse(model, std::vector<fusion::RankedIds>(search.ids.begin(), search.ids.end()));
}

}  // namespace metafuse::bench
