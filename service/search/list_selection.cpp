#include "service/search/list_selection.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/digest.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kNamedNotAsked = 5;

/// A number below 2^32 that depends on nothing but the text.
std::uint64_t drawn_number(const std::string& text) {
  const std::string digits = sha256_hex(text).substr(0, 8);
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return number;
}

const fusion::ListChoice* choice_of(const LoadedDomain& domain) {
  return domain.model && domain.model->choice ? &*domain.model->choice : nullptr;
}

/// Identifies a query to a version of the model.
std::string seed_of(const LoadedDomain& domain, const SearchRequest& request) {
  std::string seed = domain.model_digest + '\n' + request.text;
  for (const auto& [name, value] : request.slots.slots) seed += '\n' + name + '\n' + value;
  return seed;
}

/// The place of each list in the model's order, by name.
std::map<std::string_view, std::uint64_t> places_of(const fusion::Model& model) {
  std::map<std::string_view, std::uint64_t> places;
  for (std::size_t i = 0; i < model.choice->order.size(); ++i)
    places[model.features[model.choice->order[i]].name] = i + 1;
  return places;
}

/// The queries' positions in the order in which their lists are asked for, after the lists' places in it: the
/// model's order, in which lists that it does not know come first, or one drawn for an exploring query.
std::vector<std::pair<std::uint64_t, std::size_t>> by_place(const LoadedDomain& domain,
                                                            const std::string& seed, bool is_exploring,
                                                            const std::vector<ExpandedQuery>& queries) {
  const auto places = is_exploring ? std::map<std::string_view, std::uint64_t>() : places_of(*domain.model);
  std::vector<std::pair<std::uint64_t, std::size_t>> out;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const std::string name = queries[i].feature_name();
    const auto at = places.find(name);
    out.emplace_back(is_exploring         ? drawn_number(seed + '\n' + name)
                     : at == places.end() ? 0
                                          : at->second,
                     i);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

bool is_selective(const LoadedDomain& domain, const SearchRequest& request) {
  const bool names_engines = !request.engines.empty() && !request.are_engines_allowed_ones;
  return domain.domain.select.has_value() && !names_engines && request.lists.empty() &&
         request.variants.empty();
}

ListSelection select_lists(const LoadedDomain& domain, const SearchRequest& request,
                           const std::vector<ExpandedQuery>& queries) {
  constexpr double kNumbers = 4294967296.0;
  const templates::Selection& rules = *domain.domain.select;
  const fusion::ListChoice* choice = choice_of(domain);
  const std::string seed = seed_of(domain, request);
  const bool is_exploring = request.asks_all || choice == nullptr ||
                            static_cast<double>(drawn_number(seed)) < rules.explore * kNumbers;
  ListSelection out;
  std::vector<std::size_t> first;
  std::uint64_t last = static_cast<std::uint64_t>(rules.first);  // place of the current round's last list
  std::size_t sent = 0;
  for (const auto& [place, query] : by_place(domain, seed, is_exploring, queries)) {
    if (++sent > kMaxExpandedQueries) {
      out.never.push_back(queries[query]);
    } else if (is_exploring || place <= static_cast<std::uint64_t>(rules.first)) {
      first.push_back(query);
    } else {
      for (; place > last; last *= 2) out.rounds.emplace_back();
      out.rounds.back().push_back(queries[query]);
    }
  }
  std::ranges::sort(first);  // the domain's order
  for (const std::size_t query : first) out.first.push_back(queries[query]);
  return out;
}

bool is_settled(const LoadedDomain& domain, const SearchAnswer& answer, std::size_t rounds) {
  const fusion::ListChoice* choice = choice_of(domain);
  if (choice == nullptr || answer.results.empty() || answer.has_failures()) return false;
  const auto at = choice->settled.find(static_cast<std::uint64_t>(domain.domain.select->first) << rounds);
  const double lead = answer.results.size() < 2 ? 0.0 : answer.results[0].score - answer.results[1].score;
  return at != choice->settled.end() && lead >= at->second;
}

std::string_view name_of(WhyNotAsked why) {
  switch (why) {
    case WhyNotAsked::settled:
      return "settled";
    case WhyNotAsked::deadline:
      return "deadline";
    case WhyNotAsked::limit:
      break;
  }
  return "limit";
}

std::vector<NotAskedGroup> not_asked_groups(const SearchAnswer& answer) {
  std::vector<NotAskedGroup> groups;
  for (const WhyNotAsked why : kWhysNotAsked) {
    NotAskedGroup group{why, 0, {}};
    for (const NotAsked& each : answer.not_asked) {
      if (each.why != why || ++group.count > kNamedNotAsked) continue;
      group.names += (group.names.empty() ? "" : ", ") + each.feature;
    }
    if (group.count > kNamedNotAsked) group.names += ", ...";
    if (group.count > 0) groups.push_back(std::move(group));
  }
  return groups;
}

std::string not_asked_text(const SearchAnswer& answer) {
  std::string out;
  for (const NotAskedGroup& group : not_asked_groups(answer))
    out += fmt::format("{}{} of {} lists not asked for, because {}: {}", out.empty() ? "" : "; ", group.count,
                       answer.not_asked.size() + answer.lists.size() - answer.second_stage,
                       group.why == WhyNotAsked::settled    ? "the others settled the first results"
                       : group.why == WhyNotAsked::deadline ? "the search's time was over"
                                                            : "a search sends no more queries",
                       group.names);
  return out;
}

}  // namespace metafuse::service
