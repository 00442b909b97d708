#include "service/pages/result_filters.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/encoding.h"
#include "service/base/addresses.h"
#include "service/base/dates.h"
#include "service/pages/result_text.h"
#include "templates/typed_query.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostLinks = 6;

using Counts = std::map<std::string, std::size_t>;

/// The kMostLinks most frequent, the most frequent first, then by name.
std::vector<std::pair<std::string, std::size_t>> most_frequent(const Counts& counts) {
  std::vector<std::pair<std::string, std::size_t>> out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (out.size() > kMostLinks) out.resize(kMostLinks);
  return out;
}

std::string without_www(std::string host) {
  if (host.starts_with("www.")) host.erase(0, 4);
  return host;
}

bool has_condition(const SearchAnswer& answer, templates::Condition::Kind kind) {
  return std::any_of(answer.typed.conditions.begin(), answer.typed.conditions.end(),
                     [&](const templates::Condition& condition) { return condition.kind == kind; });
}

/// Links to the results of one engine, or of one list if there is only one engine, with their counts.
FilterGroup list_filter(const VisibleResults& seen, const SearchLinks& links, const Texts& texts) {
  const SearchAnswer& answer = seen.answer;
  std::set<std::string> engines;
  const std::size_t searched = answer.lists.size() - answer.second_stage;
  for (std::size_t i = 0; i < searched; ++i) engines.insert(answer.lists[i].query.engine);
  const bool has_engines = engines.size() > 1;
  Counts counts;
  for (const std::size_t at : seen.positions) {
    std::set<std::string> names;
    for (const Placement& place : answer.results[at].placements) {
      if (place.feature >= searched) continue;
      const ExpandedQuery& query = answer.lists[place.feature].query;
      names.insert(has_engines ? query.engine : query.feature_name());
    }
    for (const std::string& name : names) ++counts[name];
  }
  FilterGroup out{std::string(texts.raw(has_engines ? "engine" : "list")), {}};
  if (counts.size() < 2) return out;
  for (const auto& [name, count] : most_frequent(counts))
    out.links.push_back({name, links.with(has_engines ? "engines" : "lists", name), count});
  return out;
}

/// Whether a text is read as one condition.
bool is_condition(const std::string& text) {
  const templates::TypedQuery typed = templates::parse_typed_query(text);
  return typed.conditions.size() == 1 && typed.terms.empty();
}

/// Links that add a condition `field` + value to what was typed.
FilterGroup typed_filter(std::string_view name, const Counts& counts, const std::string& field,
                         const VisibleResults& seen, const SearchLinks& links) {
  FilterGroup out{std::string(name), {}};
  for (const auto& [value, count] : most_frequent(counts))
    if (count < seen.positions.size() && is_condition(field + value))
      out.links.push_back({value, links.with("q", seen.answer.typed.text + ' ' + field + value), count});
  return out;
}

FilterGroup time_filter(const VisibleResults& seen, const SearchLinks& links, const Texts& texts,
                        UnixTime now) {
  FilterGroup out{std::string(texts.raw("time")), {}};
  static constexpr std::pair<const char*, int> kSpans[] = {
      {"past_day", 1}, {"past_week", 7}, {"past_month", 31}, {"past_year", 366}};
  std::size_t before = 0;
  for (const auto& [key, days] : kSpans) {
    const std::string since = iso_day(now - days * kSecondsPerDay);
    const auto count = static_cast<std::size_t>(
        std::count_if(seen.positions.begin(), seen.positions.end(), [&](std::size_t at) {
          const std::string& day = seen.answer.results[at].hit.published;
          return !day.empty() && day.substr(0, since.size()) >= since;
        }));
    if (count == before || count == seen.positions.size()) continue;
    before = count;
    out.links.push_back(
        {std::string(texts.raw(key)), links.with("q", seen.answer.typed.text + " after:" + since), count});
  }
  return out;
}

}  // namespace

SearchLinks::SearchLinks(const Fields& fields) {
  for (const auto& [name, value] : fields)
    if (name != "pageno" && !value.empty()) fields_.emplace_back(name, value);
}

std::string SearchLinks::with(std::string_view name, std::string_view value) const {
  std::string out;
  bool is_set = value.empty();
  const auto add = [&](std::string_view field, std::string_view text) {
    out += (out.empty() ? "/search?" : "&") + percent_encoded(field) + '=' + percent_encoded(text, true);
  };
  for (const auto& [field, text] : fields_) {
    if (field != name) {
      add(field, text);
    } else if (!is_set) {
      add(field, value);
      is_set = true;
    }
  }
  if (!is_set) add(name, value);
  return out.empty() ? "/" : out;
}

std::string SearchLinks::page(int number) const {
  return number == 1 ? here() : with("pageno", std::to_string(number));
}

std::string SearchLinks::here() const {
  return with("pageno", "");
}

std::vector<FilterLink> conditions_to_take_away(const SearchAnswer& answer,
                                                const SearchParameters& parameters, const SearchLinks& links,
                                                const Texts& texts) {
  std::vector<FilterLink> out;
  for (const templates::Condition& condition : answer.typed.conditions)
    out.push_back({answer.typed.text.substr(condition.begin, condition.end - condition.begin),
                   links.with("q", answer.typed.text_without(condition))});
  const SearchRequest& search = parameters.search;
  if (!search.engines.empty())
    out.push_back({fmt::format("{}: {}", texts.raw("engine"), fmt::join(search.engines, ", ")),
                   links.with("engines", "")});
  if (!search.lists.empty())
    out.push_back(
        {fmt::format("{}: {}", texts.raw("list"), fmt::join(search.lists, ", ")), links.with("lists", "")});
  if (!search.time_range.empty())
    out.push_back({std::string(texts.raw("past_" + search.time_range)), links.with("time_range", "")});
  return out;
}

std::vector<FilterGroup> offered_filters(const VisibleResults& seen, const SearchParameters& parameters,
                                         const SearchLinks& links, const Texts& texts, UnixTime now) {
  const SearchAnswer& answer = seen.answer;
  std::vector<FilterGroup> out;
  if (parameters.search.engines.empty() && parameters.search.lists.empty())
    out.push_back(list_filter(seen, links, texts));
  if (!answer.typed.terms.empty()) {
    using Kind = templates::Condition::Kind;
    Counts sites, types;
    for (const std::size_t at : seen.positions) {
      const std::string& url = answer.results[at].hit.url;
      if (const std::string host = without_www(host_of(url)); !host.empty()) ++sites[host];
      if (const std::string type = shown_file_type(url); !type.empty()) ++types[type];
    }
    if (!has_condition(answer, Kind::site))
      out.push_back(typed_filter(texts.raw("site"), sites, "site:", seen, links));
    if (!has_condition(answer, Kind::after)) out.push_back(time_filter(seen, links, texts, now));
    if (!has_condition(answer, Kind::file_type))
      out.push_back(typed_filter(texts.raw("file_type"), types, "filetype:", seen, links));
  }
  std::erase_if(out, [](const FilterGroup& group) { return group.links.empty(); });
  return out;
}

}  // namespace metafuse::service
