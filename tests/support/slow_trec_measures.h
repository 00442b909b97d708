#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

/// trec_eval's measures directly from their definitions, each a sum over whole prefixes: slow, but easily
/// seen to be correct.
namespace metafuse::test {

class SlowTrecMeasures {
 public:
  /// in: grades - in rank order; -1 without a judgment, -2 in the pool but not judged; judged - the grades of
  ///     all judged documents, retrieved or not; level - the lowest relevant grade
  SlowTrecMeasures(std::vector<int> grades, std::vector<int> judged, int level)
      : grades_(std::move(grades)), judged_(std::move(judged)), level_(level) {
    std::sort(judged_.rbegin(), judged_.rend());
  }

  std::map<std::string, double> all() const {
    std::map<std::string, double> out;
    const std::size_t n = grades_.size();
    const double r = count(judged_, judged_.size(), level_);
    const double found = relevant_to(n);
    out["map"] = average_precision(n);
    out["Rprec"] = r > 0 ? relevant_to(static_cast<std::size_t>(r)) / r : 0.0;
    out["bpref"] = bpref(r);
    out["recip_rank"] = reciprocal_rank();
    out["infAP"] = inferred(r);
    out["utility"] = found - (static_cast<double>(n) - found);
    out["binG"] = binary_gain(r);
    out["G"] = gain();
    out["ndcg"] = ideal(judged_.size()) > 0 ? dcg(n) / ideal(judged_.size()) : 0.0;
    out["ndcg_rel"] = ndcg_rel();
    out["Rndcg"] = r > 0 ? r_ndcg() : 0.0;
    out["set_P"] = share(found, static_cast<double>(n));
    out["set_recall"] = share(found, r);
    out["set_relative_P"] = share(found, std::min(static_cast<double>(n), r));
    out["set_map"] = out["set_P"] * out["set_recall"];
    out["set_F"] = share(2 * out["set_P"] * out["set_recall"], out["set_P"] + out["set_recall"]);
    out["yaap"] = std::log((1 + out["map"] * r) / (1 + r - out["map"] * r));
    for (const std::size_t k : {5U, 10U, 15U, 20U, 30U, 100U}) {
      const auto cut = static_cast<double>(k);
      const std::string suffix = "_" + std::to_string(k);
      out["P" + suffix] = relevant_to(k) / cut;
      out["recall" + suffix] = share(relevant_to(k), r);
      out["relative_P" + suffix] = share(relevant_to(k), std::min(cut, r));
      out["map_cut" + suffix] = average_precision(k);
      out["ndcg_cut" + suffix] = share(dcg(k), ideal(k));
      out["success" + suffix] = relevant_to(k) > 0 ? 1.0 : 0.0;
    }
    double points = 0.0;
    for (int tenth = 0; tenth <= 10; ++tenth) {
      const double value = interpolated(std::round(tenth / 10.0 * r));
      out["iprec_at_recall_" + fixed(tenth / 10.0)] = value;
      points += value;
    }
    out["11pt_avg"] = points / 11;
    for (int fifth = 1; fifth <= 10; ++fifth) {
      const double cut = std::floor(fifth * 0.2 * r + 0.9);
      out["Rprec_mult_" + fixed(fifth * 0.2)] =
          cut > 0 ? relevant_to(static_cast<std::size_t>(cut)) / cut : 0.0;
    }
    return out;
  }

 private:
  static double share(double part, double whole) { return whole > 0 ? part / whole : 0.0; }
  static std::string fixed(double value) { return std::to_string(value + 1e-9).substr(0, 4); }

  static double count(const std::vector<int>& grades, std::size_t depth, int level) {
    return static_cast<double>(std::count_if(
        grades.begin(), grades.begin() + static_cast<std::ptrdiff_t>(std::min(depth, grades.size())),
        [level](int grade) { return grade >= level; }));
  }
  double relevant_to(std::size_t depth) const { return count(grades_, depth, level_); }
  bool is_relevant(std::size_t i) const { return grades_[i] >= level_; }
  bool is_judged_nonrelevant(std::size_t i) const { return grades_[i] >= 0 && grades_[i] < level_; }

  double average_precision(std::size_t depth) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < std::min(depth, grades_.size()); ++i)
      if (is_relevant(i)) sum += relevant_to(i + 1) / static_cast<double>(i + 1);
    return share(sum, count(judged_, judged_.size(), level_));
  }

  double reciprocal_rank() const {
    for (std::size_t i = 0; i < grades_.size(); ++i)
      if (is_relevant(i)) return 1.0 / static_cast<double>(i + 1);
    return 0.0;
  }

  double nonrelevant_above(std::size_t i) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < i; ++j) sum += is_judged_nonrelevant(j) ? 1 : 0;
    return sum;
  }

  double bpref(double r) const {
    const double nonrelevant = count(judged_, judged_.size(), 0) - r;
    double sum = 0.0;
    for (std::size_t i = 0; i < grades_.size(); ++i) {
      if (!is_relevant(i)) continue;
      const double above = nonrelevant_above(i);
      sum += above > 0 ? 1 - std::min(above, r) / std::min(nonrelevant, r) : 1.0;
    }
    return share(sum, r);
  }

  double inferred(double r) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < grades_.size(); ++i) {
      if (!is_relevant(i)) continue;
      const auto k = static_cast<double>(i + 1);
      double pooled = 0.0;
      for (std::size_t j = 0; j < i; ++j) pooled += grades_[j] != -1 ? 1 : 0;
      const double above = relevant_to(i);
      const double inside =
          i == 0 ? 0.0 : pooled / (k - 1) * (above + 0.00001) / (above + nonrelevant_above(i) + 2 * 0.00001);
      sum += 1 / k + (k - 1) / k * inside;
    }
    return share(sum, r);
  }

  double binary_gain(double r) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < grades_.size(); ++i)
      if (is_relevant(i)) sum += 1 / std::log2(2.0 + static_cast<double>(i) - relevant_to(i));
    return share(sum, r);
  }

  static double discounted(const std::vector<int>& grades, std::size_t depth) {
    double sum = 0.0;
    for (std::size_t i = 0; i < std::min(depth, grades.size()); ++i)
      sum += std::max(0, grades[i]) / std::log2(static_cast<double>(i + 2));
    return sum;
  }
  double dcg(std::size_t depth) const { return discounted(grades_, depth); }
  double ideal(std::size_t depth) const { return discounted(judged_, depth); }
  int ideal_gain(std::size_t i) const { return i < judged_.size() ? std::max(0, judged_[i]) : 0; }

  double gain() const {
    double sum = 0.0;
    double cost = 0.0;
    double results = 0.0;
    double whole = 0.0;
    for (const int grade : judged_) whole += std::max(0, grade);
    for (std::size_t i = 0; i < grades_.size(); ++i) {
      const double own = std::max(0, grades_[i]);
      results += own;
      cost += std::max(1, ideal_gain(i));
      if (own > 0) sum += own / std::log2(2 + cost - results);
    }
    return share(sum, whole);
  }

  double ndcg_rel() const {
    const double possible = count(judged_, judged_.size(), 1);
    if (possible == 0) return 0.0;
    double sum = 0.0;
    for (std::size_t i = 0; i < grades_.size(); ++i)
      if (grades_[i] > 0) sum += dcg(i + 1) / ideal(i + 1);
    const double missed = possible - count(grades_, grades_.size(), 1);
    return (sum + missed * dcg(grades_.size()) / ideal(judged_.size())) / possible;
  }

  double r_ndcg() const {
    double sum = 0.0;
    double points = 0.0;
    std::size_t last = 0;
    for (std::size_t i = 1; i <= judged_.size(); ++i) {
      if (ideal_gain(i - 1) == 0 || ideal_gain(i) == ideal_gain(i - 1)) continue;
      sum += dcg(i) / ideal(i);
      points += 1;
      last = i;
    }
    if (points > 0 && grades_.size() > last + 1) {
      sum += dcg(grades_.size()) / ideal(judged_.size());
      points += 1;
    }
    return share(sum, points);
  }

  double interpolated(double needed) const {
    double best = 0.0;
    for (std::size_t k = 1; k <= grades_.size(); ++k)
      if (relevant_to(k) >= needed) best = std::max(best, relevant_to(k) / static_cast<double>(k));
    return best;
  }

  std::vector<int> grades_;
  std::vector<int> judged_;
  int level_;
};

}  // namespace metafuse::test
