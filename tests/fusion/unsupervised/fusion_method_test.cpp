#include "fusion/unsupervised/fusion_method.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "core/random.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

// Two lists over four documents: L1 = a (3), b (2), c (1); L2 = b (10), d (5).
QueryLists example() {
  return {{"a", "b", "c", "d"}, {{{0, 3.0}, {1, 2.0}, {2, 1.0}}, {{1, 10.0}, {3, 5.0}}}};
}

std::vector<double> scores_of(const char* name, const FusionOptions& options = {}) {
  const FusionMethod* method = find_fusion_method(name);
  REQUIRE(method != nullptr);
  return fuse_scores(*method, example(), options);
}

void check_scores(const char* name, const std::vector<double>& want, const FusionOptions& options = {}) {
  const std::vector<double> got = scores_of(name, options);
  INFO(name);
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-12));
}

QueryLists random_query(Random& random) {
  QueryLists query;
  static const std::vector<std::string> ids = [] {
    std::vector<std::string> names;
    for (int i = 0; i < 12; ++i) names.push_back("D" + std::to_string(i));
    return names;
  }();
  std::vector<char> is_listed(12, 0);
  std::vector<std::vector<std::uint32_t>> lists(1 + random.below(4));
  for (auto& list : lists) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < 12; ++i) order.push_back(i);
    random.shuffle(order);
    order.resize(random.below(9));
    list = order;
  }
  std::vector<std::uint32_t> number(12, 99);
  for (const auto& list : lists) {
    query.lists.emplace_back();
    double score = 5.0;
    for (const std::uint32_t document : list) {
      if (number[document] == 99) {
        number[document] = static_cast<std::uint32_t>(query.documents.size());
        query.documents.emplace_back(ids[document]);
      }
      query.lists.back().push_back({number[document], score});
      score -= static_cast<double>(random.below(3));
    }
  }
  return query;
}

}  // namespace

FusionOptions with_k(double k) {
  FusionOptions options;
  options.k = k;
  return options;
}

FusionOptions with_weights(std::vector<double> weights) {
  FusionOptions options;
  options.weights = std::move(weights);
  return options;
}

TEST_CASE("Every fusion method gives the scores of a worked example", "[fusion][methods]") {
  check_scores("rrf", {1.0 / 61, 1.0 / 62 + 1.0 / 61, 1.0 / 63, 1.0 / 62});
  check_scores("rrf", {0.5, 1.0 / 3 + 0.5, 0.25, 1.0 / 3}, with_k(1.0));
  check_scores("rrf", {1.0 / 61, 1.0 / 62 + 2.0 / 61, 1.0 / 63, 2.0 / 62}, with_weights({1.0, 2.0}));
  // Min-max makes L1 1, 1/2, 0 and L2 1, 0.
  check_scores("combmin", {1.0, 0.5, 0.0, 0.0});
  check_scores("combmax", {1.0, 1.0, 0.0, 0.0});
  check_scores("combmed", {1.0, 0.75, 0.0, 0.0});
  check_scores("combsum", {1.0, 1.5, 0.0, 0.0});
  check_scores("combanz", {1.0, 0.75, 0.0, 0.0});
  check_scores("combmnz", {1.0, 3.0, 0.0, 0.0});
  check_scores("combgmnz", {1.0, 6.0, 0.0, 0.0});
  check_scores("combmin", {4.0, 1.0, 0.0, 0.0}, with_weights({4.0, 1.0}));
  check_scores("combmax", {1.0, 2.0, 0.0, 0.0}, with_weights({1.0, 2.0}));
  check_scores("combmed", {1.0, 1.25, 0.0, 0.0}, with_weights({1.0, 2.0}));
  check_scores("weighted_sum", {1.0, 2.5, 0.0, 0.0}, with_weights({1.0, 2.0}));
  check_scores("isr", {1.0, 2 * 1.25, 1.0 / 9, 0.25});
  check_scores("log_isr", {std::log(1.01), std::log(2.01) * 1.25, std::log(1.01) / 9, std::log(1.01) / 4});
  check_scores("rbc", {0.1, 0.09 + 0.1, 0.081, 0.09});
  // Four documents: L1 gives 4, 3, 2 and d gets 1; L2 gives 4, 3, and a and c get (2 + 1) / 2 each.
  check_scores("borda", {5.5, 7.0, 3.5, 4.0});
  check_scores("weighted_borda", {4 + 3.0, 3 + 8.0, 2 + 3.0, 1 + 6.0}, with_weights({1.0, 2.0}));
  check_scores("searxng", {1.0, 2 * 1.5, 1.0 / 3, 0.5});
  check_scores("searxng", {0.5, 2 * 1.5 * 0.5 * 3, 0.5 / 3, 1.5}, with_weights({0.5, 3.0}));
  check_scores("round_robin", {0.0, -1.0, -4.0, -3.0});
  // An absent document is ranked 5th of four.
  check_scores("median_rank", {-3.0, -1.5, -4.0, -3.5});
  // Majorities: b over c and d, a over c; a-b, a-d, c-d are ties. The Borda order b a d c stays unchanged.
  check_scores("condorcet", {-1.0, 0.0, -3.0, -2.0});
  check_scores("copeland", {1.0, 2.0, -2.0, -1.0});
  // L1 decides alone: a b c, then d.
  check_scores("weighted_condorcet", {0.0, -1.0, -2.0, -3.0}, with_weights({2.0, 1.0}));
  // a has normalised ranks 1/4 and 1: P(one of two <= 1/4) = 7/16. b has 1/4 and 1/2: P(both <= 1/2) = 1/4
  // is less.
  check_scores("rra", {-std::log(7.0 / 16), -std::log(0.25), -std::log(1 - 1.0 / 16), -std::log(0.75)});
}

TEST_CASE("The score of a sum over lists is the sum of the scores that each list gives alone",
          "[fusion][methods]") {
  Random random(11);
  for (const FusionMethod& method : fusion_methods()) {
    if (!method.is_sum) continue;
    INFO(method.name);
    for (int i = 0; i < 50; ++i) {
      const QueryLists query = random_query(random);
      FusionOptions options;
      for (std::size_t l = 0; method.takes_weights && l < query.lists.size(); ++l)
        options.weights.push_back(static_cast<double>(l + 1));
      std::vector<double> sums(query.size(), 0.0);
      for (std::size_t l = 0; l < query.lists.size(); ++l) {
        QueryLists alone{query.documents, std::vector<std::vector<ListEntry>>(query.lists.size())};
        alone.lists[l] = query.lists[l];
        const auto share = fuse_scores(method, alone, options);
        for (std::size_t d = 0; d < sums.size(); ++d) sums[d] += share[d];
      }
      const auto scores = fuse_scores(method, query, options);
      for (std::size_t d = 0; d < sums.size(); ++d) CHECK(sums[d] == Approx(scores[d]).margin(1e-12));
    }
  }
}

TEST_CASE("Normalisations give the values of worked examples", "[fusion][normalisation]") {
  const auto normal = [](Normalisation normalisation, std::vector<double> values) {
    std::vector<ListEntry> list;
    for (const double value : values) list.push_back({0, value});
    normalise(list, normalisation, 10);
    std::vector<double> out;
    for (const ListEntry& entry : list) out.push_back(entry.score);
    return out;
  };
  const std::vector<double> values = {4.0, 3.0, -1.0};
  CHECK(normal(Normalisation::none, values) == values);
  CHECK(normal(Normalisation::min_max, values) == std::vector<double>{1.0, 0.8, 0.0});
  CHECK(normal(Normalisation::max, values) == std::vector<double>{1.0, 0.75, -0.25});
  CHECK(normal(Normalisation::sum, values) == std::vector<double>{5.0 / 9, 4.0 / 9, 0.0});
  CHECK(normal(Normalisation::rank, values) == std::vector<double>{1.0, 1.0 - 1.0 / 3, 1.0 - 2.0 / 3});
  CHECK(normal(Normalisation::borda, values) == std::vector<double>{1.0, 0.9, 0.8});
  CHECK(normal(Normalisation::l2, {3.0, 4.0}) == std::vector<double>{0.6, 0.8});
  const auto z = normal(Normalisation::z_score, {3.0, 1.0});
  CHECK(z == std::vector<double>{1.0, -1.0});
  // All scores equal, or all zero.
  for (const auto& name : {"min-max", "sum"})
    CHECK(normal(*normalisation_of(name), {2.0, 2.0}) == std::vector<double>{1.0, 1.0});
  for (const auto& name : {"max", "l2"})
    CHECK(normal(*normalisation_of(name), {0.0, 0.0}) == std::vector<double>{1.0, 1.0});
  CHECK(normal(Normalisation::z_score, {2.0, 2.0}) == std::vector<double>{0.0, 0.0});
  // the mean of these is no .1
  CHECK(normal(Normalisation::z_score, std::vector<double>(6, 0.1)) == std::vector<double>(6, 0.0));
}

TEST_CASE("Fusion scores are finite and do not depend on the numbering of documents", "[fusion][methods]") {
  Random random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const QueryLists query = random_query(random);
    QueryLists renumbered = query;
    std::vector<std::uint32_t> to(query.size());
    for (std::uint32_t i = 0; i < to.size(); ++i) to[i] = i;
    random.shuffle(to);
    for (std::size_t i = 0; i < to.size(); ++i) renumbered.documents[to[i]] = query.documents[i];
    for (auto& list : renumbered.lists)
      for (ListEntry& entry : list) entry.document = to[entry.document];
    for (const FusionMethod& method : fusion_methods()) {
      if (method.is_supervised) continue;
      const FusionOptions options =
          method.needs_weights ? with_weights(std::vector<double>(query.lists.size(), 0.5)) : FusionOptions{};
      const auto scores = fuse_scores(method, query, options);
      const auto moved = fuse_scores(method, renumbered, options);
      INFO(method.name);
      for (std::size_t i = 0; i < scores.size(); ++i) {
        CHECK(std::isfinite(scores[i]));
        CHECK(moved[to[i]] == Approx(scores[i]).margin(1e-9));
      }
    }
  }
}

TEST_CASE("Scores, weights and parameters as large as a double can be give finite scores",
          "[fusion][methods][security]") {
  // b overflows in both lists, c in one each way, and d is nothing at all.
  const QueryLists query{{"a", "b", "c", "d"},
                         {{{1, 1e308}, {2, 1e308}, {0, 1.0}, {3, 0.0}}, {{1, 1e308}, {0, 1.0}, {2, -1e308}}}};
  for (const FusionMethod& method : fusion_methods()) {
    if (method.is_supervised) continue;
    FusionOptions options;
    if (method.takes_weights) options.weights = {1e308, 1e308};
    if (method.uses_scores) options.normalise = Normalisation::none;
    if (!method.parameter.empty() && !method.name.starts_with("mc") && method.name != "rbc")
      options.k = 1e308;
    INFO(method.name);
    const auto scores = fuse_scores(method, query, options);
    for (const double score : scores) CHECK(std::isfinite(score));
    if (method.uses_scores) CHECK(scores[1] > scores[3]);
  }
  FusionOptions none = with_k(100.0);
  none.normalise = Normalisation::none;
  CHECK(check_fusion_options(*find_fusion_method("combgmnz"), none, 2).has_value());
  CHECK(fuse_scores(*find_fusion_method("combgmnz"), query, none)[3] == 0.0);
}

TEST_CASE("A single list is fused to itself by every method based on ranks", "[fusion][methods]") {
  const QueryLists query{{"a", "b", "c"}, {{{2, 9.0}, {0, 4.0}, {1, 1.0}}}};
  for (const FusionMethod& method : fusion_methods()) {
    if (method.is_supervised || method.name == "rra") continue;
    const FusionOptions options = method.needs_weights ? with_weights({1.0}) : FusionOptions{};
    INFO(method.name);
    CHECK(fused_order(query, fuse_scores(method, query, options)) == std::vector<std::uint32_t>{2, 0, 1});
  }
}

TEST_CASE("A query without lists or documents has no scores", "[fusion][methods]") {
  for (const FusionMethod& method : fusion_methods()) {
    CHECK(fuse_scores(method, {}, {}).empty());
    CHECK(fuse_scores(method, {{}, {{}, {}}}, {}).empty());
  }
}

TEST_CASE("Equal scores are ordered by number of lists and then best rank and id", "[fusion][methods]") {
  const QueryLists query{{"z", "y", "x", "w"}, {{{0, 1.0}, {1, 1.0}}, {{3, 1.0}, {1, 1.0}, {2, 1.0}}}};
  // y is in two lists; w and z are first in one, and w sorts before z; x is third.
  CHECK(fused_order(query, std::vector<double>(4, 0.0)) == std::vector<std::uint32_t>{1, 3, 0, 2});
}

TEST_CASE("A list without documents and a document without lists count for nothing", "[fusion][methods]") {
  // "absent" is in no list, as the documents of a domain's pool may be.
  const QueryLists query{{"a", "b", "absent"}, {{{0, 2.0}, {1, 1.0}}, {}}};
  const auto scores = [&](const char* name) { return fuse_scores(*find_fusion_method(name), query, {}); };
  for (const char* name : {"combmin", "combmax", "combmed", "combsum", "combanz", "combmnz", "combgmnz",
                           "rrf", "isr", "log_isr", "rbc"}) {
    INFO(name);
    CHECK(scores(name)[2] == 0.0);
  }
  // Three documents: the list gives a and b 3 and 2, and the absent one the remaining point.
  CHECK(scores("borda") == std::vector<double>{3.0, 2.0, 1.0});
}

TEST_CASE("Weights that sum to a tie but for rounding are a tie", "[fusion][methods]") {
  // Lists of .1 and .2 prefer a, one of .3 prefers b: .1 + .2 - .3 is 5.6e-17 in doubles. By Borda's count,
  // from which the sort starts, b is first: only the third list has c, between them.
  const QueryLists query{{"a", "b", "c"},
                         {{{0, 2.0}, {1, 1.0}}, {{0, 2.0}, {1, 1.0}}, {{1, 3.0}, {2, 2.0}, {0, 1.0}}}};
  REQUIRE(0.1 + 0.2 - 0.3 > 0.0);
  const auto scores =
      fuse_scores(*find_fusion_method("weighted_condorcet"), query, with_weights({0.1, 0.2, 0.3}));
  CHECK(scores[1] > scores[0]);
}

TEST_CASE("Options that a method cannot use are refused by name", "[fusion][methods]") {
  const auto refuses = [](const char* name, const FusionOptions& options) {
    const auto checked = check_fusion_options(*find_fusion_method(name), options, 2);
    REQUIRE(checked.has_error());
    CHECK(checked.error().code == Code::usage);
  };
  refuses("borda", with_k(3.0));
  refuses("rbc", with_k(1.0));
  refuses("mc1", with_k(1.5));
  refuses("rrf", with_k(-1.0));
  refuses("rrf", with_weights({1.0}));
  refuses("rrf", with_weights({1.0, -1.0}));
  refuses("rrf", with_weights({1.0, std::nan("")}));
  refuses("borda", with_weights({1.0, 1.0}));
  refuses("weighted_borda", {});
  refuses("mc4", with_k(1.0));
  refuses("rrf", with_k(HUGE_VAL));
  refuses("probfuse", with_k(0.5));
  refuses("combgmnz", with_k(100.5));
  for (const char* counting : {"probfuse", "slidefuse"}) {
    refuses(counting, with_k(2.7));
    refuses(counting, with_k(1e300));
  }
  const auto takes = [](const char* name, const FusionOptions& options, bool learns = false) {
    return check_fusion_options(*find_fusion_method(name), options, 2, learns).has_value();
  };
  CHECK(takes("rrf", with_k(0.0)));
  CHECK(takes("rrf", with_k(1.0)));
  CHECK(takes("mc1", with_k(0.0)));
  CHECK(takes("probfuse", with_k(1.0)));
  CHECK(takes("slidefuse", with_k(0.0)));
  CHECK(takes("combgmnz", with_k(2.5)));
  CHECK(takes("rrf", with_weights({0.0, 1.0})));
  CHECK(takes("weighted_borda", {}, true));
  CHECK(check_fusion_options(*find_fusion_method("rrf"), with_weights({1.0}), 2).error().text ==
        "--weights: 1 weights for 2 runs; give one per run");
  FusionOptions normalised_ranks;
  normalised_ranks.normalise = Normalisation::sum;
  refuses("rrf", normalised_ranks);
  CHECK(check_fusion_options(*find_fusion_method("combsum"), normalised_ranks, 2).has_value());
  CHECK(find_fusion_method("nonsense") == nullptr);
}
