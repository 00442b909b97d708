#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <set>
#include <vector>

namespace metafuse::test {

/// AdaBoost.MH by its definition: tries every cut of every feature on every document and shares no work.
class SlowAdaBoostMh {
 public:
  struct Cut {
    std::size_t feature = 0;
    double threshold = 0.0;
  };
  struct Round {
    double edge = 0.0;
    double alpha = 0.0;
    double z = 0.0;
    std::vector<Cut> cuts;
  };

  /// in: rows - feature values; NaN is unranked
  SlowAdaBoostMh(std::vector<std::vector<double>> rows, std::vector<int> classes, std::size_t class_count)
      : rows_(std::move(rows)), classes_(std::move(classes)), k_(class_count) {
    double sum = 0.0;
    for (std::size_t d = 0; d < rows_.size(); ++d)
      for (std::size_t l = 0; l < k_; ++l) {
        const double gain = std::pow(2.0, classes_[d]);
        weights_.push_back(is_own(d, l) ? gain : gain / static_cast<double>(k_ - 1));
        sum += weights_.back();
      }
    for (double& weight : weights_) weight /= sum;
    std::set<double> values;
    for (std::size_t f = 0; f < rows_[0].size(); ++f) {
      values.clear();
      for (const auto& row : rows_)
        if (!std::isnan(row[f])) values.insert(row[f]);
      if (values.empty()) continue;
      // From the second highest value down; minus infinity last.
      for (auto value = std::next(values.rbegin()); value != values.rend(); ++value)
        candidates_.push_back({f, *value});
      candidates_.push_back({f, -std::numeric_limits<double>::infinity()});
    }
  }

  Round product_round(std::size_t terms) {
    Round round;
    double edge = -1.0;
    for (std::size_t step = 0;; ++step) {
      const std::size_t term = step % terms;
      std::vector<double> others(rows_.size(), 1.0);
      for (std::size_t t = 0; t < round.cuts.size(); ++t)
        if (t != term)
          for (std::size_t d = 0; d < rows_.size(); ++d) others[d] *= phi(round.cuts[t], d);
      const auto worth = [&](const Cut& cut) {
        double sum = 0.0;
        for (std::size_t l = 0; l < k_; ++l) {
          double label = 0.0;
          for (std::size_t d = 0; d < rows_.size(); ++d)
            label += signed_weight(d, l) * others[d] * phi(cut, d);
          sum += std::abs(label);
        }
        return sum;
      };
      const Cut best = best_of(worth);
      if (worth(best) <= edge + 1e-12) break;
      edge = worth(best);
      if (term < round.cuts.size())
        round.cuts[term] = best;
      else
        round.cuts.push_back(best);
      if (terms == 1) break;
    }
    std::vector<double> outputs(rows_.size() * k_);
    for (std::size_t l = 0; l < k_; ++l) {
      double label = 0.0;
      for (std::size_t d = 0; d < rows_.size(); ++d) label += signed_weight(d, l) * product(round.cuts, d);
      for (std::size_t d = 0; d < rows_.size(); ++d)
        outputs[d * k_ + l] = (label >= 0.0 ? 1.0 : -1.0) * product(round.cuts, d);
    }
    finish(round, outputs);
    return round;
  }

  Round tree_round(std::size_t leaves) {
    Round round;
    std::vector<std::vector<std::size_t>> regions(1);
    for (std::size_t d = 0; d < rows_.size(); ++d) regions[0].push_back(d);
    while (regions.size() < leaves) {
      std::vector<Cut> cuts;
      std::vector<double> gains;
      for (const auto& region : regions) {
        const auto worth = [&](const Cut& each) {
          double sum = 0.0;
          for (std::size_t l = 0; l < k_; ++l) {
            double label = 0.0;
            for (const std::size_t d : region) label += signed_weight(d, l) * phi(each, d);
            sum += std::abs(label);
          }
          return sum;
        };
        cuts.push_back(best_of(worth));
        gains.push_back(worth(cuts.back()) - votes(region));
      }
      const double most = *std::max_element(gains.begin(), gains.end());
      if (most <= 1e-12) break;
      std::size_t place = 0;
      while (gains[place] < most - 1e-9 * most) ++place;
      const Cut cut = cuts[place];
      round.cuts.push_back(cut);
      auto [below, above] = divided(regions[place], cut);
      regions[place] = below;
      regions.push_back(above);
    }
    std::vector<double> outputs(rows_.size() * k_);
    for (const auto& region : regions)
      for (std::size_t l = 0; l < k_; ++l) {
        double label = 0.0;
        for (const std::size_t d : region) label += signed_weight(d, l);
        for (const std::size_t d : region) outputs[d * k_ + l] = label >= 0.0 ? 1.0 : -1.0;
      }
    finish(round, outputs);
    return round;
  }

 private:
  bool is_own(std::size_t d, std::size_t l) const { return classes_[d] == static_cast<int>(l); }
  double signed_weight(std::size_t d, std::size_t l) const {
    return is_own(d, l) ? weights_[d * k_ + l] : -weights_[d * k_ + l];
  }
  double phi(const Cut& cut, std::size_t d) const {
    return rows_[d][cut.feature] > cut.threshold ? 1.0 : -1.0;
  }
  double product(const std::vector<Cut>& cuts, std::size_t d) const {
    double sign = 1.0;
    for (const Cut& cut : cuts) sign *= phi(cut, d);
    return sign;
  }
  double votes(const std::vector<std::size_t>& region) const {
    double sum = 0.0;
    for (std::size_t l = 0; l < k_; ++l) {
      double label = 0.0;
      for (const std::size_t d : region) label += signed_weight(d, l);
      sum += std::abs(label);
    }
    return sum;
  }
  std::pair<std::vector<std::size_t>, std::vector<std::size_t>> divided(
      const std::vector<std::size_t>& region, const Cut& cut) const {
    std::pair<std::vector<std::size_t>, std::vector<std::size_t>> sides;
    for (const std::size_t d : region) (phi(cut, d) > 0.0 ? sides.second : sides.first).push_back(d);
    return sides;
  }
  Cut best_of(const std::function<double(const Cut&)>& worth) const {
    double most = -1.0;
    for (const Cut& cut : candidates_) most = std::max(most, worth(cut));
    for (const Cut& cut : candidates_)
      if (worth(cut) >= most - 1e-9 * most) return cut;
    return {};
  }
  void finish(Round& round, const std::vector<double>& outputs) {
    for (std::size_t d = 0; d < rows_.size(); ++d)
      for (std::size_t l = 0; l < k_; ++l) round.edge += signed_weight(d, l) * outputs[d * k_ + l];
    round.alpha = 0.5 * std::log((1.0 + round.edge) / (1.0 - round.edge));
    for (std::size_t d = 0; d < rows_.size(); ++d)
      for (std::size_t l = 0; l < k_; ++l) {
        weights_[d * k_ + l] *= std::exp(-round.alpha * outputs[d * k_ + l] * (is_own(d, l) ? 1.0 : -1.0));
        round.z += weights_[d * k_ + l];
      }
    for (double& weight : weights_) weight /= round.z;
  }

  std::vector<std::vector<double>> rows_;
  std::vector<int> classes_;
  std::size_t k_;
  std::vector<double> weights_;
  std::vector<Cut> candidates_;
};

}  // namespace metafuse::test
