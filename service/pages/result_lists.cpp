#include "service/pages/result_lists.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace metafuse::service {
namespace {

/// Most bytes of markup for all explanations of a page together, so that 30 results of 16 lists stay below
/// 64 KB.
constexpr std::size_t kReasonBytes = 20000;
constexpr std::size_t kRowBytes = 36;
constexpr std::size_t kFewestRows = 6;
/// Lists whose weight is at most this share of the largest one explain nothing.
constexpr double kLeastShownShare = 0.01;
constexpr int kBarSteps = 20;
constexpr std::size_t kMostBadges = 3;
constexpr std::size_t kBadgeColours = 8;
constexpr std::size_t kMostInWords = 3;
/// Most hits that the column "without it" may fuse again for one page; with more, the column stays empty.
constexpr std::size_t kMostRefusedHits = 60000;

bool has_one_engine(const std::vector<fetchers::FetchedList>& lists) {
  return std::all_of(lists.begin(), lists.end(), [&](const fetchers::FetchedList& list) {
    return list.query.engine == lists.front().query.engine && !list.query.template_id.empty();
  });
}

/// What people decided about a result, as a sentence.
std::string decided_reason(const FusedResult& result, const Texts& texts) {
  if (result.decided == Decided::pinned) return texts.say("why_pinned") + ' ';
  if (result.decided == Decided::added) return texts.say("why_added") + ' ';
  if (!result.grade) return {};
  return texts.say("why_graded", fmt::arg("grade", *result.grade)) + ' ';
}

}  // namespace

WithoutLists::WithoutLists(const LoadedDomain& domain, const SearchAnswer& answer)
    : domain_(domain), answer_(answer) {
  std::size_t hits = 0;
  for (const fetchers::FetchedList& list : answer.lists) hits += list.list.hits.size();
  is_affordable_ = hits * answer.lists.size() <= kMostRefusedHits;
}

std::optional<std::size_t> WithoutLists::place_without(std::size_t result, const std::string& feature) {
  const auto list = std::find_if(answer_.features.begin(), answer_.features.end(),
                                 [&](const fusion::Feature& one) { return one.name == feature; });
  if (!is_affordable_ || list == answer_.features.end()) return std::nullopt;
  auto [at, is_new] = places_.try_emplace(feature);
  if (is_new) {
    if (!joined_) joined_.emplace(domain_, answer_);
    at->second = joined_->places_without(static_cast<std::size_t>(list - answer_.features.begin()));
  }
  const std::size_t place = at->second[result];
  return place == result + 1 ? std::nullopt : std::optional(place);
}

ResultLists::ResultLists(const LoadedDomain& domain, const SearchAnswer& answer, const Texts& texts,
                         std::size_t shown)
    : domain_(domain), answer_(answer), texts_(texts), without_(domain, answer) {
  const bool is_one = has_one_engine(answer.lists);
  for (const fetchers::FetchedList& list : answer.lists) {
    const ExpandedQuery& query = list.query;
    const std::string label = templates::list_label(domain.domain, query.template_id, query.engine);
    const bool is_named_by_engine = (!is_one && !query.engine.empty()) || query.template_id.empty();
    badges_.push_back(!label.empty() ? label : is_named_by_engine ? query.engine : query.template_id);
    names_.emplace(query.feature_name(), !label.empty() ? label
                                         : is_one       ? query.template_id
                                                        : query.feature_name());
    colours_.try_emplace(badges_.back(), colours_.size() % kBadgeColours);
  }
  rows_ = rows_each(shown);
}

std::string ResultLists::name_of_list(const std::string& feature) const {
  const auto at = names_.find(feature);
  return at == names_.end() ? feature : at->second;
}

std::size_t ResultLists::rows_each(std::size_t shown) const {
  std::size_t bytes = 0;
  for (const fusion::Feature& feature : answer_.features)
    bytes += name_of_list(feature.name).size() + kRowBytes;
  if (bytes == 0 || shown == 0) return kFewestRows;
  return std::max(kFewestRows, kReasonBytes * answer_.features.size() / (bytes * shown));
}

void ResultLists::add_badges(const FusedResult& result, View& view) const {
  std::vector<std::pair<int, std::string>> ranks;
  for (const Placement& place : result.placements) {
    const std::string& name = badges_[place.feature];
    const auto at =
        std::find_if(ranks.begin(), ranks.end(), [&](const auto& one) { return one.second == name; });
    if (at == ranks.end())
      ranks.emplace_back(place.rank, name);
    else
      at->first = std::min(at->first, place.rank);
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostBadges); ++i)
    view.add("BADGE")
        .set("COLOUR", std::to_string(colours_.at(ranks[i].second)))
        .set("NAME", ranks[i].second)
        .set("RANK", std::to_string(ranks[i].first));
  if (ranks.size() > kMostBadges)
    view.add("MORE_BADGES").set("COUNT", std::to_string(ranks.size() - kMostBadges));
}

void ResultLists::add_legend(View& page) const {
  if (badges_.empty()) return;
  View& legend = page.add("LEGEND");
  for (const auto& [badge, colour] : colours_) {
    std::string lists;
    for (std::size_t i = 0; i < badges_.size(); ++i)
      if (badges_[i] == badge) lists += (lists.empty() ? "" : ", ") + answer_.lists[i].query.feature_name();
    legend.add("MARK").set("COLOUR", std::to_string(colour)).set("NAME", badge).set("LISTS", lists);
  }
}

std::vector<Reason> ResultLists::telling_reasons(const FusedResult& result) const {
  auto reasons = reasons_of(domain_, answer_, result);
  double most = 0;
  for (const Reason& reason : reasons) most = std::max(most, std::fabs(reason.weight.value_or(0.0)));
  std::erase_if(reasons, [&](const Reason& reason) {
    return reason.weight && std::fabs(*reason.weight) <= kLeastShownShare * most;
  });
  return reasons;
}

std::string ResultLists::in_words(std::size_t at, const std::vector<Reason>& reasons) {
  std::string others;
  for (std::size_t i = 1; i < std::min(reasons.size(), kMostInWords); ++i)
    if (reasons[i].rank > 0 && reasons[i].weight.value_or(1.0) > 0)
      others += (others.empty() ? "" : ", ") + texts_.say("why_other", fmt::arg("rank", reasons[i].rank),
                                                          fmt::arg("list", name_of_list(reasons[i].feature)));
  if (reasons.empty() || reasons.front().rank == 0) return {};
  const Reason& best = reasons.front();
  const auto without = without_.place_without(at, best.feature);
  const auto rank = fmt::arg("rank", best.rank);
  const std::string list = name_of_list(best.feature);
  if (without == 0) return texts_.say("why_only", rank, fmt::arg("list", list)) + ' ';
  std::string out =
      without
          ? texts_.say("why_best_without", rank, fmt::arg("list", list), fmt::arg("place", *without)) + ' '
          : texts_.say("why_best", rank, fmt::arg("list", list)) + ' ';
  if (!others.empty()) out += texts_.say("why_also", fmt::arg("others", others)) + ' ';
  return out;
}

void ResultLists::add_reasons(std::size_t at, View& view) {
  const FusedResult& result = answer_.results[at];
  const auto reasons = telling_reasons(result);
  double most = 0;
  for (const Reason& reason : reasons) most = std::max(most, reason.weight.value_or(0.0));
  const std::size_t rows = std::min(reasons.size(), rows_);
  const bool has_places = std::any_of(
      reasons.begin(), reasons.begin() + static_cast<std::ptrdiff_t>(rows),
      [&](const Reason& reason) { return without_.place_without(at, reason.feature).has_value(); });
  if (has_places) view.add("WITHOUT");
  for (std::size_t i = 0; i < rows; ++i) {
    const Reason& reason = reasons[i];
    const double weight = std::max(0.0, reason.weight.value_or(0.0));
    const int bar = most > 0 ? static_cast<int>(std::lround(kBarSteps * weight / most)) : 0;
    const auto without = without_.place_without(at, reason.feature);
    View& row = view.add("WHY");
    row.set("F", name_of_list(reason.feature))
        .set("R", reason.rank > 0 ? std::to_string(reason.rank) : "–")
        .set("B", std::to_string(bar))
        .set("W", weight_text(reason));
    if (!has_places) continue;
    row.add("PLACE").set("O", !without       ? std::string()
                              : *without > 0 ? std::to_string(*without)
                                             : std::string(texts_.raw("none")));
  }
  const std::string moved =
      result.moved_from == 0 ? "" : ' ' + texts_.say("why_moved", fmt::arg("place", result.moved_from));
  view.set("SCORE", decided_reason(result, texts_) + in_words(at, reasons) +
                        texts_.say("why_place", fmt::arg("place", at + 1),
                                   fmt::arg("score", short_number(result.score))) +
                        moved);
  if (reasons.size() > rows_)
    view.add("REST").set("TEXT", texts_.counted("why_rest", reasons.size() - rows_));
}

}  // namespace metafuse::service
