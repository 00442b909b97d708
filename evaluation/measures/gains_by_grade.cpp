#include <algorithm>

#include "core/number.h"
#include "evaluation/measures/all.h"

namespace metafuse::evaluation::measures {

std::vector<GradeGain> gains_of(const JudgedRanking& ranking, const MeasureParameters& parameters) {
  std::vector<GradeGain> gains;
  for (const GradeCount& item : ranking.judged)
    if (item.grade >= 0) gains.push_back({item.grade, static_cast<double>(item.grade), item.count});
  for (const auto& [name, gain] : parameters.pairs) {
    std::int64_t grade = 0;
    if (!to_integer(name, grade)) continue;
    const auto at =
        std::find_if(gains.begin(), gains.end(), [&](const GradeGain& g) { return g.grade == grade; });
    if (at != gains.end())
      at->gain = gain;
    else
      gains.push_back({static_cast<int>(grade), gain, 0});
  }
  std::stable_sort(gains.begin(), gains.end(), [](const auto& a, const auto& b) { return a.gain < b.gain; });
  return gains;
}

double gain_of(int grade, std::span<const GradeGain> gains) {
  for (const GradeGain& item : gains)
    if (item.grade == grade) return item.gain;
  return 0.0;
}

double IdealGains::next() {
  while (level_ > 0 && used_ >= gains_[level_ - 1].count) {
    --level_;
    used_ = 0;
  }
  if (level_ == 0) return 0.0;
  ++used_;
  return std::max(0.0, gains_[level_ - 1].gain);
}

}  // namespace metafuse::evaluation::measures
