#include "service/search/like_top.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/keyed_hash.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kTopResults = 10;
constexpr std::size_t kMostTextBytes = 400;
constexpr std::size_t kSlots = 1 << 14;
constexpr std::size_t kMostWords = kSlots - kSlots / 4;  ///< further words are left out

/// Numbers words in the order in which they first occur. A table of its own, because a general one would take
/// most of the time. Its hash has a secret, and a chain of collisions is bounded.
class WordNumbers {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  WordNumbers() : hashes_(kSlots, 0), numbers_(kSlots, 0), secret_(hash_secret()) {}

  std::uint64_t begin() const { return secret_.first; }
  std::uint64_t with(std::uint64_t hash, unsigned char byte) const { return (hash ^ byte) * secret_.second; }

  std::uint32_t number(std::uint64_t hash) {
    constexpr int kLongestChain = 64;
    hash ^= hash >> 29;
    hash |= 1;  // 0 marks an empty slot
    std::size_t at = static_cast<std::size_t>((hash * secret_.third) >> 50);
    for (int i = 0; i < kLongestChain; ++i, at = (at + 1) % kSlots) {
      if (hashes_[at] == hash) return numbers_[at];
      if (hashes_[at] != 0) continue;
      if (count_ == kMostWords) return kNone;
      hashes_[at] = hash;
      return numbers_[at] = count_++;
    }
    return kNone;
  }
  std::size_t count() const { return count_; }

 private:
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> numbers_;
  HashSecret secret_;
  std::uint32_t count_ = 0;
};

/// 0 for what separates words, else the byte in lower case. Bytes above ASCII belong to words.
unsigned char folded(unsigned char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<unsigned char>(c + 32);
  const bool is_of_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c >= 0x80;
  return is_of_word ? c : static_cast<unsigned char>(0);
}

/// The words of each result, every word once.
class ResultWords {
 public:
  explicit ResultWords(std::span<const FusedResult> results) : seen_in_(kMostWords, 0) {
    for (const FusedResult& result : results) {
      begins_.push_back(words_.size());
      take(result.hit.title);
      take(result.hit.snippet);
    }
    begins_.push_back(words_.size());
  }

  std::size_t size() const { return begins_.size() - 1; }
  std::size_t different() const { return numbers_.count(); }
  std::span<const std::uint32_t> of(std::size_t result) const {
    return std::span(words_).subspan(begins_[result], begins_[result + 1] - begins_[result]);
  }

 private:
  void take(std::string_view text) {
    text = text.substr(0, kMostTextBytes);
    std::uint64_t hash = 0;
    bool is_in_word = false;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      const unsigned char c = i < text.size() ? folded(static_cast<unsigned char>(text[i])) : 0;
      if (c != 0) {
        if (!is_in_word) hash = numbers_.begin();
        hash = numbers_.with(hash, c);
        is_in_word = true;
      } else if (is_in_word) {
        add(numbers_.number(hash));
        is_in_word = false;
      }
    }
  }
  void add(std::uint32_t word) {
    if (word == WordNumbers::kNone || seen_in_[word] == begins_.size()) return;
    seen_in_[word] = begins_.size();
    words_.push_back(word);
  }

  WordNumbers numbers_;
  std::vector<std::uint32_t> words_;
  std::vector<std::size_t> begins_;
  std::vector<std::size_t> seen_in_;  ///< by word: one more than the last result that has it
};

}  // namespace

std::vector<double> likeness_to_top(std::span<const FusedResult> results) {
  const ResultWords words(results);
  std::vector<std::uint32_t> with(words.different(), 0);
  for (std::size_t i = 0; i < words.size(); ++i)
    for (const std::uint32_t word : words.of(i)) ++with[word];
  std::vector<double> weight;
  for (const std::uint32_t count : with)
    weight.push_back(std::log1p(static_cast<double>(results.size()) / count));
  std::vector<double> lengths;
  for (std::size_t i = 0; i < words.size(); ++i) {
    double square = 0;
    for (const std::uint32_t word : words.of(i)) square += weight[word] * weight[word];
    lengths.push_back(std::sqrt(square));
  }
  std::vector<double> centroid(words.different(), 0.0);
  for (std::size_t i = 0; i < std::min(kTopResults, words.size()); ++i)
    for (const std::uint32_t word : words.of(i)) centroid[word] += weight[word] / lengths[i];
  double square = 0;
  for (const double part : centroid) square += part * part;
  std::vector<double> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    double product = 0;
    for (const std::uint32_t word : words.of(i)) product += weight[word] * centroid[word];
    out.push_back(product > 0 ? std::min(1.0, product / (lengths[i] * std::sqrt(square))) : 0.0);
  }
  return out;
}

}  // namespace metafuse::service
