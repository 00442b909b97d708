#include "fusion/training_set_builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <unordered_map>

#include "core/contract.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kMostByteValues = 255;

template <class Vector>
void reserve_gently(Vector& vector, std::size_t size) {
  if (size > vector.capacity()) vector.reserve(size + size / 8 + 1024);
}

/// Numbers that grow in place where the system can do so: large blocks move by page tables, not by copies.
template <class Number>
class GrowingArray {
 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept { swap(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowingArray() { std::free(numbers_); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Number operator[](std::size_t i) const { return numbers_[i]; }

  /// Puts a number at a place at or behind the end; the places skipped become 0.
  void put(std::size_t at, Number number) {
    if (at >= size_) grow(at + 1);
    numbers_[at] = number;
  }

  void clear() { GrowingArray().swap(*this); }

 private:
  void swap(GrowingArray& other) noexcept {
    std::swap(numbers_, other.numbers_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  void grow(std::size_t size) {
    if (size > capacity_) {
      const std::size_t capacity = size + size / 4 + 64;
      void* const moved = std::realloc(numbers_, capacity * sizeof(Number));
      if (moved == nullptr) throw std::bad_alloc();
      numbers_ = static_cast<Number*>(moved);
      capacity_ = capacity;
    }
    if (size > size_ + 1) std::memset(numbers_ + size_, 0, (size - 1 - size_) * sizeof(Number));
    size_ = size;
  }

  Number* numbers_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// A column while it grows: values in the order in which they were first seen, found by open addressing.
/// Code 0 is "no cell"; NaN is a value like any other here and becomes "unranked" at the end.
class GrowingColumn {
 public:
  void set(std::size_t row, double value) {
    const std::uint32_t code = code_of(value);
    if (!is_wide_ && code <= kMostByteValues) {
      bytes_.put(row, static_cast<std::uint8_t>(code));
      return;
    }
    if (!is_wide_) widen();
    words_.put(row, code);
  }

  /// The column in its final form: rows in the order of `order`, values ascending.
  CodedColumn finish(const std::vector<std::uint32_t>& order, bool is_absent_zero) {
    slots_ = {};
    CodedColumn column;
    std::vector<std::uint32_t> translated = sort_values(order.size(), is_absent_zero, column.values);
    const auto code = [&](std::uint32_t row) { return translated[raw(row)]; };
    if (column.values.size() <= kMostByteValues) {
      column.bytes.reserve(order.size());
      for (const std::uint32_t row : order) column.bytes.push_back(static_cast<std::uint8_t>(code(row)));
    } else {
      column.words.reserve(order.size());
      for (const std::uint32_t row : order) column.words.push_back(code(row));
    }
    bytes_.clear();
    words_.clear();
    return column;
  }

  /// The value of a row's cell as a number that orders cells: unranked lowest. For tie-breaking only.
  double sort_key(std::uint32_t row, bool is_absent_zero) const {
    const std::uint32_t code = raw(row);
    if (code == 0) return is_absent_zero ? 0.0 : -std::numeric_limits<double>::infinity();
    const double value = values_[code - 1];
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  }

 private:
  std::uint32_t raw(std::uint32_t row) const {
    if (!is_wide_) return row < bytes_.size() ? bytes_[row] : 0;
    return row < words_.size() ? words_[row] : 0;
  }

  void widen() {
    is_wide_ = true;
    for (std::size_t row = 0; row < bytes_.size(); ++row) words_.put(row, bytes_[row]);
    bytes_.clear();
  }

  std::uint32_t code_of(double value) {
    if (value == 0.0) value = 0.0;  // minus zero is zero
    if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
    const auto bits = std::bit_cast<std::uint64_t>(value);
    if (values_.size() * 2 >= slots_.size()) grow();
    for (std::size_t at = hash(bits);; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.code == 0) {
        values_.push_back(value);
        slot = {bits, static_cast<std::uint32_t>(values_.size())};
        return slot.code;
      }
      if (slot.bits == bits) return slot.code;
    }
  }

  std::size_t hash(std::uint64_t bits) const {
    return static_cast<std::size_t>(bits * 0x9e3779b97f4a7c15U >> 32) & (slots_.size() - 1);
  }

  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(std::max<std::size_t>(16, old.size() * 2), Slot{});
    for (const Slot& slot : old) {
      if (slot.code == 0) continue;
      std::size_t at = hash(slot.bits);
      while (slots_[at].code != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  /// out: the final code of every raw code; `sorted` gets the values that occur, ascending
  std::vector<std::uint32_t> sort_values(std::size_t rows, bool is_absent_zero, std::vector<double>& sorted) {
    bool has_absent = false;
    for (std::size_t row = 0; row < rows && !has_absent; ++row)
      has_absent = raw(static_cast<std::uint32_t>(row)) == 0;
    for (const double value : values_)
      if (!std::isnan(value)) sorted.push_back(value);
    if (is_absent_zero && has_absent && std::find(sorted.begin(), sorted.end(), 0.0) == sorted.end())
      sorted.push_back(0.0);
    std::sort(sorted.begin(), sorted.end());
    const auto place = [&](double value) {
      return static_cast<std::uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), value) -
                                        sorted.begin() + 1);
    };
    std::vector<std::uint32_t> translated{is_absent_zero && has_absent ? place(0.0) : 0};
    for (const double value : values_) translated.push_back(std::isnan(value) ? 0 : place(value));
    return translated;
  }

  struct Slot {
    std::uint64_t bits = 0;
    std::uint32_t code = 0;
  };

  std::vector<double> values_;
  std::vector<Slot> slots_;
  GrowingArray<std::uint8_t> bytes_;
  GrowingArray<std::uint32_t> words_;
  bool is_wide_ = false;
};

}  // namespace

struct TrainingSetBuilder::State {
  std::vector<GrowingColumn> columns;
  std::vector<std::string> query_ids;
  std::unordered_map<std::string, std::uint32_t> query_numbers;
  std::uint32_t last_query = 0;
  std::vector<std::uint32_t> queries;  // a row
  std::string id_text;
  std::vector<std::size_t> id_ends;  // a row
  std::vector<double> grades;
  std::vector<std::uint8_t> in_feedback;

  std::string_view document(std::uint32_t row) const {
    const std::size_t begin = row == 0 ? 0 : id_ends[row - 1];
    return std::string_view(id_text).substr(begin, id_ends[row] - begin);
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

  std::vector<std::uint32_t> canonical_order(bool is_absent_zero) const {
    std::vector<std::uint32_t> by_id(query_ids.size());
    std::iota(by_id.begin(), by_id.end(), 0U);
    std::sort(by_id.begin(), by_id.end(),
              [&](std::uint32_t a, std::uint32_t b) { return query_ids[a] < query_ids[b]; });
    std::vector<std::uint32_t> place(query_ids.size());
    for (std::uint32_t i = 0; i < by_id.size(); ++i) place[by_id[i]] = i;
    std::vector<std::uint32_t> order(queries.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (queries[a] != queries[b]) return place[queries[a]] < place[queries[b]];
      const int ids = document(a).compare(document(b));
      if (ids != 0) return ids < 0;
      return document(a).empty() && precedes_by_content(a, b, is_absent_zero);
    });
    return order;
  }
};

TrainingSetBuilder::TrainingSetBuilder() : state_(std::make_unique<State>()) {}
TrainingSetBuilder::~TrainingSetBuilder() = default;
TrainingSetBuilder::TrainingSetBuilder(TrainingSetBuilder&&) noexcept = default;
TrainingSetBuilder& TrainingSetBuilder::operator=(TrainingSetBuilder&&) noexcept = default;

std::size_t TrainingSetBuilder::document_count() const {
  return state_->queries.size();
}

void TrainingSetBuilder::add(const InstanceRow& row) {
  State& state = *state_;
  const std::size_t number = state.queries.size();
  require(number < std::numeric_limits<std::uint32_t>::max(), "fewer than 2^32 documents");
  reserve_gently(state.queries, number + 1);
  reserve_gently(state.id_ends, number + 1);
  reserve_gently(state.grades, number + 1);
  reserve_gently(state.in_feedback, number + 1);
  state.queries.push_back(state.query_number(row.query));
  state.id_text += row.document;
  state.id_ends.push_back(state.id_text.size());
  state.grades.push_back(row.grade);
  state.in_feedback.push_back(row.is_in_feedback ? 1 : 0);
  for (const Cell& cell : row.cells) {
    require(!std::isinf(cell.value), "a feature value must be finite");
    if (cell.feature >= state.columns.size()) [[unlikely]]
      state.columns.resize(cell.feature + 1);
    state.columns[cell.feature].set(number, cell.value);
  }
}

Result<TrainingSet> TrainingSetBuilder::finish(std::vector<Feature> features, const FeedbackOptions& feedback,
                                               bool is_absent_zero) {
  State& state = *state_;
  require(state.columns.size() <= features.size(), "every cell belongs to a feature");
  state.columns.resize(features.size());
  const std::vector<std::uint32_t> order = state.canonical_order(is_absent_zero);
  TrainingSet set;
  set.feedback = feedback;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t row = order[i];
    if (i == 0 || state.queries[order[i - 1]] != state.queries[row]) {
      if (!set.queries.empty()) set.queries.back().end = i;
      set.queries.push_back({state.query_ids[state.queries[row]], i, order.size(), 1.0});
    } else if (!state.document(row).empty() && state.document(row) == state.document(order[i - 1])) {
      return fail(Code::bad_data, "query \"" + set.queries.back().id + "\": the document \"" +
                                      std::string(state.document(row)) +
                                      "\" stands twice; keep one of its lines");
    }
    set.documents.emplace_back(state.document(row));
    set.grades.push_back(state.grades[row]);
    set.in_feedback.push_back(state.in_feedback[row]);
  }
  std::vector<CodedColumn> columns;
  for (GrowingColumn& column : state.columns) columns.push_back(column.finish(order, is_absent_zero));
  set.matrix = FeatureMatrix(std::move(features), order.size(), std::move(columns));
  *state_ = State();
  return set;
}

}  // namespace metafuse::fusion
