#include "service/search/answer_source.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/keyed_hash.h"
#include "service/base/dates.h"
#include "service/search/health_keeper.h"
#include "service/search/list_selection.h"
#include "service/search/search_spans.h"
#include "service/store/redis_client.h"
#include "service/store/shared_state.h"

namespace metafuse::service {
namespace {

std::size_t cache_bytes(const CacheConfig& config) {
  return config.megabytes << 20;
}

/// The cache shared by several processes; nullptr if the configuration names none.
std::unique_ptr<SharedAnswers> shared_answers(const ServerConfig& config, const Clock& clock) {
  auto address = parse_redis_url(config.cache.redis);
  if (config.cache.redis.empty() || !address) return nullptr;
  return std::make_unique<SharedAnswers>(std::move(*address), duration_of(config.cache.seconds), clock);
}

double price_of(const LoadedEngines& engines, const std::string& engine) {
  const auto traits = engines.traits.find(engine);
  return traits == engines.traits.end() ? 0 : traits->second.price;
}

/// An answer's suggestions that come from an engine which everybody may ask.
std::vector<std::string> public_suggestions(const Snapshot& snapshot, const SearchAnswer& answer) {
  const auto& private_engines = snapshot.engines.private_engines;
  if (private_engines.empty()) return answer.suggestions;
  std::vector<std::string> out;
  for (const std::string& text : answer.suggestions)
    if (std::ranges::any_of(answer.lists, [&](const fetchers::FetchedList& list) {
          return !private_engines.contains(list.query.engine) &&
                 std::ranges::find(list.list.suggestions, text) != list.list.suggestions.end();
        }))
      out.push_back(text);
  return out;
}

}  // namespace

std::size_t rendered_bytes(const CacheConfig& config) {
  return config.entries == 0 ? 0 : cache_bytes(config) / 4;
}

AnswerSource::AnswerSource(const ServerConfig& config, const Clock& clock, Telemetry& telemetry,
                           Suggester& suggester)
    : clock_(clock),
      telemetry_(telemetry),
      suggester_(suggester),
      cache_(config.cache.entries, duration_of(config.cache.seconds), clock,
             cache_bytes(config.cache) - rendered_bytes(config.cache)),
      shared_(shared_answers(config, clock)) {}

Result<SharedAnswer> AnswerSource::window(const SearchPlan& plan, int windows,
                                          const PartialAnswer& on_partial) {
  bool was_cached = false;
  const TimePoint began = clock_.now();
  TRY(auto answer,
      cache_.get(plan.cache_key(windows), [&] { return uncached(plan, windows, on_partial); }, was_cached,
                 plan.prepared.end, {plan.prepared.request.results, plan.prepared.request.page <= 1}));
  telemetry_.metrics.cache(was_cached ? "hit" : "miss");
  telemetry_.metrics.search(answer->domain, answer->fusion.method);
  trace(plan, *answer, was_cached, began);
  if (plan.prepared.request.forwarded.empty() && may_be_stored(plan.exchange.request))
    suggester_.learn(answer->domain, public_suggestions(plan.prepared.snapshot, *answer),
                     plan.exchange.sender());
  if (was_cached) return answer;
  telemetry_.metrics.stage("fetch", answer->fetch_seconds);
  telemetry_.metrics.stage("fuse", answer->fuse_seconds);
  note_lists(answer->lists, plan.prepared.snapshot.engines);
  return answer;
}

Result<SearchAnswer> AnswerSource::uncached(const SearchPlan& plan, int windows,
                                            const PartialAnswer& on_partial) {
  if (shared_ == nullptr) return from_engines(plan, windows, on_partial);
  const std::string key = plan.shared_key(windows);
  if (auto answer = shared_->find(key, plan.prepared.domain, plan.prepared.request, windows)) {
    telemetry_.metrics.cache("shared");
    return std::move(*answer);
  }
  auto made = from_engines(plan, windows, on_partial);
  if (made) shared_->keep(key, *made);
  return made;
}

Result<SearchAnswer> AnswerSource::from_engines(const SearchPlan& plan, int windows,
                                                const PartialAnswer& on_partial) {
  if (windows <= 1) {
    SearchAnswer answer = search_prepared(plan.prepared, clock_, on_partial);
    judge_lists(plan, answer);
    // once per search: further windows ask the same lists
    const LoadedEngines& engines = plan.prepared.snapshot.engines;
    for (const NotAsked& each : answer.not_asked)
      telemetry_.metrics.saved(each.engine, name_of(each.why), price_of(engines, each.engine));
    return answer;
  }
  bool was_cached = false;
  TRY(const auto so_far, cache_.get(
                             plan.cache_key(windows - 1), [&] { return uncached(plan, windows - 1, {}); },
                             was_cached, plan.prepared.end));
  return search_further(plan.prepared, clock_, *so_far);
}

void AnswerSource::judge_lists(const SearchPlan& plan, SearchAnswer& answer) {
  const SearchRequest& request = plan.prepared.request;
  // Searches in another language or time range have answers of another shape.
  if (plan.prepared.snapshot.config.recordings.mode == RecordingsConfig::Mode::replay) return;
  const bool is_plain = request.time_range.empty() && request.language.empty() && request.forwarded.empty();
  const Duration patience = plan.prepared.end - plan.began;
  if (is_plain && compared_.take(plan.exchange.sender(), clock_.now())) {
    const auto changes = telemetry_.health.note(answer.lists, std::chrono::duration<double>(patience).count(),
                                                machine_milliseconds() / 1000, plan.exchange.sender());
    report_changes(changes, [this](std::string_view event, JsonObject fields) {
      telemetry_.log.write(Log::Level::warning, event, std::move(fields));
    });
  }
  telemetry_.health.mark_broken(answer.lists);
}

bool ComparedSearches::take(std::string_view sender, TimePoint now) {
  const std::lock_guard lock(mutex_);
  Sender& own = senders_[KeyedHash()(sender) % senders_.size()];
  const double seconds = std::chrono::duration<double>(now - own.at).count();
  own.left = std::min(kAtOnce, own.left + kPerSecond * seconds);
  own.at = now;
  if (own.left < 1) return false;
  own.left -= 1;
  return true;
}

void AnswerSource::trace(const SearchPlan& plan, const SearchAnswer& answer, bool was_cached,
                         TimePoint began) const {
  const std::string& traceparent = plan.exchange.traceparent;
  if (telemetry_.traces == nullptr || traceparent.empty() || !trace_context(traceparent).is_sampled) return;
  telemetry_.traces->add(
      search_spans(traceparent, answer, was_cached, {plan.began, plan.expanded, began, clock_.now()}));
}

void AnswerSource::note_lists(const std::vector<fetchers::FetchedList>& lists, const LoadedEngines& engines) {
  for (const fetchers::FetchedList& list : lists) {
    const std::string& engine = list.query.engine;
    if (engine.empty()) continue;  // made here, of other engines' results
    const std::string_view outcome = list.has_failed() ? fetchers::name_of(list.failure) : "ok";
    telemetry_.metrics.engine(engine, outcome, std::chrono::duration<double>(list.elapsed).count());
    telemetry_.metrics.requested(engine, list.requests, price_of(engines, engine));
    if (list.hedge != fetchers::Hedge::none)
      telemetry_.metrics.hedged(engine, list.hedge == fetchers::Hedge::won);
    telemetry_.metrics.breaker(engine, list.failure == fetchers::Failure::breaker_open);
    // the message may contain the query, so it is not logged
    if (list.has_failed() && engine_failures_.is_due(engine + ' ' + std::string(outcome), clock_.now()))
      telemetry_.log.write(Log::Level::warning, "engine failed", {{"engine", engine}, {"failure", outcome}});
  }
}

}  // namespace metafuse::service
