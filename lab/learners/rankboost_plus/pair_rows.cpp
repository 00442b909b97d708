#include "lab/learners/rankboost_plus/pair_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "core/parallel.h"
#include "fusion/learners/common/feedback_grades.h"
#include "fusion/learners/rankboost/kernels.h"

namespace metafuse::lab::rankboost_plus {

namespace {

// Pairs per chunk, and the least number of pairs for which another thread is worth starting.
constexpr std::size_t kChunkPairs = std::size_t{1} << 15;
constexpr std::size_t kPairsAThread = std::size_t{1} << 17;

/// The documents of one query in feedback, ascending by grade, then by document.
std::vector<std::uint32_t> by_grade(const TrainingSet& set, const QueryRange& query) {
  std::vector<std::uint32_t> order;
  for (std::size_t document = query.begin; document < query.end; ++document)
    if (is_in_feedback(set, document)) order.push_back(static_cast<std::uint32_t>(document));
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return feedback_grade(set, a) < feedback_grade(set, b);
  });
  return order;
}

class Builder {
 public:
  Builder(const TrainingSet& set, const PairCounts& counts) : set_(set) {
    pairs_.document_count = set.matrix.document_count();
    pairs_.rows.reserve(counts.rows);
  }

  PairRows build() {
    std::size_t next = 0;
    for (const QueryRange& query : set_.queries) {
      const std::size_t first_row = pairs_.rows.size();
      add_graded(query);
      next = add_general(query, next);
      weigh_query(first_row, query);
    }
    normalise();
    return std::move(pairs_);
  }

 private:
  void add_class(std::size_t first) {
    pairs_.classes.push_back(
        {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(pairs_.below.size() - first)});
  }

  void add_row(std::uint32_t above, std::size_t below_class, double weight) {
    pairs_.rows.push_back({above, static_cast<std::uint32_t>(below_class), pairs_.pair_count, weight});
    pairs_.pair_count += pairs_.classes[below_class].count;
  }

  void add_graded(const QueryRange& query) {
    const std::vector<std::uint32_t> order = by_grade(set_, query);
    if (order.empty() || feedback_grade(set_, order.front()) == feedback_grade(set_, order.back())) return;
    const std::size_t first_class = pairs_.classes.size();
    std::vector<double> class_grades;
    for (std::size_t begin = 0; begin < order.size();) {
      const double grade = feedback_grade(set_, order[begin]);
      std::size_t end = begin;
      while (end < order.size() && feedback_grade(set_, order[end]) == grade) ++end;
      for (std::size_t i = begin; i < end; ++i)
        for (std::size_t c = 0; c < class_grades.size(); ++c)
          add_row(order[i], first_class + c, grade_weight(set_.feedback, class_grades[c], grade));
      if (end < order.size()) {
        const std::size_t first = pairs_.below.size();
        pairs_.below.insert(pairs_.below.end(), order.begin() + static_cast<std::ptrdiff_t>(begin),
                            order.begin() + static_cast<std::ptrdiff_t>(end));
        add_class(first);
        class_grades.push_back(grade);
      }
      begin = end;
    }
  }

  /// Adds the general pairs of a query, from index `next` of the list sorted by query. Returns the
  /// next index.
  std::size_t add_general(const QueryRange& query, std::size_t next) {
    if (general_.empty() && !set_.pairs.empty()) sort_general();
    while (next < general_.size() && general_[next].above < query.end) {
      const std::size_t first = pairs_.below.size();
      const WeightedPair& head = general_[next];
      const std::uint32_t above = head.above;
      const double weight = head.weight;
      for (; next < general_.size() && general_[next].above == above && general_[next].weight == weight;
           ++next)
        pairs_.below.push_back(general_[next].below);
      add_class(first);
      add_row(above, pairs_.classes.size() - 1, weight);
    }
    return next;
  }

  void sort_general() {
    general_ = set_.pairs;
    std::stable_sort(general_.begin(), general_.end(), [](const WeightedPair& a, const WeightedPair& b) {
      return std::tie(a.above, a.weight, a.below) < std::tie(b.above, b.weight, b.below);
    });
  }

  void weigh_query(std::size_t first_row, const QueryRange& query) {
    if (set_.feedback.query_weights == FeedbackOptions::QueryWeights::pairs) return;
    double total = 0.0;
    for (std::size_t r = first_row; r < pairs_.rows.size(); ++r) total += row_total(pairs_.rows[r]);
    if (total <= 0.0) return;
    const double share = weight_of_query(set_.feedback, query, total) / total;
    for (std::size_t r = first_row; r < pairs_.rows.size(); ++r) pairs_.rows[r].initial *= share;
  }

  double row_total(const PairRow& row) const {
    return row.initial * static_cast<double>(pairs_.classes[row.below_class].count);
  }

  void normalise() {
    std::erase_if(pairs_.rows, [](const PairRow& row) { return row.initial <= 0.0; });
    pairs_.pair_count = 0;
    double total = 0.0;
    for (PairRow& row : pairs_.rows) {
      row.offset = pairs_.pair_count;
      pairs_.pair_count += pairs_.classes[row.below_class].count;
      total += row_total(row);
    }
    for (PairRow& row : pairs_.rows) row.initial /= total;
    cut_chunks();
  }

  void cut_chunks() {
    const std::vector<PairRow>& rows = pairs_.rows;
    if (rows.empty()) return;
    struct Span {
      std::uint32_t above, below_class;
    };
    std::vector<Span> least_after(rows.size());  // minimum over the rows from this one on
    for (std::size_t r = rows.size(); r-- > 0;) {
      least_after[r] = {rows[r].above, rows[r].below_class};
      if (r + 1 == rows.size()) continue;
      least_after[r].above = std::min(least_after[r].above, least_after[r + 1].above);
      least_after[r].below_class = std::min(least_after[r].below_class, least_after[r + 1].below_class);
    }
    RowChunk chunk;
    Span most{0, 0};
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const bool is_full = rows[r].offset - rows[chunk.first].offset >= kChunkPairs;
      if (is_full && least_after[r].above > most.above && least_after[r].below_class > most.below_class) {
        pairs_.chunks.push_back({chunk.first, r});
        chunk.first = r;
      }
      most = {std::max(most.above, rows[r].above), std::max(most.below_class, rows[r].below_class)};
    }
    pairs_.chunks.push_back({chunk.first, rows.size()});
  }

  const TrainingSet& set_;
  PairRows pairs_;
  std::vector<WeightedPair> general_;
};

struct Counts {
  std::size_t reversed = 0;
  std::size_t tied = 0;
};

double slack_of(double above, double below) {
  return std::max(rankboost::tie_reach(above), rankboost::tie_reach(below));
}

Counts count_row(double above, std::span<const double> class_scores) {
  Counts counts;
  for (const double below : class_scores) {
    const double slack = slack_of(above, below);
    const double margin = above - below;
    counts.reversed += margin < -slack ? 1U : 0U;
    counts.tied += std::abs(margin) <= slack ? 1U : 0U;
  }
  return counts;
}

/// As count_row(), of ascending scores: those tied with `above` lie between those below and above it.
Counts count_sorted_row(double above, std::span<const double> class_scores) {
  const auto tied = std::partition_point(class_scores.begin(), class_scores.end(), [above](double below) {
    return above - below > slack_of(above, below);
  });
  const auto reversed = std::partition_point(
      tied, class_scores.end(), [above](double below) { return !(above - below < -slack_of(above, below)); });
  return {static_cast<std::size_t>(class_scores.end() - reversed), static_cast<std::size_t>(reversed - tied)};
}

/// The scores of the documents below, class by class. A class that so many documents are compared with that
/// sorting it is cheaper than visiting its pairs is sorted.
struct ClassScores {
  ClassScores(const PairRows& all, const std::vector<double>& scores)
      : pairs(all), below(all.below.size()), is_sorted(all.classes.size(), 0) {
    constexpr std::size_t kFewest = 256;  // documents of a class
    constexpr std::size_t kFewestRows = 64;
    for (std::size_t k = 0; k < below.size(); ++k) below[k] = scores[pairs.below[k]];
    std::vector<std::size_t> rows(pairs.classes.size(), 0);
    for (const PairRow& row : pairs.rows) ++rows[row.below_class];
    for (std::size_t c = 0; c < rows.size(); ++c)
      is_sorted[c] = rows[c] >= kFewestRows && pairs.classes[c].count >= kFewest ? 1 : 0;
  }

  std::span<double> of(std::size_t c) {
    return std::span(below).subspan(pairs.classes[c].first, pairs.classes[c].count);
  }
  Counts count(const PairRow& row, double above) {
    return is_sorted[row.below_class] != 0 ? count_sorted_row(above, of(row.below_class))
                                           : count_row(above, of(row.below_class));
  }

  const PairRows& pairs;
  std::vector<double> below;
  std::vector<std::uint8_t> is_sorted;
};

Error no_pair() {
  return fail(Code::bad_data,
              "no crucial pair is left: every training query has a single grade; give judgments of at least "
              "two grades");
}

}  // namespace

Result<PairCounts> count_pairs(const TrainingSet& set) {
  PairCounts counts{set.pairs.size(), set.pairs.size()};
  for (const QueryRange& query : set.queries) {
    const std::vector<std::uint32_t> order = by_grade(set, query);
    std::size_t first = 0;    // of the documents of the current grade
    std::size_t classes = 0;  // of lower grades
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (feedback_grade(set, order[i]) != feedback_grade(set, order[first])) {
        first = i;
        ++classes;
      }
      counts.pairs += first;
      counts.rows += classes;
    }
  }
  if (counts.pairs == 0) return no_pair();
  return counts;
}

Result<PairRows> pair_rows(const TrainingSet& set, std::size_t max_bytes, std::size_t pair_bytes) {
  TRY(const PairCounts counts, count_pairs(set));
  const std::size_t bytes = counts.row_bytes() + counts.pairs * pair_bytes;
  if (bytes > max_bytes)
    return fail(Code::bad_data,
                fmt::format("{} crucial pairs need {} MB, more memory than allowed ({} MB); train on fewer "
                            "queries or with bipartite feedback, or raise --memory if the learner has it",
                            counts.pairs, bytes >> 20, max_bytes >> 20));
  PairRows pairs = Builder(set, counts).build();
  if (pairs.pair_count == 0) return no_pair();
  return pairs;
}

unsigned useful_threads(const PairRows& pairs, unsigned threads) {
  const std::size_t most = 1 + pairs.pair_count / kPairsAThread;
  return static_cast<unsigned>(std::min<std::size_t>({threads, most, pairs.chunks.size()}));
}

RankLosses rank_losses(const PairRows& pairs, const std::vector<double>& scores, unsigned threads) {
  ClassScores class_scores(pairs, scores);
  // By class: its highest score c and the sum of exp(score - c).
  std::vector<double> highest(pairs.classes.size());
  std::vector<double> mass(pairs.classes.size(), 0.0);
  for (std::size_t c = 0; c < pairs.classes.size(); ++c) {
    const std::span<double> below = class_scores.of(c);
    highest[c] = *std::max_element(below.begin(), below.end());
    for (const double score : below) mass[c] += std::exp(score - highest[c]);
    if (class_scores.is_sorted[c] != 0) std::sort(below.begin(), below.end());
  }
  std::vector<RankLosses> parts(pairs.chunks.size(), RankLosses{0.0, 0.0, 0.0});
  parallel_for(parts.size(), useful_threads(pairs, threads), [&](std::size_t c) {
    for (std::size_t r = pairs.chunks[c].first; r < pairs.chunks[c].end; ++r) {
      const PairRow& row = pairs.rows[r];
      const double above = scores[row.above];
      const Counts counts = class_scores.count(row, above);
      parts[c].r1 += row.initial * static_cast<double>(counts.reversed + counts.tied);
      parts[c].r2 +=
          row.initial * (static_cast<double>(counts.reversed) + 0.5 * static_cast<double>(counts.tied));
      parts[c].e1 += row.initial * mass[row.below_class] * std::exp(highest[row.below_class] - above);
    }
  });
  RankLosses losses;
  for (const RankLosses& part : parts) {
    losses.r1 += part.r1;
    losses.r2 += part.r2;
    losses.e1 += part.e1;
  }
  if (!(losses.e1 < std::numeric_limits<double>::max())) losses.e1 = std::numeric_limits<double>::max();
  return losses;
}

}  // namespace metafuse::lab::rankboost_plus
