#include "fetchers/engines/index/text_ranking.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "core/keyed_hash.h"
#include "fetchers/engines/index/analysis.h"
#include "fetchers/engines/index/cosine_index.h"
#include "fetchers/engines/index/weighting.h"

namespace metafuse::fetchers {
namespace {

/// A form of a word, as the hash of its bytes.
using FormHash = std::uint64_t;

/// The forms of one text, sorted, each with its count.
struct CountedForms {
  std::vector<std::pair<FormHash, std::uint32_t>> counts;
  std::uint32_t length = 0;  ///< of all counts together

  std::uint32_t count(FormHash form) const {
    const auto at = std::lower_bound(counts.begin(), counts.end(), std::pair{form, std::uint32_t{0}});
    return at != counts.end() && at->first == form ? at->second : 0;
  }
};

CountedForms counted(std::string_view text, WordForms& forms) {
  std::vector<FormHash> hashes;
  WordCutter cutter(text);
  while (cutter.next())
    for (const std::string& form : forms.of(cutter.word())) hashes.push_back(KeyedHash()(form));
  std::sort(hashes.begin(), hashes.end());
  CountedForms out;
  out.length = static_cast<std::uint32_t>(hashes.size());
  for (const FormHash hash : hashes) {
    if (out.counts.empty() || out.counts.back().first != hash) out.counts.emplace_back(hash, 0);
    ++out.counts.back().second;
  }
  return out;
}

/// The forms of a kind in every text, and in how many texts each occurs.
class CountedTexts {
 public:
  CountedTexts(std::span<const std::string_view> texts, WordForms& forms) {
    std::vector<FormHash> all;
    for (const std::string_view text : texts) {
      texts_.push_back(counted(text, forms));
      for (const auto& [form, count] : texts_.back().counts) all.push_back(form);
    }
    std::sort(all.begin(), all.end());
    for (const FormHash form : all) {
      if (with_.empty() || with_.back().first != form) with_.emplace_back(form, 0);
      ++with_.back().second;
    }
  }

  const std::vector<CountedForms>& texts() const { return texts_; }
  /// The number of texts with a form.
  std::uint32_t texts_with(FormHash form) const {
    const auto at = std::lower_bound(with_.begin(), with_.end(), std::pair{form, std::uint32_t{0}});
    return at != with_.end() && at->first == form ? at->second : 0;
  }

 private:
  std::vector<CountedForms> texts_;
  std::vector<std::pair<FormHash, std::uint32_t>> with_;
};

std::vector<double> bm25_scores(const CountedForms& query, const CountedTexts& texts) {
  Collection collection{static_cast<double>(texts.texts().size()), 0};
  for (const CountedForms& text : texts.texts()) collection.average_length += text.length;
  collection.average_length = std::max(1.0, collection.average_length / std::max(1.0, collection.documents));
  const LengthNorms norms(Weighting::bm25, collection);
  std::vector<double> out(texts.texts().size(), 0.0);
  for (const auto& [form, wanted] : query.counts) {
    const auto with = static_cast<double>(texts.texts_with(form));
    if (with == 0) continue;
    // the logarithm of WordShare is not positive for a word of half of so few texts, yet such a word tells
    const double factor = std::log1p((collection.documents - with + 0.5) / (with + 0.5));
    for (std::size_t i = 0; i < out.size(); ++i)
      if (const auto count = static_cast<double>(texts.texts()[i].count(form)); count > 0)
        out[i] += factor * count / (count + norms.of(texts.texts()[i].length));
  }
  return out;
}

std::vector<double> cosines(const CountedForms& query, const CountedTexts& texts) {
  const std::size_t all = texts.texts().size();
  const auto weight = [&](FormHash form, std::uint32_t count) {
    return part_weight(count, all, std::max<std::size_t>(1, texts.texts_with(form)));
  };
  double query_length = 0;
  for (const auto& [form, count] : query.counts) query_length += std::pow(weight(form, count), 2);
  std::vector<double> out;
  for (const CountedForms& text : texts.texts()) {
    double product = 0;
    double length = 0;
    for (const auto& [form, count] : text.counts) {
      const double own = weight(form, count);
      length += own * own;
      if (const std::uint32_t wanted = query.count(form); wanted > 0) product += own * weight(form, wanted);
    }
    out.push_back(product > 0 ? product / std::sqrt(length * query_length) : 0.0);
  }
  return out;
}

std::string language_of(std::span<const std::string_view> texts) {
  constexpr std::size_t kMostSample = std::size_t{64} << 10;
  std::string sample;
  for (const std::string_view text : texts) {
    if (sample.size() >= kMostSample) break;
    sample.append(text.substr(0, kMostSample)).push_back('\n');
  }
  return language_by_stop_words(sample);
}

}  // namespace

TextScores score_texts(std::string_view query, std::span<const std::string_view> texts) {
  TextScores out;
  WordForms stems(WordKind::stems, language_of(texts));
  out.words = bm25_scores(counted(query, stems), CountedTexts(texts, stems));
  WordForms parts(WordKind::parts, "");
  out.parts = cosines(counted(query, parts), CountedTexts(texts, parts));
  return out;
}

}  // namespace metafuse::fetchers
