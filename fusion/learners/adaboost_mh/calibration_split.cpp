#include "fusion/learners/adaboost_mh/calibration_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/contract.h"

namespace metafuse::fusion::adaboost_mh {

CalibrationSplit draw_split(const GradedDocuments& documents, double share, Random random) {
  const std::size_t count = documents.classes.size();
  require(count >= 2, "a split needs two documents");
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  random.shuffle(order);
  const double wanted = std::round(share * static_cast<double>(count));
  order.resize(std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, count - 1));
  std::sort(order.begin(), order.end());
  CalibrationSplit split;
  split.documents = std::move(order);
  split.left_out.assign(count, 0);
  for (const std::uint32_t document : split.documents) {
    split.left_out[document] = 1;
    split.classes.push_back(documents.classes[document]);
  }
  auto next = split.documents.begin();
  for (const RowRange& query : documents.queries) {
    const auto begin = next;
    while (next != split.documents.end() && *next < query.end) ++next;
    if (next != begin)
      split.queries.push_back({static_cast<std::size_t>(begin - split.documents.begin()),
                               static_cast<std::size_t>(next - split.documents.begin())});
  }
  return split;
}

}  // namespace metafuse::fusion::adaboost_mh
