#include "evaluation/runs/plain_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/simd.h"
#include "evaluation/runs/lines.h"
#include "evaluation/runs/topic_index.h"

#if defined(METAFUSE_AVX2)
#include <immintrin.h>
#endif

namespace metafuse::evaluation {
namespace {

bool is_separator(char c) {
  return c == ' ' || c == '\t';
}

constexpr std::size_t kAtOnce = 32;  // lines

/// Where the six fields of a plain line end, as offsets from its start.
struct PlainLine {
  unsigned topic_end;
  unsigned iteration_end;
  unsigned document_end;
  unsigned rank_end;
  unsigned score_end;
  unsigned tag_end;
};

/// Finds the ends of the first six fields, none of them empty.
///
/// in:  bits - bit i is set if the line's byte i ends a field
///      lowest - the number of the lowest bit that is set; 64 if there is none
/// out: the bits of these six ends; 0 if there are fewer or a field is empty
template <class Lowest>
[[gnu::always_inline]] inline std::uint64_t split_six_fields(std::uint64_t bits, PlainLine& line,
                                                             Lowest lowest) {
  std::uint64_t left = bits;
  line.topic_end = lowest(left);
  line.iteration_end = lowest(left &= left - 1);
  line.document_end = lowest(left &= left - 1);
  line.rank_end = lowest(left &= left - 1);
  line.score_end = lowest(left &= left - 1);
  left &= left - 1;
  if (left == 0) return 0;
  line.tag_end = lowest(left);
  const std::uint64_t six = bits ^ (left & (left - 1));
  return (six & (six << 1 | 1)) == 0 ? six : 0;
}

[[gnu::always_inline]] inline std::string_view field_of(const char* at, unsigned end_before, unsigned end) {
  return {at + end_before + 1, end - end_before - 1};
}

unsigned lowest_bit(std::uint64_t bits) {
  return static_cast<unsigned>(std::countr_zero(bits));
}

bool read_usual_double(std::string_view text, double& value) {
  return to_double(text, value) && std::isfinite(value);
}

/// Reads one plain line and moves `at` past it; false if the line needs the general parser.
bool read_plain_line(const char*& at, const char* end, const char* file_end, std::string_view tag,
                     bool is_lenient, RunLine& line) {
  PlainLine ends;
  if (split_six_fields(bits_of_block<FieldEnds>(at, file_end), ends, lowest_bit) == 0) return false;
  if (!is_separator(at[ends.topic_end]) || !is_separator(at[ends.iteration_end]) ||
      !is_separator(at[ends.document_end]) || !is_separator(at[ends.rank_end]) ||
      !is_separator(at[ends.score_end]) || at[ends.tag_end] != '\n')
    return false;
  if (at + ends.tag_end >= end) return false;
  if (!is_lenient && !same_id(field_of(at, ends.score_end, ends.tag_end), tag)) return false;
  line.document = field_of(at, ends.iteration_end, ends.document_end);
  if (!to_small_integer(field_of(at, ends.document_end, ends.rank_end), line.rank)) return false;
  const std::string_view score = field_of(at, ends.rank_end, ends.score_end);
  const bool is_short = file_end - score.data() >= 24 &&
                        read_short_decimal(score.data(), score.data() + score.size(), line.score);
  if (!is_short && !read_usual_double(score, line.score)) return false;
  at += ends.tag_end + 1;
  return true;
}

#if defined(METAFUSE_AVX2)

// The same with 32 bytes per instruction. Rank and score are moved to the ends of eight-digit fields by one
// shuffle and become numbers together, in three multiplications. Lines with tabs, longer numbers or tags, and
// the last lines of a file are left to read_plain_line().

constexpr std::ptrdiff_t kReadableBytes = 96;  // from a line's start: 64 for the line, 16 for its last number
constexpr std::ptrdiff_t kAhead = 3072;        // how far ahead of a line memory is fetched
constexpr unsigned kDigits = 8;                // in a field
constexpr char kNoByte = static_cast<char>(0x80);  // the shuffle makes it 0

using Shuffle = std::array<char, 16>;

/// For a number of `size` digits: moves them to the end of the first field.
constexpr std::array<Shuffle, kDigits + 1> integer_shuffles() {
  std::array<Shuffle, kDigits + 1> table{};
  for (unsigned size = 0; size <= kDigits; ++size)
    for (unsigned i = 0; i < 16; ++i)
      table[size][i] = i >= kDigits - size && i < kDigits ? static_cast<char>(i + size - kDigits) : kNoByte;
  return table;
}

/// For a number of `whole` digits, a point and `decimals` digits: moves the former to the end of the first
/// field and the latter to the beginning of the second one.
constexpr std::array<std::array<Shuffle, kDigits + 1>, kDigits + 1> decimal_shuffles() {
  std::array<std::array<Shuffle, kDigits + 1>, kDigits + 1> table{};
  for (unsigned whole = 0; whole <= kDigits; ++whole)
    for (unsigned decimals = 0; decimals <= kDigits; ++decimals) {
      table[whole][decimals] = integer_shuffles()[whole];
      for (unsigned i = 0; i < decimals; ++i)
        table[whole][decimals][kDigits + i] = static_cast<char>(whole + 1 + i);
    }
  return table;
}

alignas(64) constexpr auto kIntegers = integer_shuffles();
alignas(64) constexpr auto kDecimals = decimal_shuffles();

/// One instruction, which needs no branch for 0.
struct LowestBit {
  METAFUSE_AVX2 unsigned operator()(std::uint64_t bits) const {
    return static_cast<unsigned>(_tzcnt_u64(bits));
  }
};

METAFUSE_AVX2 inline std::uint64_t bits_of_halves(__m256i low, __m256i high) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32;
}

/// Splits a line whose fields are separated by single spaces.
METAFUSE_AVX2 inline bool split_spaced_line(const char* at, PlainLine& line) {
  const __m256i space = _mm256_set1_epi8(' ');
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at) + 1);
  const std::uint64_t ends = bits_of_halves(_mm256_cmpeq_epi8(_mm256_min_epu8(low, space), low),
                                            _mm256_cmpeq_epi8(_mm256_min_epu8(high, space), high));
  const std::uint64_t spaces = bits_of_halves(_mm256_cmpeq_epi8(low, space), _mm256_cmpeq_epi8(high, space));
  const std::uint64_t six = split_six_fields(ends, line, LowestBit());
  const std::uint64_t others = six & ~spaces;
  return others != 0 && others == (std::uint64_t{1} << line.tag_end) && at[line.tag_end] == '\n';
}

METAFUSE_AVX2 inline __m256i two_halves(const void* low, const void* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(low))),
                                 _mm_loadu_si128(static_cast<const __m128i*>(high)), 1);
}

/// Reads a rank of at most eight digits and a score of at most sixteen bytes, with one to eight digits before
/// and after the point.
/// out: false for any other text
/// source: as read_short_decimal()
METAFUSE_AVX2 inline bool read_rank_and_score(std::string_view rank, std::string_view score, RunLine& line) {
  const bool is_negative = score.front() == '-';
  const char* const digits = score.data() + (is_negative ? 1 : 0);
  const std::size_t size = score.size() - (is_negative ? 1 : 0);
  const __m128i score_text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(digits));
  const auto points =
      static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(score_text, _mm_set1_epi8('.'))));
  const auto whole = static_cast<unsigned>(std::countr_zero(points));
  const std::size_t decimals = size - whole - 1;
  if (size > sizeof score_text || whole - 1 >= kDigits || decimals - 1 >= kDigits || rank.size() > kDigits)
    return false;
  const __m256i text = _mm256_xor_si256(two_halves(digits, rank.data()), _mm256_set1_epi8('0'));
  const __m256i fields =
      _mm256_shuffle_epi8(text, two_halves(&kDecimals[whole][decimals], &kIntegers[rank.size()]));
  const __m256i above_nine = _mm256_subs_epu8(fields, _mm256_set1_epi8(9));
  if (_mm256_testz_si256(above_nine, above_nine) == 0) return false;
  const __m256i pairs = _mm256_maddubs_epi16(fields, _mm256_set1_epi16(0x010a));
  const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00010064));
  const __m256i eights = _mm256_madd_epi16(_mm256_packus_epi32(fours, fours), _mm256_set1_epi32(0x00012710));
  constexpr std::int64_t kPower = 100'000'000;
  const std::int64_t low = _mm256_extract_epi64(eights, 0);
  const std::int64_t number = (low & 0xffffffff) * kPower + (low >> 32);
  if (number > std::int64_t{1} << 53) return false;
  const double magnitude = static_cast<double>(number) / static_cast<double>(kPower);
  line.score = is_negative ? -magnitude : magnitude;
  line.rank = _mm256_extract_epi32(eights, 4);
  return true;
}

/// Compares with a tag of up to 32 bytes.
class TagMatch {
 public:
  static constexpr std::size_t kLongest = 32;

  METAFUSE_AVX2 explicit TagMatch(std::string_view tag) : size_(tag.size()) {
    char bytes[kLongest] = {};
    std::memcpy(bytes, tag.data(), std::min(tag.size(), kLongest));
    tag_ = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
    others_ = static_cast<std::uint32_t>(~((std::uint64_t{1} << std::min(size_, kLongest)) - 1));
  }
  /// Requires kLongest readable bytes.
  METAFUSE_AVX2 bool operator()(std::string_view text) const {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text.data()));
    const auto same = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, tag_)));
    return text.size() == size_ && (same | others_) == ~std::uint32_t{0};
  }

 private:
  std::size_t size_;
  __m256i tag_;
  std::uint32_t others_;  // bits of the bytes behind the tag
};

/// Reads up to kAtOnce lines. It calls no function, so that all constants stay in registers, which saves a
/// sixth of its time.
/// out: how many lines were read; `at` is behind them
METAFUSE_AVX2 std::size_t read_spaced_lines(const char*& at, const char* end, const char* file_end,
                                            std::string_view tag, RunLine* lines) {
  const TagMatch is_tag(tag);
  if (tag.size() > TagMatch::kLongest || file_end - at < kReadableBytes) return 0;
  const char* const last = std::min(end - 1, file_end - kReadableBytes);
  std::size_t count = 0;
  const char* next = at;
  for (; next <= last && count < kAtOnce; ++count) {
    __builtin_prefetch(next + kAhead);
    PlainLine ends;
    if (!split_spaced_line(next, ends) || next + ends.tag_end >= end) break;
    if (!is_tag(field_of(next, ends.score_end, ends.tag_end))) break;
    RunLine& line = lines[count];
    line.document = field_of(next, ends.iteration_end, ends.document_end);
    if (!read_rank_and_score(field_of(next, ends.document_end, ends.rank_end),
                             field_of(next, ends.rank_end, ends.score_end), line))
      break;
    next += ends.tag_end + 1;
  }
  at = next;
  return count;
}

#endif

}  // namespace

const char* read_plain_lines(const char* at, const char* end, const char* file_end, std::string_view tag,
                             bool is_lenient, std::vector<RunLine>& lines) {
  std::array<RunLine, kAtOnce> found;
  for (std::size_t count = kAtOnce; at < end && count > 0;) {
    count = 0;
#if defined(METAFUSE_AVX2)
    static const bool is_wide = metafuse::has_avx2();
    if (is_wide && !is_lenient) count = read_spaced_lines(at, end, file_end, tag, found.data());
#endif
    while (count < kAtOnce && at < end && read_plain_line(at, end, file_end, tag, is_lenient, found[count]))
      ++count;
    lines.insert(lines.end(), found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return at;
}

}  // namespace metafuse::evaluation
