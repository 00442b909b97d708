#include "service/api/native.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "core/json.h"
#include "service/access/gate.h"
#include "service/api/finder.h"
#include "service/api/fusing.h"
#include "service/api/handlers.h"
#include "service/config/reloader.h"
#include "service/http/exchange.h"
#include "service/http/message.h"
#include "service/learning/feedback.h"
#include "service/learning/records.h"
#include "service/search/list_fusion.h"
#include "service/search/reasons.h"
#include "service/search/relevance_cut.h"
#include "service/search/search_requests.h"

// The native JSON API for searching: /v1/search, its stream of events, /v1/fuse and /v1/feedback.

namespace metafuse::service {

namespace {

JsonArray texts_json(const std::vector<std::string>& texts) {
  JsonArray out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

JsonArray folded_json(const std::vector<FoldedHit>& hits) {
  JsonArray out;
  for (const Hit& hit : hits) out.push_back(JsonObject{{"url", hit.url}, {"title", hit.title}});
  return out;
}

JsonObject result_json(const LoadedDomain& domain, const SearchAnswer& answer, const FusedResult& result,
                       std::size_t rank, bool is_explained) {
  JsonArray engines;
  for (const std::string_view engine : engines_of(answer, result)) engines.emplace_back(engine);
  JsonArray placements;
  for (const Placement& place : result.placements)
    placements.push_back(JsonObject{{"feature", answer.features[place.feature].name}, {"rank", place.rank}});
  JsonObject out;
  out["rank"] = rank;
  out["url"] = result.hit.url;
  out["title"] = result.hit.title;
  out["snippet"] = result.hit.snippet;
  out["published"] = result.hit.published.empty() ? Json(nullptr) : Json(result.hit.published);
  if (!result.hit.language.empty()) out["language"] = result.hit.language;
  if (!result.hit.thumbnail.empty()) out["thumbnail"] = result.hit.thumbnail;
  if (result.hit.kind != ResultKind::page) {
    out["kind"] = name_of(result.hit.kind);
    JsonObject details;
    for (const auto& [name, value] : result.hit.details) details[name] = value;
    out["details"] = std::move(details);
  }
  out["score"] = result.score;
  out["relative_score"] = result.relative_score;
  if (result.relevance) out["relevance"] = *result.relevance;
  add_online(result, out);
  add_decisions(result, out);
  if (!result.alike.empty()) out["alike"] = folded_json(result.alike);
  if (!result.same_site.empty()) out["same_site"] = folded_json(result.same_site);
  out["engines"] = std::move(engines);
  out["placements"] = std::move(placements);
  if (is_explained) out["explanation"] = explanation_json(domain, answer, result);
  return out;
}

}  // namespace

JsonObject native_json(const Snapshot& snapshot, const SearchAnswer& answer, const ShownResults& shown,
                       bool is_explained) {
  const LoadedDomain& domain = *snapshot.find_domain(answer.domain);
  JsonArray results;
  std::size_t rank = shown.first;
  for (const std::size_t at : shown.positions)
    results.push_back(result_json(domain, answer, answer.results[at], ++rank, is_explained));
  JsonArray failed;
  for (const auto& list : answer.lists) {
    if (!list.has_failed()) continue;
    failed.push_back(JsonObject{{"feature", list.query.feature_name()},
                                {"engine", list.query.engine},
                                {"failure", fetchers::name_of(list.failure)}});
  }
  JsonObject slots;
  for (const auto& [name, value] : answer.slots.slots) slots[name] = value;
  JsonArray queries;
  for (const auto& list : answer.lists)
    queries.push_back(JsonObject{{"feature", list.query.feature_name()}, {"text", list.query.text}});
  JsonObject out;
  out["query"] = answer.query;
  out["slots"] = std::move(slots);
  out["results"] = std::move(results);
  out["total"] = shown.total;
  out["has_more"] = may_go_on(answer, shown, domain.domain.depth);
  add_relevance_cut(answer, out);
  if (!shown.search_id.empty()) out["search_id"] = shown.search_id;
  out["suggestions"] = texts_json(answer.suggestions);
  out["corrections"] = texts_json(shown.corrections);
  if (!shown.typed.empty()) out["typed"] = shown.typed;
  out["failed"] = std::move(failed);
  if (!answer.not_asked.empty()) out["not_asked"] = not_asked_json(answer);
  out["fusion"] = fusion_json(answer);
  if (is_explained) out["queries"] = std::move(queries);
  out["timing"] =
      JsonObject{{"fetch_ms", answer.fetch_seconds * 1e3}, {"fuse_ms", answer.fuse_seconds * 1e3}};
  return out;
}

Answered handle_native_search(Finder& finder, const Exchange& exchange) {
  TRY(const auto body, json_body(exchange.request));
  TRY(const auto wanted, read_native_search(body));
  TRY(const auto found,
      finder.find(exchange, {wanted.search, wanted.limit, wanted.sites, correction_for(wanted.is_verbatim)}));
  return found.response(
      json_response(native_json(*exchange.snapshot, *found.answer, found.shown, wanted.is_explained)));
}

namespace {

/// Longest time from the arrival of requests to fuse until the last one begins.
constexpr std::chrono::seconds kFusePatience{10};

/// Charges each request of a batch its tokens beyond those that the gate took at first, and one expanded
/// query of the key's quota.
AdmitFusion admission_of_fusion(Gate& gate, const Clock& clock, const Exchange& exchange) {
  return [&gate, &clock, &exchange, paid = 1.0,
          owed = 0.0](double tokens) mutable -> std::optional<AccessRefusal> {
    if (clock.now() - exchange.arrived > kFusePatience)
      return AccessRefusal{503, "deadline", "the requests before took too long; send fewer at once", 1};
    owed += tokens;
    if (owed > paid) {
      if (auto refused = gate.admit_more(exchange, owed - paid)) return refused;
      paid = owed;
    }
    return gate.admit_search(exchange, 1);
  };
}

constexpr std::size_t kMostSmallBytes = std::size_t{32} << 10;

}  // namespace

/// Whoever has a key is charged a quota, which another program may count.
std::optional<HttpResponse> handle_small_fuse(Gate& gate, const Clock& clock, const Exchange& exchange) {
  const std::string& text = exchange.request.body;
  if (exchange.key != nullptr || text.size() > kMostSmallBytes ||
      media_type(exchange.request.header("Content-Type")) != "application/json")
    return std::nullopt;
  auto answer = small_fuse_text(
      text, {exchange.snapshot.get(), nullptr, {}, admission_of_fusion(gate, clock, exchange)});
  if (!answer) return std::nullopt;
  return make_response(200, "application/json", std::move(*answer));
}

Answered handle_fuse(Finder& finder, Gate& gate, const Clock& clock, const Exchange& exchange) {
  const std::string& text = exchange.request.body;
  if (text.size() > kMaxFuseBytes) return refusal(413, "the body may have at most 4 MiB");
  const FusingPlace place{exchange.snapshot.get(), exchange.key,
                          [&](SharedAnswer answer, std::size_t limit, ShownResults& shown) {
                            return finder.show_fused(exchange, std::move(answer), limit, shown);
                          },
                          admission_of_fusion(gate, clock, exchange)};
  if (media_type(exchange.request.header("Content-Type")) == "application/x-ndjson") {
    if (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) > kMaxFuseRequests)
      return refusal(422, fmt::format("more than {} lines; send them in several bodies", kMaxFuseRequests));
    return make_response(200, "application/x-ndjson", fuse_lines(text, place));
  }
  auto answer = fuse_text(text, place);
  if (!answer) return std::move(answer).error();
  return make_response(200, "application/json", std::move(*answer));
}

namespace {

/// One server-sent event; JSON text holds no line ends, so one data line is enough.
std::string event(std::string_view name, const JsonObject& data) {
  return "event: " + std::string(name) + "\ndata: " + to_text(data) + "\n\n";
}

}  // namespace

Answered stream_search(Finder& finder, Reply& reply, const Exchange& exchange) {
  TRY(const auto parameters, read_parameters(exchange.request.query, *exchange.snapshot, exchange.key));
  const bool is_by_rrf = parameters.is_by_rrf;
  const std::optional<Exchange> plain = is_by_rrf ? std::optional(exchange.without_models()) : std::nullopt;
  const Exchange& asked = plain ? *plain : exchange;
  const auto body = [&](const SearchAnswer& answer, const ShownResults& shown) {
    return native_json(*asked.snapshot, answer, shown, parameters.wants_explanation);
  };
  SearchEvents events;
  events.on_admitted = [&] {
    if (!reply.has_begun()) reply.begin(make_response(200, "text/event-stream; charset=utf-8", ""));
  };
  events.on_partial = [&](const SearchAnswer& so_far, std::size_t arrived, std::size_t wanted) {
    JsonObject data = body(so_far, shown_results(so_far, parameters.search.page, parameters.limit, {}));
    data["arrived"] = arrived;
    data["wanted"] = wanted;
    reply.write(event("partial", data));
  };
  auto found = finder.find(
      asked, {parameters.search, parameters.limit, {}, correction_for(parameters.is_verbatim), !is_by_rrf},
      events);
  if (!reply.has_begun()) return std::move(found.error());
  reply.write(found ? event("final", body(*found->answer, found->shown))
                    : event("error", JsonObject{{"detail", found.error().text}}));
  return HttpResponse();
}

namespace {

/// How long feedback waits for the search log to be written, because its search may still be in the queue.
constexpr std::chrono::milliseconds kFlushPatience{250};
/// Most time from the arrival of feedback to its answer, including the wait for a thread.
constexpr std::chrono::milliseconds kFeedbackPatience{900};

/// Tells those who learn from feedback. It is stored already, so a failure here is only logged.
void learn_from(const Snapshot& snapshot, Records& records, Log& log, const FeedbackRequest& request,
                const FeedbackRules& rules) {
  const LearningConfig& learning = snapshot.config.learning;
  const bool is_judgment = request.kind == FeedbackRequest::Kind::judgment;
  if (!is_judgment && !learning.has_online_reranker && !learning.is_trained_on_change) return;
  const auto search = records.store->searches.find(request.search, rules.end);
  const LoadedDomain* domain = search && *search ? snapshot.find_domain((*search)->domain) : nullptr;
  if (domain == nullptr) return;
  if (is_judgment)
    records.note_judgments(domain->domain.name);
  else if (records.on_feedback)
    records.on_feedback(domain->domain.name);
  if (!learning.has_online_reranker || records.online_rerankers == nullptr) return;
  const auto learned = records.online_rerankers->learn(*domain, *records.store, request, rules);
  if (!learned) log.write(Log::Level::error, "online learning failed", {{"reason", learned.error().text}});
}

}  // namespace

Answered handle_feedback(Reloader& reloader, Records& records, Log& log, const Clock& clock,
                         const Exchange& exchange) {
  if (records.store == nullptr) return refusal(404, "this server has no store, so it takes no feedback");
  FeedbackRules rules;
  rules.end = machine_clock().now() + kFeedbackPatience - (clock.now() - exchange.arrived);
  TRY(const auto body, json_body(exchange.request));
  TRY(const auto request, parse_feedback(body));
  FeedbackSender sender;
  sender.address = exchange.client;
  sender.key = exchange.key == nullptr ? "" : exchange.key->name;
  sender.is_judge = exchange.may(Role::judge);
  if (exchange.key != nullptr) sender.domains = exchange.key->domains;
  records.search_log->flush(kFlushPatience);
  const ServerConfig& config = exchange.snapshot->config;
  rules.tracking = config.tracking;
  rules.secret = records.secret;
  rules.caps = {config.learning.clicks_per_address, config.learning.clicks_per_key};
  const auto outcome = take_feedback(*records.store, request, sender, rules, records.unix_time());
  if (!outcome) return fail(Code::unavailable, outcome.error().text);  // any failure here is the server's
  const FeedbackAnswer& answer = answer_to(*outcome);
  if (answer.status >= 400) return refusal(answer.status, std::string(answer.explanation));
  if (*outcome == FeedbackOutcome::recorded) learn_from(*reloader.snapshot(), records, log, request, rules);
  return make_response(answer.status, "application/json", to_text(JsonObject{{"outcome", answer.name}}));
}

}  // namespace metafuse::service
