#include "fusion/learners/adaboost_mh/coded_rows.h"

#include <algorithm>

#include "core/contract.h"

namespace metafuse::fusion::adaboost_mh {

std::uint8_t CutTable::code(std::size_t feature, double value) const {
  const auto& list = cuts[feature];
  return static_cast<std::uint8_t>(std::lower_bound(list.begin(), list.end(), value) - list.begin());
}

CutTable cut_table(const CodedFeatures& features) {
  CutTable table;
  for (std::size_t f = 0; f < features.feature_count(); ++f) {
    require(features.is_byte(f), "AdaBoost.MH keeps one byte a feature");
    table.cuts.push_back(features.thresholds(f).values);
  }
  return table;
}

CodedRows::CodedRows(const FeatureMatrix& documents, const CutTable& table)
    : documents_(documents.document_count()),
      features_(table.cuts.size()),
      codes_(documents_ * features_, 0) {
  require(documents.feature_count() == features_, "documents have the table's features");
  for (std::size_t d = 0; d < documents_; ++d)
    for (std::size_t f = 0; f < features_; ++f)
      if (!documents.is_unranked(d, f)) codes_[d * features_ + f] = table.code(f, documents.value(d, f));
}

CodedRows::CodedRows(const CodedRows& others, std::span<const std::uint32_t> documents)
    : documents_(documents.size()), features_(others.features_) {
  codes_.reserve(documents_ * features_);
  for (const std::uint32_t document : documents)
    codes_.insert(codes_.end(), others.row(document), others.row(document) + features_);
}

}  // namespace metafuse::fusion::adaboost_mh
