#include "fusion/training_set_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <unordered_map>

#include "core/contract.h"
#include "fusion/first_bytes.h"
#include "fusion/growing_column.h"

namespace metafuse::fusion {
struct TrainingSetBuilder::State {
  std::vector<GrowingColumn> columns;
  std::vector<std::string> query_ids;
  std::unordered_map<std::string, std::uint32_t> query_numbers;
  std::uint32_t last_query = 0;
  // A row:
  TextList documents;
  GrowingArray<std::uint32_t> queries;
  GrowingArray<double> grades;
  GrowingArray<std::uint8_t> in_feedback;

  /// Frees all but the columns.
  void forget_rows() {
    State left;
    left.columns = std::move(columns);
    *this = std::move(left);
  }

  std::uint32_t query_number(std::string_view id) {
    if (!query_ids.empty() && query_ids[last_query] == id) return last_query;
    const auto [at, is_new] =
        query_numbers.emplace(std::string(id), static_cast<std::uint32_t>(query_ids.size()));
    if (is_new) query_ids.emplace_back(id);
    return last_query = at->second;
  }

  /// Documents without id: by features, then grade.
  bool precedes_by_content(std::uint32_t a, std::uint32_t b, bool is_absent_zero) const {
    for (const GrowingColumn& column : columns) {
      const double left = column.sort_key(a, is_absent_zero);
      const double right = column.sort_key(b, is_absent_zero);
      if (left != right) return left < right;
    }
    if (grades[a] != grades[b]) return grades[a] < grades[b];
    return in_feedback[a] < in_feedback[b];
  }

  /// Rows by query id, then by document.
  std::vector<std::uint32_t> canonical_order(bool is_absent_zero) const {
    std::vector<std::uint32_t> by_id(query_ids.size());
    std::iota(by_id.begin(), by_id.end(), 0U);
    std::sort(by_id.begin(), by_id.end(),
              [&](std::uint32_t a, std::uint32_t b) { return query_ids[a] < query_ids[b]; });
    std::vector<std::uint32_t> counts(query_ids.size(), 0);
    for (const std::uint32_t query : queries) ++counts[query];
    std::vector<std::uint32_t> next(query_ids.size());  // a query: where its next row goes
    std::uint32_t begin = 0;
    for (const std::uint32_t query : by_id) {
      next[query] = begin;
      begin += counts[query];
    }
    std::vector<std::uint32_t> order(queries.size());
    for (std::uint32_t row = 0; row < order.size(); ++row) order[next[queries[row]]++] = row;
    for (const std::uint32_t query : by_id) {
      const auto end = order.begin() + static_cast<std::ptrdiff_t>(next[query]);
      sort_documents(std::span(end - static_cast<std::ptrdiff_t>(counts[query]), end), is_absent_zero);
    }
    return order;
  }

 private:
  /// How many bytes at the front all these documents' ids share.
  std::size_t common_prefix(std::span<const std::uint32_t> rows) const {
    std::string_view prefix = documents[rows.front()];
    for (const std::uint32_t row : rows) {
      const std::string_view id = documents[row];
      std::size_t same = 0;
      while (same < std::min(prefix.size(), id.size()) && prefix[same] == id[same]) ++same;
      prefix = prefix.substr(0, same);
    }
    return prefix.size();
  }

  bool precedes(std::uint32_t a, std::uint32_t b, bool is_absent_zero) const {
    const int ids = documents[a].compare(documents[b]);
    if (ids != 0) return ids < 0;
    return documents[a].empty() && precedes_by_content(a, b, is_absent_zero);
  }

  /// Sorts numbers that hold the six bytes of an id behind the common prefix, which decide nearly always, and
  /// the place among `rows`.
  void sort_documents(std::span<std::uint32_t> rows, bool is_absent_zero) const {
    const auto by_all = [&](std::uint32_t a, std::uint32_t b) { return precedes(a, b, is_absent_zero); };
    if (rows.size() > std::size_t{1} << kPlaceBits) {
      std::sort(rows.begin(), rows.end(), by_all);
      return;
    }
    const std::size_t prefix = common_prefix(rows);
    std::vector<std::uint64_t> keys;
    keys.reserve(rows.size());
    for (const std::uint32_t row : rows)
      keys.push_back(first_bytes(documents[row].substr(prefix)) >> kPlaceBits << kPlaceBits | keys.size());
    std::sort(keys.begin(), keys.end());
    const std::vector<std::uint32_t> before(rows.begin(), rows.end());
    std::size_t begin = 0;  // of places with equal keys
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i] = before[keys[i] & ((std::size_t{1} << kPlaceBits) - 1)];
      if (i + 1 < rows.size() && keys[i] >> kPlaceBits == keys[i + 1] >> kPlaceBits) continue;
      if (i > begin)
        std::sort(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                  rows.begin() + static_cast<std::ptrdiff_t>(i + 1), by_all);
      begin = i + 1;
    }
  }

  static constexpr unsigned kPlaceBits = 16;
};

TrainingSetBuilder::TrainingSetBuilder() : state_(std::make_unique<State>()) {}
TrainingSetBuilder::~TrainingSetBuilder() = default;
TrainingSetBuilder::TrainingSetBuilder(TrainingSetBuilder&&) noexcept = default;
TrainingSetBuilder& TrainingSetBuilder::operator=(TrainingSetBuilder&&) noexcept = default;

void TrainingSetBuilder::add(const InstanceRow& row) {
  State& state = *state_;
  const std::size_t number = state.queries.size();
  require(number < std::numeric_limits<std::uint32_t>::max(), "fewer than 2^32 documents");
  state.queries.push_back(state.query_number(row.query));
  state.documents.push_back(row.document);
  state.grades.push_back(row.grade);
  state.in_feedback.push_back(row.is_in_feedback ? 1 : 0);
  for (const Cell& cell : row.cells) {
    require(!std::isinf(cell.value), "a feature value must be finite");
    if (cell.feature >= state.columns.size()) [[unlikely]]
      state.columns.resize(cell.feature + 1);
    state.columns[cell.feature].set(number, cell.value);
  }
}

void TrainingSetBuilder::append(TrainingSetBuilder&& other) {
  State& state = *state_;
  State taken = std::move(*other.state_);
  *other.state_ = State();
  const std::size_t first = state.queries.size();
  require(first + taken.queries.size() < std::numeric_limits<std::uint32_t>::max(),
          "fewer than 2^32 documents");
  std::vector<std::uint32_t> numbers;
  for (const std::string& id : taken.query_ids) numbers.push_back(state.query_number(id));
  for (const std::uint32_t query : taken.queries) state.queries.push_back(numbers[query]);
  for (std::size_t i = 0; i < taken.documents.size(); ++i) state.documents.push_back(taken.documents[i]);
  for (const double grade : taken.grades) state.grades.push_back(grade);
  for (const std::uint8_t is_in_feedback : taken.in_feedback) state.in_feedback.push_back(is_in_feedback);
  state.columns.resize(std::max(state.columns.size(), taken.columns.size()));
  for (std::size_t i = 0; i < taken.columns.size(); ++i)
    state.columns[i].append(std::move(taken.columns[i]), first);
}

Result<TrainingSet> TrainingSetBuilder::finish(std::vector<Feature> features, const FeedbackOptions& feedback,
                                               bool is_absent_zero) {
  State& state = *state_;
  require(state.columns.size() <= features.size(), "every cell belongs to a feature");
  state.columns.resize(features.size());
  const std::vector<std::uint32_t> order = state.canonical_order(is_absent_zero);
  TrainingSet set;
  set.feedback = feedback;
  set.documents.reserve(order.size(), state.documents.bytes());
  set.grades.reserve(order.size());
  set.in_feedback.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t row = order[i];
    if (i == 0 || state.queries[order[i - 1]] != state.queries[row]) {
      if (!set.queries.empty()) set.queries.back().end = i;
      set.queries.push_back({state.query_ids[state.queries[row]], i, order.size(), 1.0});
    } else if (!state.documents[row].empty() && state.documents[row] == state.documents[order[i - 1]]) {
      return fail(Code::bad_data, "query \"" + set.queries.back().id + "\": the document \"" +
                                      std::string(state.documents[row]) +
                                      "\" stands twice; keep one of its lines");
    }
    set.documents.push_back(state.documents[row]);
    set.grades.push_back(state.grades[row]);
    set.in_feedback.push_back(state.in_feedback[row]);
  }
  state.forget_rows();
  std::vector<CodedColumn> columns;
  for (GrowingColumn& column : state.columns) columns.push_back(column.finish(order, is_absent_zero));
  set.matrix = FeatureMatrix(std::move(features), order.size(), std::move(columns));
  *state_ = State();
  return set;
}

}  // namespace metafuse::fusion
