#include "service/fusing/fusing.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "core/near_names.h"
#include "fusion/unsupervised/fusion_method.h"
#include "service/answers/reasons.h"
#include "service/fusing/fuse_request.h"
#include "service/search/expansion.h"
#include "service/search/list_fusion.h"

namespace metafuse::service {
namespace {

/// Methods whose score is a sum over the lists, so that a result can be explained list by list.
constexpr std::string_view kSums[] = {"rrf", "rbc", "borda", "weighted_borda", "combsum", "weighted_sum"};

/// One result of the answer, whatever fused it.
struct FusedPlace {
  std::uint32_t document = 0;
  double score = 0;
  double relative_score = 0;
};

/// A result's members but rank and explanation: what the lists said of it comes back untouched, from the list
/// that ranks it best and says it.
JsonObject fused_result_json(const FuseRequest& request, const FusedPlace& place, std::size_t rank) {
  std::vector<std::pair<std::uint32_t, std::size_t>> holders;
  for (std::size_t l = 0; l < request.lists.size(); ++l)
    if (const std::uint32_t at = request.rank(place.document, l); at > 0) holders.emplace_back(at, l);
  JsonArray lists;
  lists.reserve(holders.size());
  for (const auto& [at, l] : holders)
    lists.push_back(JsonObject{{"name", request.lists[l].name}, {"rank", at}});
  JsonObject out;
  out.reserve(9);
  out["rank"] = rank;
  out["id"] = request.documents[place.document];
  std::stable_sort(holders.begin(), holders.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  JsonObject own;
  for (const auto& [at, l] : holders) {
    const JsonObject* members = request.lists[l].results[at - 1].members;
    if (members == nullptr) continue;
    for (const std::string_view name : {"url", "title", "snippet", "fields"})
      if (const Json* value = members->if_contains(name); value != nullptr && !own.contains(name))
        own[name] = *value;
  }
  if (const Json* url = own.if_contains("url")) out["url"] = *url;
  out["score"] = place.score;
  out["relative_score"] = place.relative_score;
  out["lists"] = std::move(lists);
  for (const std::string_view name : {"title", "snippet", "fields"})
    if (const Json* value = own.if_contains(name)) out[name] = *value;
  return out;
}

/// What each list adds to each score, [list][document]; empty when the method is no sum over lists.
std::vector<std::vector<double>> shares_of(const FuseRequest& request, const fusion::QueryLists& query) {
  if (std::find(std::begin(kSums), std::end(kSums), request.method->name) == std::end(kSums)) return {};
  std::vector<std::vector<double>> shares;
  for (std::size_t l = 0; l < query.lists.size(); ++l) {
    fusion::QueryLists alone{query.documents,
                             std::vector<std::vector<fusion::ListEntry>>(query.lists.size())};
    alone.lists[l] = query.lists[l];
    shares.push_back(fuse_scores(*request.method, alone, request.options));
  }
  return shares;
}

JsonArray shares_json(const FuseRequest& request, const std::vector<std::vector<double>>& shares,
                      std::uint32_t document) {
  JsonArray out;
  for (std::size_t l = 0; l < request.lists.size(); ++l) {
    const std::uint32_t rank = request.rank(document, l);
    if (rank == 0 && (shares.empty() || shares[l][document] == 0)) continue;
    out.push_back(JsonObject{{"feature", request.lists[l].name},
                             {"rank", rank > 0 ? Json(rank) : Json(nullptr)},
                             {"weight", shares.empty() ? Json(nullptr) : Json(shares[l][document])}});
  }
  return out;
}

std::size_t shown_count(const FuseRequest& request) {
  return request.limit == 0 ? request.documents.size() : std::min(request.limit, request.documents.size());
}

void add_notices(const FuseRequest& request, JsonObject& out) {
  if (request.notices.empty()) return;
  JsonArray notices;
  for (const std::string& text : request.notices) notices.emplace_back(text);
  out["notices"] = std::move(notices);
}

/// Document numbers, best first: score descending, then the better best rank, then what the lists name first.
std::vector<std::uint32_t> callers_order(const FuseRequest& request, const std::vector<double>& scores) {
  std::vector<std::uint32_t> order(scores.size());
  std::vector<std::uint32_t> best(scores.size());
  for (std::size_t i = 0; i < best.size(); ++i) best[i] = request.best_rank(i);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (scores[a] != scores[b]) return scores[a] > scores[b];
    return best[a] != best[b] ? best[a] < best[b] : a < b;
  });
  return order;
}

JsonObject options_json(const FuseRequest& request) {
  JsonObject out;
  if (!request.method->parameter.empty()) out["k"] = request.options.k.value_or(request.method->default_k);
  if (request.method->uses_scores)
    out["normalise"] = fusion::name_of(request.options.normalise.value_or(request.method->default_normalise));
  return out;
}

JsonObject fused_by_method(const FuseRequest& request) {
  fusion::QueryLists query{request.documents, {}};
  for (const CallerList& list : request.lists) {
    auto& entries = query.lists.emplace_back();
    entries.reserve(list.results.size());
    for (const CallerResult& result : list.results) entries.push_back({result.document, result.score});
  }
  const auto scores = fuse_scores(*request.method, query, request.options);
  const auto order = callers_order(request, scores);
  const auto shares = request.is_explained ? shares_of(request, query) : std::vector<std::vector<double>>();
  const double high = order.empty() ? 0 : scores[order.front()];
  const double low = order.empty() ? 0 : scores[order.back()];
  JsonArray results;
  results.reserve(shown_count(request));
  for (std::size_t i = 0; i < shown_count(request); ++i) {
    const double score = scores[order[i]];
    const double relative = high > low ? (score - low) / (high - low) : 1.0;
    JsonObject result = fused_result_json(request, {order[i], score, relative}, i + 1);
    if (request.is_explained) result["explanation"] = shares_json(request, shares, order[i]);
    results.push_back(std::move(result));
  }
  JsonObject out;
  out["results"] = std::move(results);
  out["total"] = order.size();
  out["fusion"] = JsonObject{{"method", request.method->name}, {"options", options_json(request)}};
  add_notices(request, out);
  return out;
}

/// The domain of a request, whose lists must all be declared by it.
Result<const LoadedDomain*> checked_domain(const FuseRequest& request, const FusingPlace& place) {
  if (place.snapshot == nullptr)
    return fail(Code::usage,
                fmt::format("no domain \"{}\": there is no configuration; give --config", request.domain));
  TRY(const LoadedDomain* const domain, named_domain(*place.snapshot, request.domain, place.key));
  if (domain->domain.lists.empty())
    return fail(Code::usage,
                fmt::format("the domain {} declares no lists that callers bring; add \"lists: [...]\" "
                            "to its file, or name a method",
                            request.domain));
  std::vector<std::string> known;
  for (const fusion::Feature& feature : features_of(domain->domain)) known.push_back(feature.name);
  for (const CallerList& list : request.lists) {
    if (std::find(known.begin(), known.end(), list.name) == known.end())
      return fail(Code::usage, fmt::format("the domain {} has no list \"{}\"{}", request.domain, list.name,
                                           did_you_mean(list.name, known)));
    if (list.has_weight)
      return fail(Code::usage,
                  fmt::format("lists: a domain's lists have no weights: its model knows what {} is worth",
                              list.name));
  }
  for (const auto& [slot, value] : request.slots.slots)
    if (domain->domain.find_slot(slot) == nullptr)
      return fail(Code::usage, fmt::format("the domain {} has no slot \"{}\"", request.domain, slot));
  return domain;
}

/// A caller's list as if an engine had delivered it: documents under their identities.
std::vector<fetchers::FetchedList> as_fetched(const FuseRequest& request) {
  std::vector<fetchers::FetchedList> out;
  for (const CallerList& list : request.lists) {
    fetchers::FetchedList& fetched = out.emplace_back();
    const std::size_t at = list.name.find('@');
    fetched.query.template_id = list.name.substr(0, at);
    if (at != std::string::npos) fetched.query.engine = list.name.substr(at + 1);
    fetched.query.text = request.text;
    for (const CallerResult& result : list.results) {
      Hit& hit = fetched.list.hits.emplace_back();
      hit.key = request.documents[result.document];
      hit.url = hit.key;
    }
  }
  return out;
}

/// The number of each result's document.
std::vector<std::uint32_t> numbers_of(const FuseRequest& request, const SearchAnswer& answer) {
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  for (std::size_t i = 0; i < request.documents.size(); ++i)
    numbers.emplace(request.documents[i], static_cast<std::uint32_t>(i));
  std::vector<std::uint32_t> out;
  for (const FusedResult& result : answer.results) out.push_back(numbers.at(result.key));
  return out;
}

/// Equal scores in the callers' order. What stands below the domain's depth in every list stays behind
/// the rest.
void order_equal_scores(const FuseRequest& request, int depth, SearchAnswer& answer) {
  const auto numbers = numbers_of(request, answer);
  struct Keyed {
    std::uint32_t window, best, document;
    FusedResult result;
  };
  std::vector<Keyed> keyed;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint32_t best = request.best_rank(numbers[i]);
    keyed.push_back(
        {(best - 1) / static_cast<std::uint32_t>(depth), best, numbers[i], std::move(answer.results[i])});
  }
  std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
    if (a.window != b.window) return a.window < b.window;
    if (a.result.score != b.result.score) return a.result.score > b.result.score;
    return a.best != b.best ? a.best < b.best : a.document < b.document;
  });
  for (std::size_t i = 0; i < keyed.size(); ++i) answer.results[i] = std::move(keyed[i].result);
}

Result<JsonObject> fused_for_domain(const FuseRequest& request, const FusingPlace& place) {
  TRY(const LoadedDomain* const domain, checked_domain(request, place));
  auto made = std::make_shared<SearchAnswer>();
  made->domain = domain->domain.name;
  made->slots = request.slots;
  made->query = request.text;
  if (made->query.empty())
    for (const auto& [name, value] : request.slots.slots)
      made->query += (made->query.empty() ? "" : " ") + value;
  fuse_lists(*domain, as_fetched(request), *made);
  order_equal_scores(request, domain->domain.depth, *made);
  SharedAnswer answer = std::move(made);
  const std::size_t limit = shown_count(request);
  ShownResults shown;
  if (place.serve)
    answer = place.serve(std::move(answer), limit, shown);
  else
    shown = shown_results(*answer, 0, static_cast<int>(limit), {});
  const auto numbers = numbers_of(request, *answer);
  JsonArray results;
  for (const std::size_t at : shown.positions) {
    const FusedResult& result = answer->results[at];
    JsonObject item =
        fused_result_json(request, {numbers[at], result.score, result.relative_score}, results.size() + 1);
    add_online(result, item);
    if (request.is_explained) item["explanation"] = explanation_json(*domain, *answer, result);
    results.push_back(std::move(item));
  }
  JsonObject out;
  out["results"] = std::move(results);
  out["total"] = answer->results.size();
  out["fusion"] = fusion_json(*answer);
  add_notices(request, out);
  if (!shown.search_id.empty()) out["search_id"] = shown.search_id;
  return out;
}

Result<JsonObject> fuse_one(const JsonObject& body, const FusingPlace& place) {
  const TrackingParameters& tracking =
      place.snapshot == nullptr ? default_tracking_parameters() : place.snapshot->config.tracking;
  TRY(const FuseRequest request, read_fuse_request(body, tracking));
  if (request.method != nullptr) return fused_by_method(request);
  return fused_for_domain(request, place);
}

JsonObject refused_json(const Error& error) {
  return JsonObject{{"status", 400}, {"detail", error.text}};
}

Result<JsonObject> fuse_batch(const JsonObject& body, const FusingPlace& place) {
  const Json& requests = body.at("requests");
  if (body.size() > 1)
    return fail(Code::usage, "\"requests\" stands alone: what belongs to a request stands in it");
  if (!requests.is_array()) return fail(Code::usage, "\"requests\" must be a list of requests");
  if (requests.get_array().size() > kMaxFuseRequests)
    return fail(Code::usage, fmt::format("more than {} requests in a batch", kMaxFuseRequests));
  JsonArray answers;
  for (const Json& item : requests.get_array()) {
    auto answer = item.is_object() ? fuse_one(item.get_object(), place)
                                   : Result<JsonObject>(fail(Code::usage, "a request must be a JSON object"));
    answers.push_back(answer ? std::move(*answer) : refused_json(answer.error()));
  }
  return JsonObject{{"answers", std::move(answers)}};
}

}  // namespace

Result<JsonObject> fuse_request(const JsonObject& body, const FusingPlace& place) {
  return body.contains("requests") ? fuse_batch(body, place) : fuse_one(body, place);
}

std::string fuse_lines(std::string_view text, const FusingPlace& place,
                       const std::function<void()>& on_refusal) {
  const auto answer_line = [&](std::string_view line) -> Result<JsonObject> {
    if (line.size() > kMaxFuseBytes) return fail(Code::usage, "a request has 4 MiB at most");
    JsonLimits limits;
    limits.max_depth = 32;
    TRY(const auto body, parse_json(line, "body", Code::usage, limits));
    if (!body.is_object()) return fail(Code::usage, "the body must be a JSON object");
    return fuse_request(body.get_object(), place);
  };
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto answer = answer_line(line);
    if (!answer && on_refusal) on_refusal();
    out += to_text(answer ? *answer : refused_json(answer.error())) + '\n';
  }
  return out;
}

}  // namespace metafuse::service
