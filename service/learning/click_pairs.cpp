#include "service/learning/click_pairs.h"

#include <algorithm>
#include <cmath>

#include "service/base/dates.h"

namespace metafuse::service {
namespace {

constexpr double kLeastSeen = 0.05;  // what is seen less surely than this says nothing

/// A result that was not clicked, and how surely it was seen.
struct Seen {
  std::uint32_t position = 0;
  double probability = 1;
};

std::vector<Seen> seen_with_click(std::uint32_t click, const std::vector<std::uint8_t>& is_clicked,
                                  const PositionBias& bias) {
  std::vector<Seen> out;
  for (std::uint32_t position = 0; position < is_clicked.size(); ++position) {
    double probability = 1;
    if (position > click)
      probability = bias.is_known() ? bias.at(position) / bias.at(click) : position == click + 1 ? 1.0 : 0.0;
    if (is_clicked[position] == 0 && position != click && probability >= kLeastSeen)
      out.push_back({position, probability});
  }
  return out;
}

}  // namespace

std::vector<ClickPair> click_pairs(const StoredSearch& search, std::span<const Click> clicks,
                                   const ClickRules& rules, UnixTime now) {
  std::vector<std::uint8_t> is_clicked(search.shown.size(), 0);
  for (const Click& click : clicks)
    if (click.position < is_clicked.size()) is_clicked[click.position] = 1;
  std::vector<ClickPair> pairs;
  for (const Click& click : clicks) {
    if (click.position >= is_clicked.size()) continue;
    const std::vector<Seen> seen = seen_with_click(click.position, is_clicked, rules.bias);
    double sum = 0;
    for (const Seen& other : seen) sum += other.probability;
    const double stands_for = rules.bias.is_known() ? 1.0 / rules.bias.at(click.position) : sum;
    const double age_days = std::max(0.0, static_cast<double>(now - click.at) / kSecondsPerDay);
    const double weight = click.weight * std::exp2(-age_days / rules.half_life_days) *
                          std::min(stands_for, rules.most_of_click);
    for (const Seen& other : seen)
      pairs.push_back({search.shown[other.position].document, search.shown[click.position].document,
                       weight * other.probability / sum});
  }
  return pairs;
}

}  // namespace metafuse::service
