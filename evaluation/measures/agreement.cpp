#include "evaluation/measures/agreement.h"

#include <algorithm>
#include <map>

#include "evaluation/runs/topic_index.h"

namespace metafuse::evaluation {
namespace {

/// The number of pairs in descending order, counted during a merge sort.
double inversions(std::vector<std::uint32_t>& values, std::vector<std::uint32_t>& scratch, std::size_t begin,
                  std::size_t end) {
  if (end - begin < 2) return 0.0;
  const std::size_t middle = begin + (end - begin) / 2;
  double count = inversions(values, scratch, begin, middle) + inversions(values, scratch, middle, end);
  std::size_t i = begin;
  std::size_t j = middle;
  for (std::size_t out = begin; out < end; ++out) {
    const bool takes_left = j == end || (i < middle && values[i] <= values[j]);
    if (!takes_left) count += static_cast<double>(middle - i);
    scratch[out] = takes_left ? values[i++] : values[j++];
  }
  std::copy(scratch.begin() + static_cast<std::ptrdiff_t>(begin),
            scratch.begin() + static_cast<std::ptrdiff_t>(end),
            values.begin() + static_cast<std::ptrdiff_t>(begin));
  return count;
}

std::vector<std::string_view> documents_of(const RunTopic& topic) {
  std::vector<std::string_view> out;
  for (const RunEntry& entry : topic.entries) out.push_back(entry.document);
  return out;
}

/// 1 - observed / expected disagreement.
double kappa_of(double observed, double expected) {
  if (expected > 0) return 1.0 - observed / expected;
  return 1.0;  // both judges gave one and the same grade throughout: no disagreement observed
}

double square(double value) {
  return value * value;
}

}  // namespace

double kendall_tau(std::span<const std::string_view> a, std::span<const std::string_view> b) {
  IdTable places;
  bool is_new = false;
  for (const std::string_view document : a) places.insert(document, is_new);
  std::vector<std::uint32_t> shared;  // positions in a of the shared documents, in the order of b
  for (const std::string_view document : b)
    if (const std::uint32_t place = places.find(document); place != IdTable::kAbsent) shared.push_back(place);
  if (shared.size() < 2) return 1.0;
  const auto n = static_cast<double>(shared.size());
  std::vector<std::uint32_t> scratch(shared.size());
  return 1.0 - 4.0 * inversions(shared, scratch, 0, shared.size()) / (n * (n - 1.0));
}

double rank_biased_overlap(std::span<const std::string_view> a, std::span<const std::string_view> b,
                           double p) {
  const auto shorter = a.size() < b.size() ? a : b;
  const auto longer = a.size() < b.size() ? b : a;
  if (shorter.empty()) return 0.0;
  const auto s = static_cast<double>(shorter.size());
  IdTable seen_short;
  IdTable seen_long;
  bool is_new = false;
  double overlap = 0.0;        // X_d
  double overlap_short = 0.0;  // X_s
  double sum = 0.0;
  double weight = 1.0;  // p^d
  for (std::size_t i = 0; i < longer.size(); ++i) {
    const auto depth = static_cast<double>(i + 1);
    weight *= p;
    seen_long.insert(longer[i], is_new);
    if (seen_short.find(longer[i]) != IdTable::kAbsent) overlap += 1.0;
    if (i < shorter.size()) {
      seen_short.insert(shorter[i], is_new);
      if (seen_long.find(shorter[i]) != IdTable::kAbsent) overlap += 1.0;
      overlap_short = overlap;
    }
    sum += overlap / depth * weight;
    if (depth > s) sum += overlap_short * (depth - s) / (s * depth) * weight;
  }
  const auto l = static_cast<double>(longer.size());
  return (1.0 - p) / p * sum + ((overlap - overlap_short) / l + overlap_short / s) * weight;
}

Agreement agreement_of(const Run& run, const Run& reference) {
  Agreement out;
  out.run = run.name;
  for (const RunTopic& topic : run.topics) {
    const RunTopic* other = reference.find(topic.topic);
    if (other == nullptr) continue;
    const auto a = documents_of(topic);
    const auto b = documents_of(*other);
    ++out.topics;
    out.tau += kendall_tau(a, b);
    out.overlap += rank_biased_overlap(a, b);
  }
  if (out.topics > 0) {
    out.tau /= static_cast<double>(out.topics);
    out.overlap /= static_cast<double>(out.topics);
  }
  return out;
}

JudgeAgreement judge_agreement(std::span<const std::pair<int, int>> grades) {
  JudgeAgreement out;
  out.documents = grades.size();
  if (grades.empty()) return out;
  const double base = grades.front().first;  // keeps the sums small
  std::map<int, double> first;
  std::map<int, double> second;
  double unequal = 0.0;
  double distance = 0.0;
  double sums[2] = {};
  double squares = 0.0;
  for (const auto& [a, b] : grades) {
    ++first[a];
    ++second[b];
    unequal += a == b ? 0.0 : 1.0;
    distance += square(static_cast<double>(a) - b);
    sums[0] += a - base;
    sums[1] += b - base;
    squares += square(a - base) + square(b - base);
  }
  const auto n = static_cast<double>(grades.size());
  double expected_unequal = n;
  for (const auto& [grade, count] : first)
    if (const auto same = second.find(grade); same != second.end())
      expected_unequal -= count * same->second / n;
  // The mean of (a - b)^2 over all pairs of a first and a second grade: that of a^2 + b^2, less twice the
  // product of the means.
  const double expected_distance = squares - 2.0 * sums[0] * sums[1] / n;
  out.share_equal = 1.0 - unequal / n;
  out.kappa = kappa_of(unequal, expected_unequal);
  out.weighted_kappa = kappa_of(distance, expected_distance);
  return out;
}

}  // namespace metafuse::evaluation
