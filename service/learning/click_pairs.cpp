#include "service/learning/click_pairs.h"

#include <algorithm>
#include <cmath>

#include "service/base/dates.h"

namespace metafuse::service {
namespace {}  // namespace

std::vector<ClickPair> click_pairs(const StoredSearch& search, std::span<const Click> clicks,
                                   const ClickRules& rules, UnixTime now) {
  std::vector<std::uint8_t> is_clicked(search.shown.size(), 0);
  for (const Click& click : clicks)
    if (click.position < is_clicked.size()) is_clicked[click.position] = 1;
  std::vector<ClickPair> pairs;
  for (const Click& click : clicks) {
    if (click.position >= is_clicked.size()) continue;
    std::vector<std::uint32_t> passed;
    for (std::uint32_t position = 0; position < click.position; ++position)
      if (is_clicked[position] == 0) passed.push_back(position);
    const std::uint32_t next = click.position + 1;
    if (next < is_clicked.size() && is_clicked[next] == 0) passed.push_back(next);
    if (passed.empty()) continue;
    const double age_days = std::max(0.0, static_cast<double>(now - click.at) / kSecondsPerDay);
    const double weight = click.weight * std::exp2(-age_days / rules.half_life_days) *
                          std::min(1.0, rules.most_of_click / static_cast<double>(passed.size()));
    for (const std::uint32_t position : passed)
      pairs.push_back({search.shown[position].document, search.shown[click.position].document, weight});
  }
  return pairs;
}

}  // namespace metafuse::service
