#include "fusion/unsupervised/supervised_fusion.h"

#include <algorithm>
#include <bit>
#include <cmath>

// What the probabilistic methods learn from judged lists. P(x | i) is the share of training queries in which
// list i has a relevant document at position x; positions below a shorter list count as not relevant.
//   posfuse    P(x | i)
//   slidefuse  the mean of P over x and the k positions on each side of it
//   probfuse   positions up to the longest list's length are cut into k segments; the value is the mean over
//              queries of the share of relevant documents in the segment, divided by the segment's number
//              (Lillis et al. 2006)
//   segfuse    the same share over segments of 10 x 2^(s-1) - 5 documents: 5, 15, 35 ...
//   mapfuse    mean average precision of the list / rank
//   bayesfuse  log P(rank bucket | relevant) / P(rank bucket | not relevant), with buckets of doubling size
//              and counts smoothed by 1/2; being absent is one more bucket, whose value is subtracted from
//              all others (Aslam, Montague 2001)
namespace metafuse::fusion {
namespace {

using WeightTable = std::vector<std::vector<double>>;  // list x position

std::size_t longest_list(std::span<const JudgedLists> queries) {
  std::size_t longest = 1;
  for (const JudgedLists& item : queries)
    for (const auto& list : item.query.lists) longest = std::max(longest, list.size());
  return longest;
}

/// The number of queries with a relevant document, for every list and position.
WeightTable relevant_at_positions(std::span<const JudgedLists> queries, std::size_t lists) {
  WeightTable table(lists, std::vector<double>(longest_list(queries), 0.0));
  for (const JudgedLists& item : queries)
    for (std::size_t list = 0; list < lists; ++list)
      for (std::size_t i = 0; i < item.query.lists[list].size(); ++i)
        table[list][i] += item.is_relevant[item.query.lists[list][i].document] != 0 ? 1.0 : 0.0;
  return table;
}

/// Replaces each value by the mean of the values in its window.
/// in: table - whole numbers, so that their sums are exact
WeightTable slide(const WeightTable& table, std::size_t reach) {
  WeightTable out = table;
  for (std::size_t list = 0; list < table.size(); ++list) {
    std::vector<double> sums{0.0};  // of the positions before each one
    for (const double value : table[list]) sums.push_back(sums.back() + value);
    for (std::size_t i = 0; i < table[list].size(); ++i) {
      const std::size_t begin = i >= reach ? i - reach : 0;
      const std::size_t end = std::min(i + reach + 1, table[list].size());
      out[list][i] = (sums[end] - sums[begin]) / static_cast<double>(end - begin);
    }
  }
  return out;
}

/// Replaces each value by value(mean of its segment, index of the segment).
template <class Value>
WeightTable by_segments(const WeightTable& table, const std::vector<std::size_t>& ends, Value value) {
  WeightTable out = table;
  for (std::size_t list = 0; list < table.size(); ++list) {
    std::size_t begin = 0;
    for (std::size_t segment = 0; segment < ends.size(); ++segment) {
      const std::size_t end = std::min(ends[segment], table[list].size());
      double sum = 0.0;
      for (std::size_t i = begin; i < end; ++i) sum += table[list][i];
      for (std::size_t i = begin; i < end; ++i)
        out[list][i] = value(sum / static_cast<double>(end - begin), segment);
      begin = std::max(begin, end);
    }
  }
  return out;
}

std::vector<std::size_t> equal_segments(std::size_t depth, std::size_t count) {
  const std::size_t size = (depth + count - 1) / count;
  std::vector<std::size_t> ends;
  for (std::size_t end = size; ends.empty() || ends.back() < depth; end += size) ends.push_back(end);
  return ends;
}

std::vector<std::size_t> growing_segments(std::size_t depth) {
  std::vector<std::size_t> ends;
  std::size_t end = 0;
  for (std::size_t size = 5; end < depth; size = 2 * size + 5) ends.push_back(end += size);
  return ends;
}

std::size_t bucket_of(std::size_t position) {
  return static_cast<std::size_t>(std::bit_width(position + 1)) - 1;
}

WeightTable bayes_values(std::span<const JudgedLists> queries, std::size_t lists) {
  const std::size_t depth = longest_list(queries);
  const std::size_t buckets = bucket_of(depth - 1) + 2;  // the last one: absent
  WeightTable out(lists, std::vector<double>(depth, 0.0));
  for (std::size_t list = 0; list < lists; ++list) {
    std::vector<double> relevant(buckets, 0.5);
    std::vector<double> others(buckets, 0.5);
    double relevant_total = 0.5 * static_cast<double>(buckets);
    double others_total = relevant_total;
    for (const JudgedLists& item : queries) {
      std::vector<std::size_t> bucket(item.query.size(), buckets - 1);
      for (std::size_t i = 0; i < item.query.lists[list].size(); ++i)
        bucket[item.query.lists[list][i].document] = bucket_of(i);
      for (std::size_t document = 0; document < item.query.size(); ++document) {
        const bool is_relevant = item.is_relevant[document] != 0;
        (is_relevant ? relevant : others)[bucket[document]] += 1.0;
        (is_relevant ? relevant_total : others_total) += 1.0;
      }
    }
    const auto log_odds = [&](std::size_t b) {
      return std::log(relevant[b] / relevant_total) - std::log(others[b] / others_total);
    };
    for (std::size_t i = 0; i < depth; ++i) out[list][i] = log_odds(bucket_of(i)) - log_odds(buckets - 1);
  }
  return out;
}

WeightTable weights_of(const FusionMethod& method, std::span<const JudgedLists> queries, std::size_t lists,
                       double k) {
  const std::size_t depth = longest_list(queries);
  if (method.name == "bayesfuse") return bayes_values(queries, lists);
  if (method.name == "mapfuse") {
    const std::vector<double> precisions = mean_average_precisions(queries);
    WeightTable table(lists, std::vector<double>(depth));
    for (std::size_t list = 0; list < lists; ++list)
      for (std::size_t i = 0; i < depth; ++i) table[list][i] = precisions[list] / static_cast<double>(i + 1);
    return table;
  }
  WeightTable table = relevant_at_positions(queries, lists);
  if (method.name == "slidefuse") table = slide(table, static_cast<std::size_t>(k));
  for (auto& row : table)
    for (double& value : row) value /= static_cast<double>(queries.size());
  if (method.name == "probfuse")
    return by_segments(
        table, equal_segments(depth, static_cast<std::size_t>(k)),
        [](double mean, std::size_t segment) { return mean / static_cast<double>(segment + 1); });
  if (method.name == "segfuse")
    return by_segments(table, growing_segments(depth), [](double mean, std::size_t) { return mean; });
  return table;
}

}  // namespace

std::vector<JudgedLists> judged_lists(const evaluation::Judgments& judgments, int relevance_level,
                                      const std::function<QueryLists(std::string_view query)>& lists_of) {
  std::vector<JudgedLists> out;
  for (const evaluation::QueryJudgments& query : judgments.queries) {
    JudgedLists judged{lists_of(query.query), {}, 0, &query};
    if (judged.query.size() == 0) continue;
    for (const std::string_view document : judged.query.documents) {
      const evaluation::Judgment* judgment = query.find(document);
      judged.is_relevant.push_back(judgment != nullptr && judgment->grade >= relevance_level ? 1 : 0);
    }
    for (const evaluation::Judgment& judgment : query.documents)
      judged.relevant += judgment.grade >= relevance_level ? 1 : 0;
    out.push_back(std::move(judged));
  }
  return out;
}

Result<FusionOptions> train_fusion(const FusionMethod& method, std::span<const JudgedLists> queries,
                                   FusionOptions options) {
  const bool has_relevant = std::any_of(queries.begin(), queries.end(), [](const JudgedLists& item) {
    return std::find(item.is_relevant.begin(), item.is_relevant.end(), 1) != item.is_relevant.end();
  });
  if (!has_relevant)
    return fail(Code::bad_data,
                "no judged query has a relevant document in any list, so nothing can be learned");
  const std::size_t lists = queries[0].query.lists.size();
  if (method.name == "tuned_weights")
    options.weights = tune_weights(queries, options.normalise.value_or(method.default_normalise));
  else if (method.needs_weights)
    options.weights = mean_average_precisions(queries);
  else if (method.is_supervised)
    options.value_at = weights_of(method, queries, lists, options.k.value_or(method.default_k));
  return options;
}

}  // namespace metafuse::fusion
