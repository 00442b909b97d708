#include "fusion/input/growing_column.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/sort/spreadsort/integer_sort.hpp>

#include "fusion/data/fused_order.h"

namespace metafuse::fusion {
namespace {

// The least number of slots per value.
constexpr std::size_t kSlotsAValue = 4;

bool has_absent(const RawColumn& column) {
  const auto has_zero = [](auto codes) { return std::find(codes.begin(), codes.end(), 0) != codes.end(); };
  return !column.is_full && (column.words.empty() ? has_zero(column.bytes) : has_zero(column.words));
}

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
  // Values are stored before the codes.
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
  file.let_go();
  return {};
}

namespace {

/// A value of one part, or the 0 that its missing cells mean.
struct PartValue {
  // Ascending with the value.
  std::uint64_t order;
  // Index of its code among the codes of all parts.
  std::size_t place;
};

/// The values of all parts of a column, and a translation of the parts' codes to final codes.
struct JoinedValues {
  std::vector<double> values;        // distinct, ascending
  std::vector<std::uint32_t> codes;  // the final code for each code of the first part, then of the next
  std::vector<std::size_t> begins;   // where each part begins in `codes`
};

/// cost: time nearly linear in the number of values of all parts; 28 bytes per value
JoinedValues join_values(std::span<const RawColumn> parts, bool is_absent_zero) {
  JoinedValues joined;
  std::vector<PartValue> ordered;
  std::size_t count = 0;
  for (const RawColumn& part : parts) count += part.values.size();
  ordered.reserve(count);
  joined.codes.resize(count, 0);
  std::size_t place = 0;  // index of the current part's code 0
  for (const RawColumn& part : parts) {
    joined.begins.push_back(place);
    if (is_absent_zero && has_absent(part)) ordered.push_back({ordered_bits(0.0), place});
    for (std::size_t code = 1; code < part.values.size(); ++code)
      if (const auto value = std::bit_cast<double>(part.values[code]); !std::isnan(value))
        ordered.push_back({ordered_bits(value), place + code});
    place += part.values.size();
  }
  boost::sort::spreadsort::integer_sort(
      ordered.begin(), ordered.end(),
      [](const PartValue& value, unsigned bits) { return value.order >> bits; },
      [](const PartValue& a, const PartValue& b) { return a.order < b.order; });
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    if (i == 0 || ordered[i].order != ordered[i - 1].order)
      joined.values.push_back(number_of_ordered_bits(ordered[i].order));
    joined.codes[ordered[i].place] = static_cast<std::uint32_t>(joined.values.size());
  }
  return joined;
}

/// Stores an array in the file, or keeps it in memory if there is none.
template <class Number>
Result<FrozenArray<Number>> frozen(std::vector<Number> numbers, ColumnFile* file) {
  if (file != nullptr) return file->freeze(std::span<const Number>(numbers));
  return FrozenArray<Number>(std::move(numbers));
}

}  // namespace

Result<CodedColumn> finish_column(std::span<const RawColumn> parts, std::span<const RowSegment> segments,
                                  std::span<const std::uint32_t> rows, bool is_absent_zero,
                                  ColumnFile* file) {
  JoinedValues joined = join_values(parts, is_absent_zero);
  const auto coded = [&](auto codes) {
    using Code = typename decltype(codes)::value_type;
    codes.resize(rows.size());
    for (const RowSegment& segment : segments) {
      const RawColumn& part = parts[segment.part];
      const std::uint32_t* const final_codes = joined.codes.data() + joined.begins[segment.part];
      const auto put = [&](const auto* raw_codes) {
        for (std::size_t at = segment.begin; at < segment.end; ++at)
          codes[at] = static_cast<Code>(final_codes[raw_codes[rows[at] - segment.first]]);
      };
      part.words.empty() ? put(part.bytes.data()) : put(part.words.data());
    }
    return frozen(std::move(codes), file);
  };
  CodedColumn column;
  if (joined.values.size() <= std::numeric_limits<std::uint8_t>::max()) {
    TRY(column.bytes, coded(std::vector<std::uint8_t>()));
  } else {
    TRY(column.words, coded(std::vector<std::uint32_t>()));
  }
  TRY(column.values, frozen(std::move(joined.values), file));
  return column;
}

}  // namespace metafuse::fusion
