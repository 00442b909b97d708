#include "fusion/data/fingerprint.h"

#include <array>
#include <bit>
#include <cstdio>
#include <string_view>

namespace metafuse::fusion {
namespace {

class Digest {
 public:
  void add(std::uint64_t word) {
    state_ ^= word + 0x9e3779b97f4a7c15U;
    state_ = (state_ ^ state_ >> 30) * 0xbf58476d1ce4e5b9U;
    state_ = (state_ ^ state_ >> 27) * 0x94d049bb133111ebU;
    state_ ^= state_ >> 31;
  }
  void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
  void add(std::string_view text) {
    add(text.size());
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  std::uint64_t state() const { return state_; }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3U;
};

std::string text_of(std::uint64_t state) {
  char digits[20];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(state));
  return digits;
}

enum Part { kQueries, kDocuments, kGrades, kValues, kPairs, kPartCount };

/// Adds one query's digests: sums, so that ranks can add theirs up.
void add_query_bytes(const TrainingSet& set, const QueryRange& query, std::size_t& next_pair,
                     std::vector<std::int64_t>& sums) {
  std::array<Digest, kPartCount> parts;
  for (Digest& part : parts) part.add(std::string_view(query.id));
  parts[kQueries].add(static_cast<std::uint64_t>(query.end - query.begin));
  parts[kQueries].add(query.weight);
  for (std::size_t row = query.begin; row < query.end; ++row) {
    parts[kDocuments].add(set.documents[row]);
    parts[kGrades].add(set.grades[row]);
    parts[kGrades].add(static_cast<std::uint64_t>(set.in_feedback[row]));
    for (std::size_t feature = 0; feature < set.matrix.feature_count(); ++feature) {
      if (set.matrix.is_unranked(row, feature))
        parts[kValues].add(~std::uint64_t{0});
      else
        parts[kValues].add(set.matrix.value(row, feature));
    }
  }
  for (; next_pair < set.pairs.size() && set.pairs[next_pair].below < query.end; ++next_pair) {
    const WeightedPair& pair = set.pairs[next_pair];
    parts[kPairs].add(static_cast<std::uint64_t>(pair.below - query.begin) << 32 |
                      (pair.above - query.begin));
    parts[kPairs].add(pair.weight);
  }
  for (std::size_t part = 0; part < kPartCount; ++part)
    sums[part] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[part]) + parts[part].state());
}

}  // namespace

std::vector<std::pair<std::string, std::string>> fingerprint(const TrainingSet& set,
                                                             Communicator* communicator) {
  Digest features;
  for (const Feature& feature : set.matrix.features()) {
    features.add(std::string_view(feature.name));
    features.add(static_cast<std::uint64_t>(feature.kind == FeatureKind::rank ? 1 : 2));
    features.add(static_cast<std::uint64_t>(feature.depth));
  }
  std::vector<std::int64_t> sums(kPartCount, 0);
  std::size_t next_pair = 0;
  for (const QueryRange& query : set.queries) add_query_bytes(set, query, next_pair, sums);
  sum_over_ranks(communicator, sums);
  Digest feedback;
  feedback.add(static_cast<std::uint64_t>(set.feedback.is_bipartite ? 1 : 0));
  feedback.add(set.feedback.relevance_level);
  feedback.add(static_cast<std::uint64_t>(set.feedback.query_weights));
  feedback.add(static_cast<std::uint64_t>(set.feedback.grade_weights));
  feedback.add(static_cast<std::uint64_t>(sums[kPairs]));
  return {{"features", text_of(features.state())},
          {"queries", text_of(static_cast<std::uint64_t>(sums[kQueries]))},
          {"documents", text_of(static_cast<std::uint64_t>(sums[kDocuments]))},
          {"grades", text_of(static_cast<std::uint64_t>(sums[kGrades]))},
          {"values", text_of(static_cast<std::uint64_t>(sums[kValues]))},
          {"feedback", text_of(feedback.state())}};
}

}  // namespace metafuse::fusion
