#include "fusion/growing_column.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace metafuse::fusion {
namespace {

constexpr std::size_t kSlotsAValue = 4;  // at least

}  // namespace

void GrowingColumn::put_in_slot(std::uint32_t code) {
  const std::size_t mask = slots_.size() - 2;
  std::size_t at = slot_of(values_[code]);
  while (slots_[at] != 0) at = (at + 1) & mask;
  slots_[at] = code;
  slots_.back() = slots_.front();
}

std::uint32_t GrowingColumn::find_or_add(std::uint64_t bits) {
  const std::size_t mask = slots_.size() - 2;
  for (std::size_t at = slot_of(bits); slots_[at] != 0; at = (at + 1) & mask)
    if (values_[slots_[at]] == bits) return slots_[at];
  values_.push_back(bits);
  if (values_.size() * kSlotsAValue > slots_.size()) {
    shift_ -= 2;
    slots_.assign((std::size_t{1} << (64 - shift_)) + 1, 0);
    for (std::uint32_t code = 1; code < values_.size(); ++code) put_in_slot(code);
  } else {
    put_in_slot(static_cast<std::uint32_t>(values_.size() - 1));
  }
  return static_cast<std::uint32_t>(values_.size() - 1);
}

void GrowingColumn::set_wide(std::size_t row, std::uint32_t code) {
  if (!is_wide_) {
    is_wide_ = true;
    for (std::size_t i = 0; i < bytes_.size(); ++i) words_.put(i, bytes_[i]);
    bytes_.clear();
  }
  words_.put(row, code);
}

void GrowingColumn::append(GrowingColumn&& other, std::size_t first) {
  appended_.push_back({first, std::make_unique<GrowingColumn>(std::move(other))});
  other = GrowingColumn();
}

double GrowingColumn::sort_key(std::uint32_t row, bool is_absent_zero) const {
  const auto [number, place] = place_of(row);
  const std::uint32_t code = piece(number).raw(place);
  if (code == 0) return is_absent_zero ? 0.0 : -std::numeric_limits<double>::infinity();
  const double value = std::bit_cast<double>(piece(number).values_[code]);
  return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
}

/// Some of the first `rows` rows have no cell.
bool GrowingColumn::has_absent(std::size_t rows) const {
  const auto is_short = [rows](const auto& codes) {
    return codes.size() < rows || std::find(codes.begin(), codes.end(), 0) != codes.end();
  };
  return is_wide_ ? is_short(words_) : is_short(bytes_);
}

/// The values that occur in any piece, ascending.
std::vector<double> GrowingColumn::sort_values(std::size_t rows, bool is_absent_zero) const {
  std::vector<double> sorted;
  for (std::size_t i = 0; i <= appended_.size(); ++i) {
    for (const std::uint64_t bits : std::span(piece(i).values_).subspan(1))
      if (const auto value = std::bit_cast<double>(bits); !std::isnan(value)) sorted.push_back(value);
    const std::size_t begin = i == 0 ? 0 : appended_[i - 1].first;
    const std::size_t end = i == appended_.size() ? rows : appended_[i].first;
    if (is_absent_zero && piece(i).has_absent(end - begin)) sorted.push_back(0.0);
  }
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

/// The final code of every raw code of this piece.
std::vector<std::uint32_t> GrowingColumn::translation(const std::vector<double>& sorted,
                                                      bool is_absent_zero) const {
  const auto place = [&](double value) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), value);
    return static_cast<std::uint32_t>(at - sorted.begin() + 1);
  };
  std::vector<std::uint32_t> translated{is_absent_zero ? place(0.0) : 0};
  for (const std::uint64_t bits : std::span(values_).subspan(1)) {
    const auto value = std::bit_cast<double>(bits);
    translated.push_back(std::isnan(value) ? 0 : place(value));
  }
  return translated;
}

CodedColumn GrowingColumn::finish(std::span<const std::uint32_t> order, bool is_absent_zero) {
  CodedColumn column;
  column.values = sort_values(order.size(), is_absent_zero);
  std::vector<std::vector<std::uint32_t>> translated;
  for (std::size_t i = 0; i <= appended_.size(); ++i)
    translated.push_back(piece(i).translation(column.values, is_absent_zero));
  const auto put_all = [&](auto& codes) {
    using Code = typename std::remove_reference_t<decltype(codes)>::value_type;
    const auto put_own = [&](const auto& raw_codes) {
      codes.resize(order.size());
      const std::uint32_t* const translations = translated[0].data();
      const auto* const raw_code = raw_codes.begin();
      const std::size_t known = raw_codes.size();
      for (std::size_t i = 0; i < order.size(); ++i)
        codes[i] = static_cast<Code>(translations[order[i] < known ? raw_code[order[i]] : 0]);
    };
    if (appended_.empty()) return is_wide_ ? put_own(words_) : put_own(bytes_);
    codes.reserve(order.size());
    for (const std::uint32_t row : order) {
      const auto [number, place] = place_of(row);
      codes.push_back(static_cast<Code>(translated[number][piece(number).raw(place)]));
    }
  };
  column.values.size() <= kMostByteValues ? put_all(column.bytes) : put_all(column.words);
  *this = GrowingColumn();
  return column;
}

}  // namespace metafuse::fusion
