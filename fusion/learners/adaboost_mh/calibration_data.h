#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace metafuse::fusion::adaboost_mh {

/// Documents of one query: rows [begin, end).
struct RowRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// What a calibration is fitted to.
struct CalibrationData {
  std::size_t width = 0;          ///< numbers a document: K votes of AdaBoost.MH, or one score
  std::span<const double> votes;  ///< documents x width
  std::span<const int> classes;   ///< 0 ... K - 1
  std::vector<double> gains;      ///< gamma of each class: 2^grade - 1
  std::vector<RowRange> queries;

  std::size_t size() const { return classes.size(); }
  const double* row(std::size_t document) const { return votes.data() + document * width; }
};

/// Each document's gain.
inline std::vector<double> document_gains(const CalibrationData& data) {
  std::vector<double> gains;
  for (const int each : data.classes) gains.push_back(data.gains[static_cast<std::size_t>(each)]);
  return gains;
}

/// Share of the documents in each class.
inline std::vector<double> class_shares(const CalibrationData& data) {
  std::vector<double> shares(data.gains.size(), 0.0);
  for (const int each : data.classes)
    shares[static_cast<std::size_t>(each)] += 1.0 / static_cast<double>(data.size());
  return shares;
}

/// Whether every document has the same votes, so that nothing can be fitted.
inline bool are_votes_constant(const CalibrationData& data) {
  for (std::size_t d = 1; d < data.size(); ++d)
    for (std::size_t l = 0; l < data.width; ++l)
      if (data.row(d)[l] != data.row(0)[l]) return false;
  return true;
}

}  // namespace metafuse::fusion::adaboost_mh
