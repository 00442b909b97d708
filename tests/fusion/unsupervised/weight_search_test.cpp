#include <algorithm>
#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/unsupervised/supervised_fusion.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// Queries of `documents` documents in `lists` lists of random length. With ties, scores repeat and some
/// documents are in no list. Without ties, all scores are random and the first list has all documents and is
/// good, so that it keeps a weight.
std::vector<JudgedLists> drawn_queries(Random& random, std::size_t lists, std::size_t documents,
                                       bool has_ties) {
  std::vector<JudgedLists> out;
  for (int q = 0; q < 4; ++q) {
    JudgedLists query;
    query.query.documents.assign(documents, "d");
    for (std::size_t d = 0; d < documents; ++d) query.is_relevant.push_back(random.below(3) == 0 ? 1 : 0);
    query.relevant =
        static_cast<std::size_t>(std::count(query.is_relevant.begin(), query.is_relevant.end(), char{1}));
    for (std::size_t l = 0; l < lists; ++l) {
      std::vector<std::uint32_t> order;
      for (std::uint32_t d = 0; d < documents; ++d) order.push_back(d);
      random.shuffle(order);
      if (has_ties || l > 0) order.resize(static_cast<std::size_t>(random.below(documents + 1)));
      std::vector<ListEntry> list;
      for (std::size_t i = 0; i < order.size(); ++i)
        list.push_back({order[i], has_ties ? 1.0 / static_cast<double>(1 + i / 2) : random.uniform()});
      if (!has_ties && l == 0)
        for (ListEntry& entry : list) entry.score += query.is_relevant[entry.document] != 0 ? 0.5 : 0.0;
      std::sort(list.begin(), list.end(),
                [](const ListEntry& a, const ListEntry& b) { return a.score > b.score; });
      query.query.lists.push_back(std::move(list));
    }
    out.push_back(std::move(query));
  }
  return out;
}

/// Mean average precision, counting for every relevant document those that are ranked at or above it.
double slow_precision(const std::vector<JudgedLists>& queries, const std::vector<double>& weights) {
  double total = 0.0;
  for (const JudgedLists& query : queries) {
    std::vector<double> sums(query.query.size(), 0.0);
    for (std::size_t l = 0; l < weights.size(); ++l)
      for (const ListEntry& entry : query.query.lists[l]) sums[entry.document] += weights[l] * entry.score;
    std::vector<double> found;
    for (std::size_t d = 0; d < sums.size(); ++d)
      if (query.is_relevant[d] != 0) found.push_back(sums[d]);
    std::sort(found.begin(), found.end(), std::greater<>());
    for (std::size_t i = 0; i < found.size(); ++i)
      total += static_cast<double>(i + 1) /
               static_cast<double>(
                   std::count_if(sums.begin(), sums.end(), [&](double sum) { return sum >= found[i]; })) /
               static_cast<double>(query.relevant);
  }
  return total / static_cast<double>(queries.size());
}

/// The same search, with every trial measured from scratch.
std::vector<double> slow_search(const std::vector<JudgedLists>& queries) {
  const std::vector<double> grid = {0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5};
  const std::vector<double> precisions = mean_average_precisions(queries);
  const double most = *std::max_element(precisions.begin(), precisions.end());
  std::vector<double> weights = precisions;
  for (double& weight : weights) weight = most > 0.0 ? weight / most : 1.0;
  std::vector<std::size_t> order;
  for (std::size_t l = 0; l < weights.size(); ++l) order.push_back(l);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return precisions[a] > precisions[b]; });
  double best = slow_precision(queries, weights);
  for (int sweep = 0; sweep < 3; ++sweep)
    for (const std::size_t list : order) {
      const double old = weights[list];
      double chosen = old;
      const auto is_gain = [&](double step) {
        weights[list] = step;
        const double precision = slow_precision(queries, weights);
        weights[list] = old;
        if (precision <= best * (1.0 + 1e-9)) return false;
        best = precision;
        chosen = step;
        return true;
      };
      for (const double step : grid)
        if (step > old && !is_gain(step)) break;
      if (chosen == old)
        for (auto step = grid.rbegin(); step != grid.rend(); ++step)
          if (*step < old && !is_gain(*step)) break;
      weights[list] = chosen;
    }
  return weights;
}

}  // namespace

TEST_CASE("Weight tuning equals a search that measures every trial from scratch", "[fusion][weight_search]") {
  Random random(7);
  for (int trial = 0; trial < 40; ++trial) {
    const auto queries = drawn_queries(random, 2 + random.below(6), 3 + random.below(30), false);
    const auto tuned = tune_weights(queries, Normalisation::none);
    // Incrementally updated sums differ from fresh ones by rounding; without ties this changes no order.
    CHECK(tuned == slow_search(queries));
    CHECK(slow_precision(queries, tuned) >=
          precision_of_weighted_lists(queries, Normalisation::none) * (1.0 - 1e-9));
  }
}

TEST_CASE("The precision of weighted lists equals that of their sum", "[fusion][weight_search]") {
  Random random(8);
  const auto queries = drawn_queries(random, 3, 12, true);
  std::vector<double> weights = mean_average_precisions(queries);
  const double most = *std::max_element(weights.begin(), weights.end());
  for (double& weight : weights) weight /= most;
  CHECK(precision_of_weighted_lists(queries, Normalisation::none) ==
        Approx(slow_precision(queries, weights)));
  CHECK(precision_of_weighted_lists({}, Normalisation::none) == 0.0);
  CHECK(mean_average_precisions({}).empty());
}
