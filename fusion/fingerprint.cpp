#include "fusion/fingerprint.h"

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
  std::string text() const {
    char digits[20];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(state_));
    return digits;
  }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3U;
};

std::string digest_of_values(const FeatureMatrix& matrix) {
  Digest digest;
  for (std::size_t feature = 0; feature < matrix.feature_count(); ++feature) {
    const CodedColumn* column = matrix.column(feature);
    for (std::size_t row = 0; row < matrix.document_count(); ++row) {
      if (matrix.is_unranked(row, feature))
        digest.add(~std::uint64_t{0});
      else
        digest.add(column != nullptr ? column->values[column->code(row) - 1] : matrix.value(row, feature));
    }
  }
  return digest.text();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> fingerprint(const TrainingSet& set) {
  Digest features;
  for (const Feature& feature : set.matrix.features()) {
    features.add(std::string_view(feature.name));
    features.add(static_cast<std::uint64_t>(feature.kind == FeatureKind::rank ? 1 : 2));
    features.add(static_cast<std::uint64_t>(feature.depth));
  }
  Digest queries;
  for (const QueryRange& query : set.queries) {
    queries.add(std::string_view(query.id));
    queries.add(static_cast<std::uint64_t>(query.end));
    queries.add(query.weight);
  }
  Digest documents;
  for (const std::string& id : set.documents) documents.add(std::string_view(id));
  Digest grades;
  for (const double grade : set.grades) grades.add(grade);
  for (const std::uint8_t flag : set.in_feedback) grades.add(static_cast<std::uint64_t>(flag));
  Digest feedback;
  feedback.add(static_cast<std::uint64_t>(set.feedback.is_bipartite ? 1 : 0));
  feedback.add(set.feedback.relevance_level);
  feedback.add(static_cast<std::uint64_t>(set.feedback.query_weights));
  feedback.add(static_cast<std::uint64_t>(set.feedback.grade_weights));
  for (const WeightedPair& pair : set.pairs) {
    feedback.add(static_cast<std::uint64_t>(pair.below) << 32 | pair.above);
    feedback.add(pair.weight);
  }
  return {{"features", features.text()},
          {"queries", queries.text()},
          {"documents", documents.text()},
          {"grades", grades.text()},
          {"values", digest_of_values(set.matrix)},
          {"feedback", feedback.text()}};
}

}  // namespace metafuse::fusion
