#include "fetchers/engines/vector/vector_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "core/contract.h"
#include "core/simd.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kLane = 64;  ///< rows are padded to a multiple of this, so that loops have no remainder
constexpr std::size_t kRowsPerBlock =
    512;  ///< scored together before they are examined, so that the scores stay in the L1 cache
constexpr std::size_t kRowsPerCheck = std::size_t{1} << 16;  ///< between checks of the deadline
constexpr std::size_t kMostWithinErrors = 4096;
constexpr float kSumRounding = 1e-5F;  ///< bound for the rounding of the few products in single precision
constexpr float kRowSteps = 127;
constexpr float kQuerySteps = 4095;  ///< 127 * 4095 * 4096 dimensions fit into 32 bits

// The exponent bias of binary16 is smaller by 112 than that of a float.
constexpr float kUpBy112 = 0x1p112F;
constexpr float kDownBy112 = 0x1p-112F;

std::uint16_t half_of(float x) {
  const auto sign = static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(x) >> 16) & 0x8000U);
  std::uint32_t bits = std::bit_cast<std::uint32_t>(std::fabs(x) * kDownBy112);
  bits += 0xFFFU + ((bits >> 13) & 1U);  // round to nearest, ties to even
  return static_cast<std::uint16_t>(sign | (bits >> 13));
}

float float_of(std::uint16_t half) {
  const float size = std::bit_cast<float>(static_cast<std::uint32_t>(half & 0x7FFFU) << 13) * kUpBy112;
  return (half & 0x8000U) != 0 ? -size : size;
}

/// Inner products of `count` rows with the query, in exact integer arithmetic.
METAFUSE_CLONES void score_rows(const std::int8_t* rows, std::size_t count, std::size_t width,
                                const std::int16_t* query, std::int32_t* scores) {
  for (std::size_t row = 0; row < count; ++row, rows += width) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += std::int32_t{rows[i]} * std::int32_t{query[i]};
    scores[row] = sum;
  }
}

float length_of(std::span<const float> vector) {
  return static_cast<float>(std::sqrt(inner_product(vector, vector)));
}

float largest_of(std::span<const float> vector) {
  float largest = 0;
  for (const float x : vector) largest = std::max(largest, std::fabs(x));
  return largest;
}

struct Rounding {
  float scale = 0;
  float error = 0;  ///< length of the difference between the vector and its rounded form
};

/// Rounds a vector to whole numbers times a scale.
template <class Number>
Rounding round_into(std::span<const float> vector, float steps, Number* out) {
  Rounding rounded;
  rounded.scale = largest_of(vector) / steps;
  if (rounded.scale <= 0) return rounded;
  double squares = 0;
  for (std::size_t i = 0; i < vector.size(); ++i) {
    const float whole = std::clamp(std::nearbyint(vector[i] / rounded.scale), -steps, steps);
    out[i] = static_cast<Number>(whole);
    const double left = static_cast<double>(vector[i]) - static_cast<double>(whole) * rounded.scale;
    squares += left * left;
  }
  rounded.error = static_cast<float>(std::sqrt(squares));
  return rounded;
}

struct Estimate {
  std::uint32_t row;
  float score;
  float error;
};

/// Keeps the largest of many lower bounds, and the estimates that can still reach them.
class Leaders {
 public:
  explicit Leaders(std::size_t count) : count_(count), limit_(count + kMostWithinErrors) {}

  float floor() const { return floor_; }

  void add(Estimate estimate) {
    const float lower = estimate.score - estimate.error;
    if (lowest_.size() < count_ || lower > lowest_.front()) {
      if (lowest_.size() == count_) {
        std::pop_heap(lowest_.begin(), lowest_.end(), std::greater<>());
        lowest_.pop_back();
      }
      lowest_.push_back(lower);
      std::push_heap(lowest_.begin(), lowest_.end(), std::greater<>());
      if (lowest_.size() == count_) floor_ = lowest_.front();
    }
    estimates_.push_back(estimate);
    if (estimates_.size() >= 2 * limit_) drop();
  }

  std::vector<std::uint32_t> take() {
    drop();
    std::vector<std::uint32_t> rows;
    for (const Estimate& estimate : estimates_) rows.push_back(estimate.row);
    return rows;
  }

 private:
  void drop() {
    std::erase_if(estimates_, [&](const Estimate& e) { return e.score + e.error < floor_; });
    if (estimates_.size() <= limit_) return;
    const auto end = estimates_.begin() + static_cast<std::ptrdiff_t>(limit_);
    std::nth_element(estimates_.begin(), end, estimates_.end(), [](const Estimate& a, const Estimate& b) {
      return a.score != b.score ? a.score > b.score : a.row < b.row;
    });
    estimates_.erase(end, estimates_.end());
  }

  std::size_t count_;
  std::size_t limit_;
  float floor_ = -std::numeric_limits<float>::infinity();
  std::vector<float> lowest_;  ///< a min-heap
  std::vector<Estimate> estimates_;
};

}  // namespace

bool normalise(std::span<float> vector) {
  const double length = std::sqrt(inner_product(vector, vector));
  if (!(length > 1e-30) || !std::isfinite(length)) return false;
  for (float& x : vector) x = static_cast<float>(x / length);
  return true;
}

std::string half_row(std::span<const float> vector) {
  std::string bytes;
  bytes.reserve(2 * vector.size());
  for (const float x : vector) {
    const std::uint16_t half = half_of(x);
    bytes += static_cast<char>(half & 0xFFU);
    bytes += static_cast<char>(half >> 8);
  }
  return bytes;
}

bool read_half_row(std::string_view bytes, std::span<float> vector) {
  if (bytes.size() != 2 * vector.size()) return false;
  for (std::size_t i = 0; i < vector.size(); ++i) {
    const auto low = static_cast<unsigned char>(bytes[2 * i]);
    const auto high = static_cast<unsigned char>(bytes[2 * i + 1]);
    vector[i] = float_of(static_cast<std::uint16_t>(low | (high << 8)));
  }
  return true;
}

std::string vector_text(std::span<const float> vector) {
  std::string out = "[";
  for (const float x : vector) {
    if (out.size() > 1) out += ',';
    fmt::format_to(std::back_inserter(out), "{}", x);
  }
  return out + ']';
}

double inner_product(std::span<const float> left, std::span<const float> right) {
  require(left.size() == right.size(), "vectors of one size");
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += static_cast<double>(left[i]) * right[i];
  return sum;
}

VectorRows::VectorRows(std::size_t dimensions)
    : dimensions_(dimensions), width_((dimensions + kLane - 1) / kLane * kLane) {
  require(dimensions > 0 && dimensions <= kMaxDimensions, "1 to 4096 dimensions");
}

void VectorRows::reserve(std::size_t rows) {
  numbers_.reserve(rows * width_);
  scales_.reserve(rows);
  errors_.reserve(rows);
}

void VectorRows::add(std::span<const float> vector) {
  require(vector.size() == dimensions_, "a vector of the rows' dimensions");
  numbers_.resize(numbers_.size() + width_);
  const auto rounded = round_into(vector, kRowSteps, numbers_.data() + numbers_.size() - width_);
  scales_.push_back(rounded.scale);
  errors_.push_back(rounded.error);
}

/// Let the row be x = r + e and the query y = q + f, where r and q are the rounded forms. Then x.y differs
/// from r.q by e.y + r.f, which is at most |e||y| + |r||f|. |y| and |r| are at most 1, apart from rounding.
Result<std::vector<std::uint32_t>> VectorRows::candidates(std::span<const float> query, std::size_t count,
                                                          const Deadline& deadline) const {
  require(query.size() == dimensions_, "a query of the rows' dimensions");
  if (count == 0) return std::vector<std::uint32_t>();
  std::vector<std::int16_t> whole(width_);
  const auto rounded = round_into(query, kQuerySteps, whole.data());
  const float query_error = 1.01F * rounded.error + kSumRounding;
  const float length = length_of(query);
  Leaders leaders(count);
  std::array<std::int32_t, kRowsPerBlock> sums{};
  for (std::size_t begin = 0; begin < size(); begin += kRowsPerBlock) {
    if (begin % kRowsPerCheck == 0 && deadline.has_passed())
      return fail(Code::try_again, "the deadline passed");
    const std::size_t rows = std::min(kRowsPerBlock, size() - begin);
    score_rows(numbers_.data() + begin * width_, rows, width_, whole.data(), sums.data());
    for (std::size_t i = 0; i < rows; ++i) {
      const float score = static_cast<float>(sums[i]) * scales_[begin + i] * rounded.scale;
      const float error = errors_[begin + i] * length + query_error;
      if (score + error >= leaders.floor())
        leaders.add({static_cast<std::uint32_t>(begin + i), score, error});
    }
  }
  return leaders.take();
}

}  // namespace metafuse::fetchers
