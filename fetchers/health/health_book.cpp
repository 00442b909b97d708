#include "fetchers/health/health_book.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

#include <fmt/format.h>

#include "core/digest.h"
#include "core/json.h"
#include "core/keyed_hash.h"
#include "core/text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::string_view kFormat = "metafuse-engine-health";
constexpr std::size_t kFewestKnown = 3;       ///< fewer are completed by common words
constexpr std::size_t kMostKnown = 8;         ///< queries per engine
constexpr std::size_t kMostKnownHits = 10;    ///< results per query
constexpr std::size_t kKnownTextBytes = 300;  ///< of a kept result
constexpr double kMainHost = 0.3;             ///< hosts with a smaller share are not written

/// Words for which most sources have something.
constexpr std::string_view kCommonWords[] = {"water", "history", "music", "linux", "paris", "energy"};

Json rounded(double value) {
  if (std::isnan(value)) return nullptr;
  return std::round(value * 1000) / 1000;
}

Json json_of(const HealthProfile& profile) {
  JsonArray window, odd;
  for (const auto& row : profile.window) {
    JsonArray values;
    for (const double value : row) values.push_back(rounded(value));
    window.push_back(std::move(values));
  }
  for (const double count : profile.odd) odd.push_back(rounded(count));
  JsonObject hosts, languages;
  for (const auto& [host, share] : profile.hosts)
    if (share >= kMainHost) hosts[host] = rounded(share);
  for (const auto& [language, share] : profile.languages) languages[language] = rounded(share);
  return JsonObject{
      {"window", std::move(window)},           {"noted", profile.noted}, {"hosts", std::move(hosts)},
      {"languages", std::move(languages)},     {"odd", std::move(odd)},  {"judged", rounded(profile.judged)},
      {"known", rounded(profile.judged_known)}};
}

Json json_of(const std::vector<KnownAnswer>& known) {
  JsonArray out;
  for (const KnownAnswer& answer : known) {
    JsonArray hits;
    for (const Hit& hit : answer.hits)
      hits.push_back(JsonObject{{"url", hit.url}, {"title", hit.title}, {"text", hit.snippet}});
    out.push_back(JsonObject{{"query", answer.query}, {"at", answer.at}, {"results", std::move(hits)}});
  }
  return out;
}

}  // namespace

/// Reads members of one engine's object; what is missing or of another type is a mistake.
class HealthReader {
 public:
  HealthReader(const JsonObject& object, std::string where) : object_(object), where_(std::move(where)) {}

  Result<double> number(std::string_view key) const {
    const Json* value = object_.if_contains(key);
    if (value == nullptr || !value->is_number()) return wrong(key);
    const double found = value->to_number<double>();
    if (!std::isfinite(found) || std::fabs(found) > 1e15) return wrong(key);
    return found;
  }
  Result<std::string> text(std::string_view key) const {
    const Json* value = object_.if_contains(key);
    if (value == nullptr || !value->is_string()) return wrong(key);
    return std::string(value->as_string());
  }
  Result<const JsonObject*> object(std::string_view key) const {
    const Json* value = object_.if_contains(key);
    if (value == nullptr || !value->is_object()) return wrong(key);
    return &value->as_object();
  }
  Result<const JsonArray*> array(std::string_view key, std::size_t most) const {
    const Json* value = object_.if_contains(key);
    if (value == nullptr || !value->is_array() || value->as_array().size() > most) return wrong(key);
    return &value->as_array();
  }
  HealthReader inner(const JsonObject& object) const { return {object, where_}; }
  Error wrong(std::string_view key) const {
    return Error{Code::bad_data, fmt::format("{}: \"{}\" is missing or not as metafuse writes it; remove the "
                                             "file, and the profiles begin anew",
                                             where_, key)};
  }

 private:
  const JsonObject& object_;
  std::string where_;
};

namespace {

Result<void> read_numbers(const HealthReader& reader, std::string_view key, std::span<double> out) {
  TRY(const JsonArray* array, reader.array(key, out.size()));
  if (array->size() != out.size()) return reader.wrong(key);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!(*array)[i].is_number()) return reader.wrong(key);
    out[i] = std::clamp((*array)[i].to_number<double>(), 0.0, 1e9);
  }
  return {};
}

Result<void> read_shares(const HealthReader& reader, std::string_view key,
                         std::map<std::string, double, std::less<>>& out) {
  TRY(const JsonObject* object, reader.object(key));
  for (const auto& member : *object) {
    if (!member.value().is_number() || out.size() >= 32) return reader.wrong(key);
    out[std::string(member.key())] = std::clamp(member.value().to_number<double>(), 0.0, 1.0);
  }
  return {};
}

Result<HealthProfile> read_profile(const HealthReader& reader) {
  HealthProfile profile;
  TRY(const JsonArray* window, reader.array("window", HealthProfile::kWindow));
  for (const Json& row : *window) {
    const JsonArray* values = row.if_array();
    if (values == nullptr || values->size() != kFigures) return reader.wrong("window");
    std::array<double, kFigures> figures;
    for (std::size_t k = 0; k < kFigures; ++k)
      figures[k] = (*values)[k].is_number() ? (*values)[k].to_number<double>()
                                            : std::numeric_limits<double>::quiet_NaN();
    profile.window.push_back(figures);
  }
  TRY(const double noted, reader.number("noted"));
  profile.noted = static_cast<std::uint64_t>(std::max(0.0, noted));
  TRY_VOID(read_shares(reader, "hosts", profile.hosts));
  TRY_VOID(read_shares(reader, "languages", profile.languages));
  TRY_VOID(read_numbers(reader, "odd", profile.odd));
  TRY(profile.judged, reader.number("judged"));
  TRY(profile.judged_known, reader.number("known"));
  return profile;
}

Result<std::vector<KnownAnswer>> read_known(const HealthReader& reader) {
  std::vector<KnownAnswer> out;
  TRY(const JsonArray* known, reader.array("known", kMostKnown));
  for (const Json& one : *known) {
    if (!one.is_object()) return reader.wrong("known");
    const HealthReader inner = reader.inner(one.as_object());
    KnownAnswer answer;
    TRY(answer.query, inner.text("query"));
    TRY(const double at, inner.number("at"));
    answer.at = static_cast<std::int64_t>(at);
    TRY(const JsonArray* hits, inner.array("results", kMostKnownHits));
    for (const Json& hit : *hits) {
      if (!hit.is_object()) return reader.wrong("results");
      const HealthReader fields = inner.inner(hit.as_object());
      Hit kept;
      TRY(kept.url, fields.text("url"));
      TRY(kept.title, fields.text("title"));
      TRY(kept.snippet, fields.text("text"));
      answer.hits.push_back(std::move(kept));
    }
    out.push_back(std::move(answer));
  }
  return out;
}

Result<HealthState> read_state(const HealthReader& reader) {
  TRY(const auto name, reader.text("state"));
  const auto state = health_state_of(name);
  if (!state) return reader.wrong("state");
  return *state;
}

std::string day_of(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (gmtime_r(&time, &parts) == nullptr) return "?";
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

void keep_known(std::vector<KnownAnswer>& known, const FetchedList& list, std::int64_t now) {
  KnownAnswer answer{list.query.text, {}, now};
  for (const Hit& hit : list.list.hits) {
    if (answer.hits.size() == kMostKnownHits) break;
    Hit kept;
    kept.url = hit.url;
    kept.title = truncate_utf8(hit.title, kKnownTextBytes);
    kept.snippet = truncate_utf8(hit.snippet, kKnownTextBytes);
    answer.hits.push_back(std::move(kept));
  }
  std::erase_if(known, [&](const KnownAnswer& other) { return other.query == answer.query; });
  if (known.size() == kMostKnown) known.erase(known.begin());
  known.push_back(std::move(answer));
}

EngineHealth view_of(const std::string& name, const HealthRecord& record) {
  return {name,
          record.state,
          record.sign,
          record.is_suspected(),
          record.profile.is_learned(),
          record.since,
          record.last,
          static_cast<std::uint64_t>(record.profile.judged),
          record.profile.usual(Figure::results)};
}

}  // namespace

std::string EngineHealth::text() const {
  if (state == HealthState::works) return {};
  return fmt::format("{} since {}: {}", name_of(state), day_of(since), words_of(sign));
}

WatchedEngine watched(const Engine& engine) {
  return {engine.name, engine.digest};
}

void HealthBook::watch(const std::vector<WatchedEngine>& engines) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Entry, std::less<>> kept;
  for (const WatchedEngine& engine : engines) {
    const auto at = entries_.find(engine.name);
    Entry entry{engine.digest, {}, {}};
    if (at != entries_.end() && at->second.digest == engine.digest) entry = std::move(at->second);
    kept.emplace(engine.name, std::move(entry));
  }
  entries_ = std::move(kept);
}

std::vector<HealthChange> HealthBook::note(std::span<const FetchedList> lists, double patience_seconds,
                                           std::int64_t now, std::string_view sender) {
  // Everything that takes time is done before the lock, which /metrics and /readyz wait for.
  const SearchFinds finds(lists);
  std::vector<AnswerShape> shapes;
  for (const FetchedList& list : lists) shapes.push_back(shape_of(list, list.query.text, finds));
  const std::uint64_t who = sender.empty() ? 0 : KeyedHash()(sender);
  std::vector<HealthChange> out;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const FetchedList& list = lists[i];
    if (list.is_left_early) continue;  // whether it would have answered is not known
    const auto at = entries_.find(list.query.engine);
    if (at == entries_.end()) continue;
    Entry& entry = at->second;
    const bool is_known = std::any_of(entry.known.begin(), entry.known.end(), [&](const KnownAnswer& known) {
      return known.query == list.query.text;
    });
    const HealthState before = entry.record.state;
    ++changes_;
    if (note_answer(entry.record, shapes[i],
                    {list.query.text, finds.besides(list.query.engine), is_known, patience_seconds, who},
                    now))
      out.push_back({at->first, before, entry.record.state, entry.record.sign});
  }
  return out;
}

std::optional<Oddities> HealthBook::note_own(const FetchedList& list, double patience_seconds,
                                             std::int64_t now, std::vector<HealthChange>* changes) {
  const AnswerShape shape = shape_of(list, list.query.text, {});
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(list.query.engine);
  if (at == entries_.end()) return std::nullopt;
  Entry& entry = at->second;
  const bool is_known = std::any_of(entry.known.begin(), entry.known.end(),
                                    [&](const KnownAnswer& known) { return known.query == list.query.text; });
  const AnswerSetting setting{list.query.text, Others::nobody, is_known, patience_seconds};
  const auto oddities = oddities_of(shape, setting, entry.record);
  const HealthState before = entry.record.state;
  ++changes_;
  if (note_answer(entry.record, shape, setting, now) && changes != nullptr)
    changes->push_back({at->first, before, entry.record.state, entry.record.sign});
  const bool is_good = oddities && !oddities->has_any() && !entry.record.is_broken();
  if (is_good && !list.list.hits.empty()) keep_known(entry.known, list, now);
  return oddities;
}

void HealthBook::mark_broken(std::vector<FetchedList>& lists) const {
  const std::lock_guard lock(mutex_);
  for (FetchedList& list : lists) {
    if (list.has_failed() || !list.list.hits.empty()) continue;
    const auto at = entries_.find(list.query.engine);
    if (at == entries_.end() || !at->second.record.is_broken()) continue;
    list.failure = Failure::broken;
    list.message = "0 results, and the engine seems broken: " + view_of(at->first, at->second.record).text();
  }
}

std::vector<EngineHealth> HealthBook::all() const {
  std::vector<EngineHealth> out;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : entries_) out.push_back(view_of(name, entry.record));
  return out;
}

std::optional<EngineHealth> HealthBook::find(std::string_view engine) const {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(engine);
  if (at == entries_.end()) return std::nullopt;
  return view_of(at->first, at->second.record);
}

std::vector<KnownAnswer> HealthBook::known(std::string_view engine) const {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(engine);
  return at == entries_.end() ? std::vector<KnownAnswer>() : at->second.known;
}

std::uint64_t HealthBook::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

std::string HealthBook::text() const {
  JsonArray engines;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      const HealthRecord& record = entry.record;
      JsonArray evidence;
      for (const double sum : record.evidence) evidence.push_back(rounded(sum));
      engines.push_back(JsonObject{{"engine", name},
                                   {"digest", entry.digest},
                                   {"state", name_of(record.state)},
                                   {"sign", static_cast<int>(record.sign)},
                                   {"since", record.since},
                                   {"last", record.last},
                                   {"evidence", std::move(evidence)},
                                   {"profile", json_of(record.profile)},
                                   {"known", json_of(entry.known)}});
    }
  }
  return to_text(JsonObject{{"format", kFormat}, {"version", 1}, {"engines", std::move(engines)}}) + "\n";
}

Result<void> HealthBook::read(std::string_view text, const std::string& name) {
  TRY(const auto document, parse_json(text, name));
  if (!document.is_object()) return HealthReader({}, name).wrong("format");
  const HealthReader top(document.as_object(), name);
  TRY(const auto format, top.text("format"));
  TRY(const auto version, top.number("version"));
  if (format != kFormat || version != 1) return top.wrong("format");
  TRY(const JsonArray* engines, top.array("engines", 10'000));
  std::map<std::string, Entry, std::less<>> read;
  for (const Json& one : *engines) {
    if (!one.is_object()) return top.wrong("engines");
    const HealthReader reader = top.inner(one.as_object());
    Entry entry;
    TRY(const auto engine, reader.text("engine"));
    TRY(entry.digest, reader.text("digest"));
    TRY(entry.record.state, read_state(reader));
    TRY(const double sign, reader.number("sign"));
    if (sign < 0 || sign >= static_cast<double>(kOddities)) return reader.wrong("sign");
    entry.record.sign = static_cast<Oddity>(static_cast<std::uint8_t>(sign));
    TRY(const double since, reader.number("since"));
    TRY(const double last, reader.number("last"));
    entry.record.since = static_cast<std::int64_t>(since);
    entry.record.last = static_cast<std::int64_t>(last);
    TRY_VOID(read_numbers(reader, "evidence", entry.record.evidence));
    TRY(const JsonObject* profile, reader.object("profile"));
    TRY(entry.record.profile, read_profile(reader.inner(*profile)));
    TRY(entry.known, read_known(reader));
    read.emplace(engine, std::move(entry));
  }
  const std::lock_guard lock(mutex_);
  entries_ = std::move(read);
  return {};
}

std::vector<std::string> queries_to_try(const Engine& engine, const std::vector<KnownAnswer>& known,
                                        std::size_t turn, std::size_t count) {
  std::vector<std::string> all = engine.known_queries;
  if (all.empty()) {
    for (const KnownAnswer& answer : known) all.push_back(answer.query);
    for (const std::string_view word : kCommonWords)
      if (all.size() < std::max(count, kFewestKnown) && std::find(all.begin(), all.end(), word) == all.end())
        all.emplace_back(word);
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(count, all.size()); ++i) out.push_back(all[(turn + i) % all.size()]);
  return out;
}

bool may_be_tried(const Engine& engine) {
  const auto* http = std::get_if<HttpAccess>(&engine.access);
  if (http == nullptr || engine.is_disabled || http->rerank != RerankApi::none) return false;
  if (!http->auth.forwarded.empty() || http->needs_query_field) return false;
  if (!http->query_pattern.empty() && engine.known_queries.empty()) return false;
  const bool has_key = http->auth.kind != Authorization::Kind::none || !http->username.empty() || [&] {
    const auto is_secret = [](const std::string& text) { return text.find("${") != std::string::npos; };
    if (is_secret(http->url) || is_secret(http->body)) return true;
    const auto& headers = http->headers;
    return std::any_of(headers.begin(), headers.end(),
                       [&](const auto& header) { return is_secret(header.second); });
  }();
  return !has_key || !engine.known_queries.empty();
}

}  // namespace metafuse::fetchers
