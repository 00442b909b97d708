#include "service/search/typed_conditions.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "core/deadline.h"
#include "core/text.h"
#include "fetchers/engines/index/index_words.h"
#include "service/search/search_answer.h"

namespace metafuse::service {
namespace {

using templates::Condition;
using Kind = Condition::Kind;

constexpr std::size_t kLongestEnding = 10;
constexpr std::size_t kDayBytes = 10;
/// An index of millions of documents needs some milliseconds.
constexpr std::chrono::seconds kMostChecking{1};

bool is_negative(Kind kind) {
  return kind == Kind::excluded || kind == Kind::not_in_title || kind == Kind::not_site ||
         kind == Kind::not_file_type;
}

/// Whether the text of a result decides the condition.
bool is_about_text(Kind kind) {
  return kind == Kind::phrase || kind == Kind::excluded;
}

}  // namespace

std::string file_type_of(std::string_view url) {
  const std::string_view path = path_of(url);
  const std::string_view name =
      path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name.size() - dot - 1 > kLongestEnding) return {};
  std::string ending = ascii_lower(name.substr(dot + 1));
  const bool is_plain = std::all_of(ending.begin(), ending.end(),
                                    [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
  return is_plain ? ending : std::string();
}

void set_typed(const SearchRequest& request, SearchAnswer& answer) {
  if (request.text.empty()) return;
  answer.typed = templates::parse_typed_query(request.text);
  for (const std::string& text : request.alternatives)
    answer.other_conditions.push_back(templates::parse_typed_query(text).conditions);
}

ConditionCheck::ConditionCheck(const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) {
    if (condition.kind == Kind::any) continue;
    std::vector<std::string> sites;
    if (condition.kind == Kind::site || condition.kind == Kind::not_site) sites.push_back(condition.value);
    conditions_.push_back({condition, FoldedText(condition.value), SiteSet(sites)});
  }
}

/// A result as conditions look at it.
struct ConditionCheck::Seen {
  explicit Seen(const Hit& hit)
      : page(hit.url),
        file_type(file_type_of(hit.url)),
        title(hit.title),
        snippet(hit.snippet),
        day(hit.published.substr(0, kDayBytes)) {}

  PageAddress page;
  std::string file_type;
  FoldedText title;
  FoldedText snippet;
  std::string day;  ///< empty if it is not known
};

bool ConditionCheck::shows(const Seen& result, const Checked& one) {
  const std::string& value = one.condition.value;
  switch (one.condition.kind) {
    case Kind::phrase:
    case Kind::excluded:
      return result.title.contains(one.words) || result.snippet.contains(one.words);
    case Kind::in_title:
    case Kind::not_in_title:
      return result.title.contains(one.words);
    case Kind::site:
    case Kind::not_site:
      return one.site.contains(result.page);
    case Kind::file_type:
    case Kind::not_file_type:
      return result.file_type == value;
    case Kind::before:
      return !result.day.empty() && result.day < value;
    case Kind::after:
      return result.day >= value;
    case Kind::any:
      break;
  }
  return true;
}

std::vector<ConditionCheck::Contained> ConditionCheck::contained(const LoadedDomain& domain,
                                                                 const std::vector<FusedResult>& results,
                                                                 const Deadline& deadline) const {
  std::vector<Contained> out(results.size());
  if (std::none_of(conditions_.begin(), conditions_.end(),
                   [](const Checked& one) { return is_about_text(one.condition.kind); }))
    return out;
  std::vector<std::string> urls;
  for (const FusedResult& result : results) urls.push_back(result.hit.url);
  for (const auto& vocabulary : domain.open_indexes) {
    auto index = vocabulary->counter();
    const auto found = index ? index->ids_of(urls) : index.error();
    if (!found) continue;
    std::map<std::int64_t, std::size_t> places;  // of results, by their ids in the index
    for (std::size_t i = 0; i < found->size(); ++i)
      if ((*found)[i] != 0) places.emplace((*found)[i], i);
    std::vector<std::int64_t> ids;
    for (const auto& [id, place] : places) {
      ids.push_back(id);
      out[place].resize(conditions_.size());
    }
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      const Condition& condition = conditions_[i].condition;
      if (!is_about_text(condition.kind)) continue;
      const auto contain = index->which_contain(condition.value, ids, deadline);
      for (std::size_t j = 0; contain && *contain && j < ids.size(); ++j) {
        std::optional<bool>& known = out[places.at(ids[j])][i];
        known = (**contain)[j] || known.value_or(false);
      }
    }
  }
  return out;
}

bool ConditionCheck::is_met(const Hit& hit, const std::vector<const QuerySyntax*>& syntaxes,
                            const Contained& contained) const {
  const Seen result(hit);
  const auto shows_any = [&](Kind kind) {
    return std::any_of(conditions_.begin(), conditions_.end(), [&](const Checked& other) {
      return other.condition.kind == kind && shows(result, other);
    });
  };
  const bool is_on_any_site = shows_any(Kind::site);
  const bool has_any_file_type = shows_any(Kind::file_type);
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    const Kind kind = conditions_[i].condition.kind;
    const bool is_text_known = i < contained.size() && contained[i].has_value();
    const bool is_in_text = is_text_known && *contained[i];
    const bool holds = kind == Kind::site        ? is_on_any_site
                       : kind == Kind::file_type ? has_any_file_type
                                                 : is_in_text || shows(result, conditions_[i]);
    if (is_negative(kind) && holds) return false;
    if (is_negative(kind) || holds) continue;
    // the result's address, its date if known, or its whole text decides it
    const bool is_certain = kind == Kind::site || is_text_known ||
                            ((kind == Kind::before || kind == Kind::after) && !result.day.empty());
    if (is_certain || std::none_of(syntaxes.begin(), syntaxes.end(), [&](const QuerySyntax* syntax) {
          return templates::can_say(*syntax, kind);
        }))
      return false;
  }
  return true;
}

namespace {

/// The checks of an answer's typed queries; none if one of these has no conditions: any result meets it.
std::vector<ConditionCheck> checks_of(const SearchAnswer& answer) {
  std::vector<ConditionCheck> checks;
  checks.emplace_back(answer.typed.conditions);
  for (const auto& conditions : answer.other_conditions) checks.emplace_back(conditions);
  if (std::ranges::any_of(checks, &ConditionCheck::is_empty)) checks.clear();
  return checks;
}

}  // namespace

void leave_out_unwanted(const LoadedDomain& domain, SearchAnswer& answer) {
  answer.left_out = 0;
  const std::vector<ConditionCheck> checks = checks_of(answer);
  if (checks.empty()) return;
  const auto syntax_of = [&](const Placement& place) {
    const std::string& engine = answer.lists[place.feature].query.engine;
    return domain.syntax_of ? &domain.syntax_of(engine) : &default_query_syntax();
  };
  const std::size_t searched = answer.lists.size() - answer.second_stage;
  const Deadline deadline(machine_clock(), kMostChecking);
  std::vector<std::vector<ConditionCheck::Contained>> contained;  // by check and result
  for (const ConditionCheck& check : checks)
    contained.push_back(check.contained(domain, answer.results, deadline));
  std::size_t position = 0;
  answer.narrowed_from = static_cast<std::uint32_t>(answer.windows);
  answer.left_out = std::erase_if(answer.results, [&](const FusedResult& result) {
    std::vector<const QuerySyntax*> syntaxes;
    for (const Placement& place : result.placements)
      if (place.feature < searched) syntaxes.push_back(syntax_of(place));
    const std::size_t at = position++;
    for (std::size_t i = 0; i < checks.size(); ++i)
      if (checks[i].is_met(result.hit, syntaxes, contained[i][at])) return false;
    answer.narrowed_from = std::min(answer.narrowed_from, result.window);
    return true;
  });
}

}  // namespace metafuse::service
