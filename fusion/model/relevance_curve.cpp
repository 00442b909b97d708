#include "fusion/model/relevance_curve.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "core/contract.h"
#include "fusion/model/state_fields.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kMostPoints = 10'000;
constexpr std::size_t kFewestOfGroup = 10;
constexpr std::size_t kMostGroups = 1000;

Error bad(const std::string& what) {
  return fail(Code::bad_data, "relevance." + what + "; train the model again");
}

/// Documents with neighbouring scores.
struct Group {
  double low = 0.0;
  double high = 0.0;
  double count = 0.0;
  double relevant = 0.0;

  void take(const Group& other) {
    high = other.high;
    count += other.count;
    relevant += other.relevant;
  }
};

/// in: documents - by score, lowest first
std::vector<Group> grouped(const std::vector<ScoredRelevance>& documents) {
  const auto fewest =
      static_cast<double>(std::max(kFewestOfGroup, (documents.size() + kMostGroups - 1) / kMostGroups));
  std::vector<Group> groups;
  for (const ScoredRelevance& each : documents) {
    const bool is_next = groups.empty() || (groups.back().count >= fewest && each.score > groups.back().high);
    if (is_next) groups.push_back({each.score, each.score, 0.0, 0.0});
    groups.back().take({each.score, each.score, 1.0, each.is_relevant ? 1.0 : 0.0});
  }
  if (groups.size() > 1 && groups.back().count < fewest) {
    groups[groups.size() - 2].take(groups.back());
    groups.pop_back();
  }
  return groups;
}

/// How far a score lies between two others, from 0 to 1. Halves are taken first, because the difference of
/// two finite scores may be infinite.
double share_between(double low, double high, double score) {
  const double whole = high / 2 - low / 2;
  return whole > 0.0 ? (score / 2 - low / 2) / whole : 0.0;
}

}  // namespace

double relevance_at(const RelevanceCurve& curve, double score) {
  const auto above = std::upper_bound(curve.scores.begin(), curve.scores.end(), score);
  if (above == curve.scores.begin()) return curve.values.front();
  if (above == curve.scores.end()) return curve.values.back();
  const auto at = static_cast<std::size_t>(above - curve.scores.begin());
  const double share = share_between(curve.scores[at - 1], curve.scores[at], score);
  const double low = curve.values[at - 1];
  return std::clamp(low + share * (curve.values[at] - low), low, curve.values[at]);
}

JsonObject to_json(const RelevanceCurve& curve) {
  return {{"scores", to_array(curve.scores)}, {"values", to_array(curve.values)}};
}

Result<RelevanceCurve> read_relevance_curve(const JsonObject& object) {
  StateFields fields(object, "relevance.");
  RelevanceCurve curve{fields.numbers("scores"), fields.numbers("values")};
  if (fields.failed()) return fail(Code::bad_data, fields.error().text + "; train the model again");
  if (curve.scores.empty() || curve.scores.size() > kMostPoints)
    return bad("scores: must have 1 to " + std::to_string(kMostPoints) + " numbers");
  if (curve.values.size() != curve.scores.size()) return bad("values: must have as many numbers as scores");
  if (std::ranges::adjacent_find(curve.scores, std::greater_equal<>()) != curve.scores.end())
    return bad("scores: must rise");
  if (!std::ranges::is_sorted(curve.values)) return bad("values: must not fall");
  if (curve.values.front() < 0.0 || curve.values.back() > 1.0) return bad("values: must be within 0 and 1");
  return curve;
}

std::vector<double> pool_adjacent_violators(std::span<const double> values, std::span<const double> weights) {
  require(values.size() == weights.size(), "one weight per value");
  struct Block {
    double sum, weight;
    std::size_t count;

    double mean() const { return sum / weight; }
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Block block{values[i] * weights[i], weights[i], 1};
    while (!blocks.empty() && blocks.back().mean() >= block.mean()) {
      block = {block.sum + blocks.back().sum, block.weight + blocks.back().weight,
               block.count + blocks.back().count};
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  std::vector<double> out;
  out.reserve(values.size());
  for (const Block& block : blocks) out.insert(out.end(), block.count, block.mean());
  return out;
}

RelevanceCurve fit_relevance(std::vector<ScoredRelevance> documents) {
  require(!documents.empty(), "a curve is fitted to documents");
  std::ranges::sort(documents, {}, &ScoredRelevance::score);
  const std::vector<Group> groups = grouped(documents);
  std::vector<double> shares, weights;
  for (const Group& group : groups) {
    shares.push_back(group.relevant / group.count);
    weights.push_back(group.count);
  }
  const std::vector<double> fitted = pool_adjacent_violators(shares, weights);
  RelevanceCurve curve;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double value = std::clamp(fitted[i], 0.0, 1.0);
    const bool is_first = i == 0 || fitted[i] != fitted[i - 1];
    const bool is_last = i + 1 == groups.size() || fitted[i] != fitted[i + 1];
    if (is_first) {
      curve.scores.push_back(groups[i].low);
      curve.values.push_back(value);
    }
    if (is_last && groups[i].high > curve.scores.back()) {
      curve.scores.push_back(groups[i].high);
      curve.values.push_back(value);
    }
  }
  return curve;
}

}  // namespace metafuse::fusion
