#include "service/search/answer_cache.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/contract.h"
#include "core/digest.h"
#include "core/json_members.h"
#include "service/search/alike_results.h"
#include "service/search/list_fusion.h"
#include "service/search/list_selection.h"
#include "service/search/typed_conditions.h"

namespace metafuse::service {
namespace {

/// Bytes of a string or a small struct in a vector, beyond its characters.
constexpr std::size_t kObjectBytes = 64;

/// Bytes of the allocations for a hit's texts, beyond their characters.
constexpr std::size_t kHitAllocationBytes = 6 * 24;

std::size_t memory_of(const Details& details) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : details)
    bytes += sizeof(name) + sizeof(value) + name.size() + value.size();
  return bytes;
}

std::size_t memory_of(const Hit& hit) {
  return sizeof(Hit) + kHitAllocationBytes + hit.url.size() + hit.title.size() + hit.snippet.size() +
         hit.published.size() + hit.thumbnail.size() + hit.key.size() + hit.language.size() +
         memory_of(hit.details);
}

std::size_t memory_of(const FusedResult& result) {
  std::size_t bytes =
      sizeof(FusedResult) + memory_of(result.hit) + result.placements.size() * sizeof(Placement);
  for (const auto* folded : {&result.alike, &result.same_site})
    for (const FoldedHit& hit : *folded) bytes += sizeof(FoldedHit) - sizeof(Hit) + memory_of(hit);
  return bytes;
}

std::size_t memory_of(const std::vector<templates::Condition>& conditions) {
  std::size_t bytes = kObjectBytes;
  for (const templates::Condition& condition : conditions)
    bytes += sizeof(condition) + condition.value.size();
  return bytes;
}

/// Whether already the first window was cut short: a list that later windows cut short has windows.
bool is_first_cut_short(const SearchAnswer& answer) {
  if (!answer.is_cut_short() || answer.windows <= 1) return answer.is_cut_short();
  return std::ranges::any_of(answer.not_asked,
                             [](const NotAsked& list) { return list.why == WhyNotAsked::deadline; }) ||
         std::ranges::any_of(answer.lists, [](const fetchers::FetchedList& list) {
           return (list.has_failed() || list.lacks_pages) && list.in_window.empty();
         });
}

}  // namespace

std::size_t memory_of(const SearchAnswer& answer) {
  std::size_t bytes = sizeof(SearchAnswer) + answer.typed.text.size() + memory_of(answer.typed.conditions);
  for (const templates::TypedTerm& term : answer.typed.terms) bytes += sizeof(term) + term.text.size();
  for (const auto& conditions : answer.other_conditions) bytes += memory_of(conditions);
  for (const fetchers::FetchedList& list : answer.lists) {
    bytes += sizeof(fetchers::FetchedList) + list.query.text.size() + list.message.size();
    // every hit also has a key in the fusion state, about as long as its URL
    for (const Hit& hit : list.list.hits) bytes += memory_of(hit) + hit.url.size() + kObjectBytes;
    for (const std::string& text : list.list.suggestions) bytes += kObjectBytes + text.size();
  }
  for (const NotAsked& each : answer.not_asked)
    bytes += sizeof(NotAsked) + each.feature.size() + each.engine.size();
  for (const FusedResult& result : answer.results)
    bytes += memory_of(result) + answer.lists.size() * sizeof(std::uint32_t);
  return bytes;
}

AnswerCache::AnswerCache(std::size_t entries, Duration lifetime, const Clock& clock, std::size_t max_bytes)
    : lifetime_(lifetime), clock_(clock), cache_(entries, max_bytes) {}

SharedAnswer AnswerCache::find(const std::string& key, const Reach& reach) {
  const TimePoint now = clock_.now();
  const auto* kept = cache_.peek(key, now);
  const bool is_next_page = !reach.is_first_page && (reach.results == 0 || kept == nullptr ||
                                                     kept->value.reach.results != reach.results);
  if (kept != nullptr && !is_next_page && kept->value.answer->is_cut_short()) return nullptr;
  const auto* entry = cache_.find(key, now);
  return entry == nullptr ? nullptr : entry->value.answer;
}

void AnswerCache::keep(const std::string& key, SharedAnswer answer, const Reach& reach) {
  if (lifetime_ <= Duration::zero() || is_first_cut_short(*answer)) return;
  const std::size_t bytes = memory_of(*answer) + 2 * key.size();
  cache_.keep(key, {std::move(answer), reach}, clock_.now() + lifetime_, bytes);
}

void AnswerCache::land(const std::string& key, const std::shared_ptr<Flight>& flight,
                       Result<SharedAnswer> outcome) {
  const std::lock_guard lock(mutex_);
  flight->outcome = std::move(outcome);
  if (flight->outcome.has_value() && !flight->is_outdated) keep(key, *flight->outcome, flight->reach);
  flight->is_done = true;
  const auto [begin, end] = flights_.equal_range(key);
  flights_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == flight; }));
  flight->done.notify_all();
}

std::shared_ptr<AnswerCache::Flight> AnswerCache::find_flight(const std::string& key, TimePoint end) const {
  const auto [first, last] = flights_.equal_range(key);
  const auto at = std::find_if(
      first, last, [&](const auto& entry) { return entry.second->end <= end && !entry.second->is_outdated; });
  return at == last ? nullptr : at->second;
}

Result<SharedAnswer> AnswerCache::get(const std::string& key,
                                      const std::function<Result<SearchAnswer>()>& make, bool& was_cached,
                                      TimePoint end, Reach reach) {
  const auto flight = std::make_shared<Flight>();
  flight->end = end;
  flight->reach = reach;
  {
    std::unique_lock lock(mutex_);
    was_cached = true;
    if (SharedAnswer answer = find(key, reach)) return answer;
    while (const auto other = find_flight(key, end)) {
      ++waiting_;
      const auto is_done = [&] { return other->is_done; };
      if (end == TimePoint::max())
        other->done.wait(lock, is_done);
      else
        other->done.wait_for(lock, end - clock_.now() + kGrace, is_done);
      --waiting_;
      if (is_done() && other->end < end - kGrace && other->outcome && (*other->outcome)->is_cut_short() &&
          clock_.now() < end)
        continue;  // the other search had less time, so this one asks again for what it lacks
      if (is_done()) return other->outcome;
      return fail(Code::try_again,
                  "the same search is already running and did not finish in time; try again");
    }
    was_cached = false;
    flights_.emplace(key, flight);
  }
  try {
    auto made = make();
    Result<SharedAnswer> outcome =
        made ? Result<SharedAnswer>(std::make_shared<const SearchAnswer>(std::move(*made))) : made.error();
    land(key, flight, outcome);
    return outcome;
  } catch (...) {
    land(key, flight, fail(Code::internal, "the search that this one waited for was aborted"));
    throw;
  }
}

std::optional<TimePoint> AnswerCache::popular_until(const std::string& key,
                                                    const SearchAnswer& answer) const {
  const std::lock_guard lock(mutex_);
  const auto* entry = cache_.peek(key, clock_.now());
  if (entry == nullptr || entry->value.answer.get() != &answer || entry->uses == 0) return std::nullopt;
  return entry->until;
}

void AnswerCache::clear() {
  const std::lock_guard lock(mutex_);
  cache_.clear();
  for (const auto& [key, flight] : flights_) flight->is_outdated = true;
}

std::size_t AnswerCache::size() const {
  const std::lock_guard lock(mutex_);
  return cache_.size();
}

std::size_t AnswerCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return cache_.bytes();
}

std::size_t AnswerCache::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

namespace {

constexpr std::int64_t kVersion = 6;
constexpr std::size_t kHitFields = 11;

JsonArray hit_json(const Hit& hit) {
  JsonObject details;
  for (const auto& [name, value] : hit.details) details[name] = value;
  return {hit.url,         hit.title,         hit.snippet,       hit.published,
          hit.thumbnail,   hit.key,           hit.language,      hit.score ? Json(*hit.score) : Json(),
          hit.fingerprint, name_of(hit.kind), std::move(details)};
}

JsonObject list_json(const fetchers::FetchedList& list) {
  JsonArray hits;
  hits.reserve(list.list.hits.size());
  for (const Hit& hit : list.list.hits) hits.emplace_back(hit_json(hit));
  JsonArray suggestions;
  for (const std::string& text : list.list.suggestions) suggestions.emplace_back(text);
  JsonObject out{{"template", list.query.template_id},
                 {"engine", list.query.engine},
                 {"text", list.query.text},
                 {"suggestions", std::move(suggestions)},
                 {"hits", std::move(hits)}};
  if (!list.in_window.empty()) out["windows"] = JsonArray(list.in_window.begin(), list.in_window.end());
  return out;
}

Error damaged() {
  return fail(Code::bad_data, "the cached answer was not written by this program");
}

Result<Hit> read_hit(const Json& json) {
  if (!json.is_array() || json.get_array().size() != kHitFields) return damaged();
  const JsonArray& fields = json.get_array();
  Hit hit;
  std::size_t i = 0;
  for (std::string* text :
       {&hit.url, &hit.title, &hit.snippet, &hit.published, &hit.thumbnail, &hit.key, &hit.language}) {
    if (!fields[i].is_string()) return damaged();
    *text = std::string(fields[i++].get_string());
  }
  if (hit.key.empty()) return damaged();
  if (fields[i].is_number())
    hit.score = fields[i].to_number<double>();
  else if (!fields[i].is_null())
    return damaged();
  const Json& fingerprint = fields[i + 1];
  if (fingerprint.is_uint64())
    hit.fingerprint = fingerprint.get_uint64();
  else if (fingerprint.is_int64())
    hit.fingerprint = static_cast<std::uint64_t>(fingerprint.get_int64());
  else
    return damaged();
  const auto kind = fields[9].is_string() ? result_kind_named(fields[9].get_string()) : std::nullopt;
  if (!kind || !fields[10].is_object()) return damaged();
  hit.kind = *kind;
  for (const auto& [name, value] : fields[10].get_object()) {
    if (find_detail(name) == nullptr || !value.is_string()) return damaged();
    hit.details.emplace_back(name, value.get_string());
  }
  return hit;
}

/// Reads how many hits came with each window. Lists of one window do not say it.
///
/// in: depth - of a window
Result<void> read_windows(const JsonMembers& members, int depth, fetchers::FetchedList& list) {
  if (members.find("windows") == nullptr) return {};
  const JsonArray* windows = members.array("windows");
  if (windows == nullptr || windows->size() > static_cast<std::size_t>(kMostWindows)) return damaged();
  std::size_t hits = 0;
  for (const Json& entry : *windows) {
    const auto* count = entry.if_int64();
    if (count == nullptr || *count < 0 || *count > depth) return damaged();
    list.in_window.push_back(static_cast<std::size_t>(*count));
    hits += list.in_window.back();
  }
  return hits == list.list.hits.size() ? Result<void>() : damaged();
}

Result<fetchers::FetchedList> read_list(const Json& json, int depth) {
  const JsonMembers members(json);
  fetchers::FetchedList list;
  for (auto [name, text] : {std::pair{"template", &list.query.template_id},
                            std::pair{"engine", &list.query.engine}, std::pair{"text", &list.query.text}}) {
    const auto* value = members.text(name);
    if (value == nullptr) return damaged();
    *text = std::string(*value);
  }
  const JsonArray* hits = members.array("hits");
  const JsonArray* suggestions = members.array("suggestions");
  if (hits == nullptr || suggestions == nullptr) return damaged();
  for (const Json& entry : *hits) {
    TRY(auto hit, read_hit(entry));
    list.list.hits.push_back(std::move(hit));
  }
  for (const Json& entry : *suggestions) {
    if (!entry.is_string()) return damaged();
    list.list.suggestions.emplace_back(entry.get_string());
  }
  TRY_VOID(read_windows(members, depth, list));
  // what a shared cache holds need not be what this server wrote
  const std::size_t written = list.list.hits.size();
  keep_best_of_each(list.list, 0, TrackingParameters());  // their URLs are clean already
  if (!list.in_window.empty() && list.list.hits.size() != written) return damaged();
  return list;
}

Result<NotAsked> read_not_asked(const Json& json) {
  if (!json.is_array() || json.get_array().size() != 3) return damaged();
  const JsonArray& fields = json.get_array();
  if (!std::ranges::all_of(fields, [](const Json& field) { return field.is_string(); })) return damaged();
  for (const WhyNotAsked why : kWhysNotAsked)
    if (fields[2].get_string() == name_of(why))
      return NotAsked{std::string(fields[0].get_string()), std::string(fields[1].get_string()), why};
  return damaged();
}

}  // namespace

std::string answer_text(const SearchAnswer& answer) {
  require(!answer.is_cut_short(), "only whole answers are shared");
  JsonArray lists;
  for (const fetchers::FetchedList& list : answer.lists) lists.emplace_back(list_json(list));
  JsonArray not_asked;
  for (const NotAsked& each : answer.not_asked)
    not_asked.emplace_back(JsonArray{each.feature, each.engine, name_of(each.why)});
  return to_text(JsonObject{{"version", kVersion},
                            {"query", answer.query},
                            {"lists", std::move(lists)},
                            {"not_asked", std::move(not_asked)}});
}

Result<SearchAnswer> read_answer_text(std::string_view text, const LoadedDomain& domain,
                                      const SearchRequest& request, int windows) {
  TRY(const auto json, parse_json(text, "cached answer"));
  const JsonMembers members(json);
  const auto* version = members.integer("version");
  const auto* query = members.text("query");
  const JsonArray* lists = members.array("lists");
  const JsonArray* not_asked = members.array("not_asked");
  if (version == nullptr || *version != kVersion || query == nullptr || lists == nullptr ||
      not_asked == nullptr)
    return damaged();
  SearchAnswer answer;
  answer.domain = domain.domain.name;
  answer.query = std::string(*query);
  answer.slots = request.slots;
  set_typed(request, answer);
  answer.windows = windows;
  std::vector<fetchers::FetchedList> read;
  for (const Json& entry : *lists) {
    TRY(auto list, read_list(entry, domain.domain.depth));
    read.push_back(std::move(list));
  }
  for (const Json& entry : *not_asked) {
    TRY(auto each, read_not_asked(entry));
    answer.not_asked.push_back(std::move(each));
  }
  fuse_lists(domain, std::move(read), answer);
  fold_results(domain, answer);
  return answer;
}

namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;

}  // namespace

void append_part(std::string& key, std::string_view part) {
  key += std::to_string(part.size());
  key += ':';
  key += part;
}

SharedAnswers::SharedAnswers(RedisAddress address, Duration lifetime, const Clock& clock)
    : redis_(std::move(address), clock), lifetime_(lifetime) {}

std::optional<SearchAnswer> SharedAnswers::find(const std::string& key, const LoadedDomain& domain,
                                                const SearchRequest& request, int windows) {
  const auto text = redis_.get(key);
  if (!text) return std::nullopt;
  auto answer = read_answer_text(*text, domain, request, windows);
  if (answer.has_error()) return std::nullopt;
  return std::move(*answer);
}

void SharedAnswers::keep(const std::string& key, const SearchAnswer& answer) {
  if (answer.is_cut_short() || lifetime_ <= Duration::zero()) return;
  const std::string text = answer_text(answer);
  if (text.size() <= kMostBytes) redis_.set(key, text, lifetime_);
}

std::string shared_key(const LoadedDomain& domain, const SearchRequest& request) {
  std::string key;
  append_part(key, domain.domain.name);
  append_part(key, domain.etag);
  append_part(key, domain.engines_digest);
  for (const auto& index : domain.indexes) append_part(key, index->version());
  append_part(key, request.text);
  append_part(key, std::to_string(request.slots.slots.size()));
  for (const auto& [name, value] : request.slots.slots) {
    append_part(key, name);
    append_part(key, value);
  }
  append_part(key, std::to_string(request.variants.size()));
  for (const QueryVariant& variant : request.variants) {
    append_part(key, variant.is_raw ? "raw" : "clean");
    append_part(key, variant.template_id);
    append_part(key, variant.text);
  }
  for (const auto* texts : {&request.alternatives, &request.synonyms, &request.engines, &request.lists}) {
    append_part(key, std::to_string(texts->size()));
    for (const std::string& text : *texts) append_part(key, text);
  }
  if (request.asks_all) append_part(key, "all lists");
  // engines that the request itself does not name may be those of its key
  if (is_selective(domain, request)) append_part(key, "selected");
  append_part(key, std::to_string(request.depth) + ' ' + std::to_string(request.safe_search));
  append_part(key, request.language);
  append_part(key, request.time_range);
  // Servers that ask each other must not wait for the search that asked them.
  if (request.hops > 0) append_part(key, "hops " + std::to_string(request.hops));
  for (const auto& [name, value] : request.forwarded) {  // these answers belong to this client only
    append_part(key, "forwarded " + name);
    append_part(key, value);
  }
  return "metafuse:4:" + sha256_hex(key);
}

}  // namespace metafuse::service
