#include <algorithm>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/unsupervised/fusion_method.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// The chains as dense matrices, directly from their definitions.
std::vector<std::vector<double>> transitions(const QueryLists& query, int chain) {
  const std::size_t n = query.size();
  std::vector<std::vector<double>> p(n, std::vector<double>(n, 0.0));
  const auto table = rank_table(query);
  const auto rank = [&](std::size_t list, std::size_t document) { return table[list * n + document]; };
  for (std::size_t d = 0; d < n; ++d) {
    std::vector<std::size_t> own;
    for (std::size_t l = 0; l < query.lists.size(); ++l)
      if (rank(l, d) > 0) own.push_back(l);
    std::vector<std::size_t> places;  // MC1: a multiset
    for (const std::size_t l : own) {
      std::vector<std::size_t> above;
      for (const ListEntry& entry : query.lists[l]) {
        if (rank(l, entry.document) > rank(l, d)) continue;
        above.push_back(entry.document);
        places.push_back(entry.document);
      }
      const double of_list = 1.0 / static_cast<double>(own.size());
      if (chain == 2)
        for (const std::size_t e : above) p[d][e] += of_list / static_cast<double>(above.size());
      if (chain == 3)
        for (const ListEntry& entry : query.lists[l]) {
          const std::size_t to = rank(l, entry.document) < rank(l, d) ? entry.document : d;
          p[d][to] += of_list / static_cast<double>(query.lists[l].size());
        }
    }
    if (chain == 1)
      for (const std::size_t e : places) p[d][e] += 1.0 / static_cast<double>(places.size());
    for (std::size_t e = 0; chain == 4 && e < n; ++e) {
      int votes = 0;
      for (std::size_t l = 0; l < query.lists.size(); ++l)
        if (rank(l, d) > 0 && rank(l, e) > 0)
          votes += rank(l, e) < rank(l, d) ? 1 : rank(l, e) > rank(l, d) ? -1 : 0;
      p[d][votes > 0 ? e : d] += 1.0 / static_cast<double>(n);
    }
  }
  return p;
}

std::vector<double> stationary(const std::vector<std::vector<double>>& p, double restart) {
  const std::size_t n = p.size();
  std::vector<double> at(n, 1.0 / static_cast<double>(n));
  for (int step = 0; step < 5000; ++step) {
    std::vector<double> next(n, restart / static_cast<double>(n));
    for (std::size_t d = 0; d < n; ++d)
      for (std::size_t e = 0; e < n; ++e) next[e] += (1.0 - restart) * at[d] * p[d][e];
    at = next;
  }
  return at;
}

}  // namespace

TEST_CASE("The Markov chains agree with their dense definitions", "[fusion][methods][markov]") {
  Random random(5);
  const char* const ids[] = {"a", "b", "c", "d", "e", "f", "g"};
  for (int trial = 0; trial < 40; ++trial) {
    QueryLists query;
    for (const char* id : ids) query.documents.emplace_back(id);
    query.lists.resize(3);
    for (std::size_t l = 0; l < 3; ++l) {
      std::vector<std::uint32_t> order = {0, 1, 2, 3, 4, 5, 6};
      random.shuffle(order);
      // The first list has every document, so that each is in some list.
      const std::size_t length = l == 0 ? 7 : random.below(8);
      for (std::size_t i = 0; i < length; ++i) query.lists[l].push_back({order[i], 1.0});
    }
    for (int chain = 1; chain <= 4; ++chain) {
      const auto got = fuse_scores(*find_fusion_method("mc" + std::to_string(chain)), query, {});
      const auto want = stationary(transitions(query, chain), 0.05);
      INFO(chain);
      for (std::size_t d = 0; d < 7; ++d) CHECK(got[d] == Approx(want[d]).margin(1e-9));
    }
  }
}

// Two lists rank a before b, one ranks b before a. With two documents the chain is in a with probability
// to_a / (to_a + to_b), where to_b = .95 P(a to b) + .025 and to_a = .95 P(b to a) + .025:
//   MC1  from a the positions at or above it are a, a, b, a; from b they are a, b, a, b, b: 1/4 and 2/5
//   MC2  from a only the third list leads to b, in half of the draws: 1/6; from b two lists of three do: 1/3
//   MC3  b is drawn and ranked above a: 1/3 x 1/2; a is drawn and ranked above b: 2/3 x 1/2
//   MC4  the majority never prefers b; it prefers a whenever a is drawn: 0 and 1/2
TEST_CASE("The Markov chains of two documents equal a worked example", "[fusion][methods][markov]") {
  QueryLists query;
  query.documents = {"a", "b"};
  query.lists = {{{0, 2.0}, {1, 1.0}}, {{0, 2.0}, {1, 1.0}}, {{1, 2.0}, {0, 1.0}}};
  const double by_hand[] = {.405 / .6675, .341666666666667 / .525, .341666666666667 / .525, .5 / .525};
  for (int chain = 1; chain <= 4; ++chain) {
    INFO(chain);
    const auto scores = fuse_scores(*find_fusion_method("mc" + std::to_string(chain)), query, {});
    CHECK(scores[0] == Approx(by_hand[chain - 1]).epsilon(1e-9));
    CHECK(scores[1] == Approx(1.0 - by_hand[chain - 1]).epsilon(1e-9));
  }
}
