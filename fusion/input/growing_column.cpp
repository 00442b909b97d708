#include "fusion/input/growing_column.h"

#include <algorithm>
#include <limits>
#include <utility>

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

RawColumn GrowingColumn::raw(std::size_t rows) {
  if (rows > 0 && is_wide_ && words_.size() < rows) words_.put(rows - 1, 0);
  if (rows > 0 && !is_wide_ && bytes_.size() < rows) bytes_.put(rows - 1, 0);
  RawColumn column;
  column.values = values_;
  if (is_wide_)
    column.words = {words_.begin(), rows};
  else
    column.bytes = {bytes_.begin(), rows};
  return column;
}

double RawColumn::sort_key(std::size_t row, bool is_absent_zero) const {
  const std::uint32_t code = words.empty() ? bytes[row] : words[row];
  if (code == 0) return is_absent_zero ? 0.0 : -std::numeric_limits<double>::infinity();
  const double value = std::bit_cast<double>(values[code]);
  return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
}

namespace {

bool has_absent(const RawColumn& column) {
  const auto has_zero = [](auto codes) { return std::find(codes.begin(), codes.end(), 0) != codes.end(); };
  return !column.is_full && (column.words.empty() ? has_zero(column.bytes) : has_zero(column.words));
}

}  // namespace

Result<ColumnPiece> GrowingColumn::write(ColumnFile& file, std::size_t rows) {
  const RawColumn column = raw(rows);
  const auto codes = is_wide_ ? std::as_bytes(column.words) : std::as_bytes(column.bytes);
  const auto values = std::as_bytes(column.values);
  std::vector<std::byte> bytes(values.begin(), values.end());
  bytes.insert(bytes.end(), codes.begin(), codes.end());
  TRY(const std::uint64_t begin, file.append(bytes));
  return ColumnPiece{begin, values_.size(), rows, is_wide_, !has_absent(column)};
}

RawColumn ColumnPiece::in(std::span<const std::byte> own) const {
  // Values stand in front of codes.
  const std::byte* const first = own.data();
  const std::byte* const codes = first + values * sizeof(std::uint64_t);
  RawColumn column;
  column.values = {reinterpret_cast<const std::uint64_t*>(first), values};
  if (is_wide)
    column.words = {reinterpret_cast<const std::uint32_t*>(codes), rows};
  else
    column.bytes = {reinterpret_cast<const std::uint8_t*>(codes), rows};
  column.is_full = is_full;
  return column;
}

Result<void> RowPart::write_columns(ColumnFile& file) {
  for (GrowingColumn& column : columns) {
    TRY(const auto piece, column.write(file, size()));
    pieces.push_back(piece);
    column = GrowingColumn();
  }
  return {};
}

namespace {

/// Adds the values that occur in a part.
void add_values(const RawColumn& part, bool is_absent_zero, std::vector<double>& values) {
  for (const std::uint64_t bits : part.values.subspan(1))
    if (const auto value = std::bit_cast<double>(bits); !std::isnan(value)) values.push_back(value);
  if (is_absent_zero && has_absent(part)) values.push_back(0.0);
}

/// The final code of every code of a part.
std::vector<std::uint32_t> translation(const RawColumn& part, const std::vector<double>& sorted,
                                       bool is_absent_zero) {
  const auto place = [&](double value) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), value);
    return static_cast<std::uint32_t>(at - sorted.begin() + 1);
  };
  std::vector<std::uint32_t> translated{is_absent_zero ? place(0.0) : 0};
  for (const std::uint64_t bits : part.values.subspan(1)) {
    const auto value = std::bit_cast<double>(bits);
    translated.push_back(std::isnan(value) ? 0 : place(value));
  }
  return translated;
}

/// An array as it shall be kept.
template <class Number>
Result<FrozenArray<Number>> frozen(std::vector<Number> numbers, ColumnFile* file) {
  if (file != nullptr) return file->freeze(std::span<const Number>(numbers));
  return FrozenArray<Number>(std::move(numbers));
}

}  // namespace

Result<CodedColumn> finish_column(std::span<const RawColumn> parts, std::span<const RowSegment> segments,
                                  std::span<const std::uint32_t> rows, bool is_absent_zero,
                                  ColumnFile* file) {
  std::vector<double> values;
  for (const RawColumn& part : parts) add_values(part, is_absent_zero, values);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const auto coded = [&](auto codes) {
    using Code = typename decltype(codes)::value_type;
    codes.resize(rows.size());
    std::vector<std::uint32_t> translated;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const RowSegment& segment = segments[i];
      const RawColumn& part = parts[segment.part];
      if (i == 0 || segment.part != segments[i - 1].part)
        translated = translation(part, values, is_absent_zero);
      const auto put = [&](const auto* raw_codes) {
        for (std::size_t at = segment.begin; at < segment.end; ++at)
          codes[at] = static_cast<Code>(translated[raw_codes[rows[at] - segment.first]]);
      };
      part.words.empty() ? put(part.bytes.data()) : put(part.words.data());
    }
    return frozen(std::move(codes), file);
  };
  CodedColumn column;
  if (values.size() <= std::numeric_limits<std::uint8_t>::max()) {
    TRY(column.bytes, coded(std::vector<std::uint8_t>()));
  } else {
    TRY(column.words, coded(std::vector<std::uint32_t>()));
  }
  TRY(column.values, frozen(std::move(values), file));
  return column;
}

}  // namespace metafuse::fusion
