#include "fusion/input/growing_column.h"

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

double GrowingColumn::sort_key(std::size_t row, bool is_absent_zero) const {
  const std::uint32_t code = raw(row);
  if (code == 0) return is_absent_zero ? 0.0 : -std::numeric_limits<double>::infinity();
  const double value = std::bit_cast<double>(values_[code]);
  return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
}

/// Some of the first `rows` rows have no cell.
bool GrowingColumn::has_absent(std::size_t rows) const {
  const auto is_short = [rows](const auto& codes) {
    return codes.size() < rows || std::find(codes.begin(), codes.end(), 0) != codes.end();
  };
  return is_wide_ ? is_short(words_) : is_short(bytes_);
}

/// Adds the values that occur in the first `rows` rows.
void GrowingColumn::add_values(std::size_t rows, bool is_absent_zero, std::vector<double>& values) const {
  for (const std::uint64_t bits : std::span(values_).subspan(1))
    if (const auto value = std::bit_cast<double>(bits); !std::isnan(value)) values.push_back(value);
  if (is_absent_zero && has_absent(rows)) values.push_back(0.0);
}

void GrowingColumn::fill_up(std::size_t rows) {
  if (is_wide_ && words_.size() < rows) words_.put(rows - 1, 0);
  if (!is_wide_ && bytes_.size() < rows) bytes_.put(rows - 1, 0);
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

CodedColumn finish_column(std::span<GrowingColumn* const> parts, std::span<const RowSegment> segments,
                          std::span<const std::uint32_t> rows, bool is_absent_zero) {
  std::vector<std::size_t> counts(parts.size(), 0);  // rows of a part
  for (const RowSegment& segment : segments) counts[segment.part] += segment.end - segment.begin;
  CodedColumn column;
  std::vector<double>& values = column.values;
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i]->add_values(counts[i], is_absent_zero, values);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::vector<std::vector<std::uint32_t>> translations;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    translations.push_back(parts[i]->translation(values, is_absent_zero));
    parts[i]->fill_up(counts[i]);
  }
  const auto put_all = [&](auto& codes) {
    using Code = typename std::remove_reference_t<decltype(codes)>::value_type;
    codes.resize(rows.size());
    for (const RowSegment& segment : segments) {
      const std::uint32_t* const translation = translations[segment.part].data();
      const auto put = [&](const auto* raw_codes) {
        for (std::size_t i = segment.begin; i < segment.end; ++i)
          codes[i] = static_cast<Code>(translation[raw_codes[rows[i] - segment.first]]);
      };
      const GrowingColumn& part = *parts[segment.part];
      part.is_wide_ ? put(part.words_.begin()) : put(part.bytes_.begin());
    }
  };
  values.size() <= GrowingColumn::kMostByteValues ? put_all(column.bytes) : put_all(column.words);
  for (GrowingColumn* const part : parts) *part = GrowingColumn();
  return column;
}

}  // namespace metafuse::fusion
