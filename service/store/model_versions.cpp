#include "service/store/model_versions.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/deadline.h"
#include "core/digest.h"
#include "core/json_members.h"
#include "core/text_file.h"
#include "fusion/training/registry.h"

namespace metafuse::service {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kVersionDigits = 12;
constexpr std::chrono::seconds kLockPatience{5};
constexpr std::size_t kMaxVersionBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxVersionStateBytes = std::size_t{1} << 20;

bool is_version(std::string_view text) {
  return text.size() == kVersionDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string version_of(std::string_view text) {
  return sha256_hex(text).substr(0, kVersionDigits);
}

constexpr std::size_t kMostPlaces = 200;  ///< more than judged queries are ever cross-validated

JsonArray places_json(const std::vector<ChangedPlace>& places) {
  JsonArray out;
  for (const ChangedPlace& place : places)
    if (out.size() < kMostPlaces) out.push_back(JsonArray{place.query, place.before, place.after});
  return out;
}

JsonObject gain_json(const JudgedGain& gain) {
  return {{"version", gain.version},
          {"queries", gain.queries},
          {"before", gain.before},
          {"after", gain.after},
          {"error", gain.error},
          {"better", places_json(gain.better)},
          {"worse", places_json(gain.worse)}};
}

std::vector<ChangedPlace> read_places(const JsonArray* array) {
  std::vector<ChangedPlace> out;
  for (const Json& item : array == nullptr ? JsonArray() : *array) {
    const JsonArray* place = item.if_array();
    if (place == nullptr || place->size() != 3 || !place->at(0).is_string() || !place->at(1).is_int64() ||
        !place->at(2).is_int64())
      continue;
    out.push_back({std::string(place->at(0).get_string()), static_cast<int>(place->at(1).get_int64()),
                   static_cast<int>(place->at(2).get_int64())});
  }
  return out;
}

std::optional<JudgedGain> read_gain(const JsonObject* object) {
  if (object == nullptr) return std::nullopt;
  const JsonMembers members(*object);
  JudgedGain gain;
  if (const auto* version = members.text("version")) gain.version = std::string(*version);
  gain.queries = static_cast<std::size_t>(std::max(0.0, members.number_or("queries")));
  gain.before = members.number_or("before");
  gain.after = members.number_or("after");
  gain.error = members.number_or("error");
  gain.better = read_places(members.array("better"));
  gain.worse = read_places(members.array("worse"));
  return gain;
}

}  // namespace

JsonObject to_json(const ModelVersion& version) {
  return {{"version", version.version},
          {"learner", version.learner},
          {"origin", version.origin},
          {"at", version.at}};
}

namespace {

std::string state_text(const ModelState& state) {
  JsonArray versions;
  for (const ModelVersion& version : state.versions) versions.emplace_back(to_json(version));
  JsonObject out{{"versions", std::move(versions)},
                 {"challenger", state.challenger},
                 {"history", JsonArray(state.history.begin(), state.history.end())},
                 {"is_promotion_paused", state.is_promotion_paused},
                 {"tests", state.tests},
                 {"tested", state.tested}};
  if (state.gain) out["gain"] = gain_json(*state.gain);
  if (state.decision.at > 0)
    out["decision"] = JsonObject{{"at", state.decision.at}, {"text", state.decision.text}};
  return to_pretty_text(out);
}

Result<std::string> text_at(const JsonMembers& members, std::string_view name, const std::string& path) {
  if (const auto* value = members.text(name)) return std::string(*value);
  return fail(Code::bad_data,
              path + ": \"" + std::string(name) + "\" is missing; remove the file to start afresh");
}

Result<ModelVersion> read_version(const Json& json, const std::string& path) {
  if (!json.is_object()) return fail(Code::bad_data, path + ": a version that is not an object");
  const JsonMembers members(json);
  ModelVersion version;
  for (auto [name, field] : {std::pair{"version", &version.version}, std::pair{"learner", &version.learner},
                             std::pair{"origin", &version.origin}}) {
    TRY(*field, text_at(members, name, path));
  }
  const auto* at = members.integer("at");
  if (!is_version(version.version) || at == nullptr)
    return fail(Code::bad_data, path + ": a version without its digest or time");
  version.at = *at;
  return version;
}

Result<ModelState> parse_state(std::string_view text, const std::string& path) {
  TRY(const auto json, parse_json(text, path));
  if (!json.is_object()) return fail(Code::bad_data, path + ": not an object");
  const JsonMembers members(json);
  ModelState state;
  TRY(state.challenger, text_at(members, "challenger", path));
  const JsonArray* versions = members.array("versions");
  const JsonArray* history = members.array("history");
  const auto* tests = members.integer("tests");
  if (versions == nullptr || history == nullptr || tests == nullptr)
    return fail(Code::bad_data,
                path + ": versions, history or tests are missing; remove the file to start afresh");
  for (const Json& entry : *versions) {
    TRY(auto version, read_version(entry, path));
    state.versions.push_back(std::move(version));
  }
  for (const Json& entry : *history) {
    if (!entry.is_string()) return fail(Code::bad_data, path + ": the history must be a list of versions");
    state.history.emplace_back(entry.get_string());
  }
  state.tests = static_cast<std::uint32_t>(*tests);
  if (const auto* paused = members.flag("is_promotion_paused")) state.is_promotion_paused = *paused;
  if (const auto* tested = members.text("tested")) state.tested = std::string(*tested);
  state.gain = read_gain(members.object("gain"));
  if (const JsonObject* decision = members.object("decision")) {
    const JsonMembers parts(*decision);
    if (const auto* at = parts.integer("at")) state.decision.at = *at;
    if (const auto* why = parts.text("text")) state.decision.text = std::string(*why);
  }
  return state;
}

bool has_version(const ModelState& state, std::string_view version) {
  return std::any_of(state.versions.begin(), state.versions.end(),
                     [&](const ModelVersion& entry) { return entry.version == version; });
}

Error unknown_domain(std::string_view domain) {
  return fail(Code::usage, fmt::format("no domain \"{}\"", domain));
}

Result<void> make_folder(const fs::path& folder, const std::string& path) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(Code::no_input, path + ": " + error.message() + "; make the folder writable");
  return {};
}

}  // namespace

std::string gain_text(const JudgedGain& gain) {
  if (gain.queries < 2)
    return fmt::format("{} judged {} with a relevant result in the lists; cross-validation needs two",
                       gain.queries, gain.queries == 1 ? "query" : "queries");
  return fmt::format(
      "{} judged queries: mean reciprocal rank {:.2f} before, {:.2f} now (by cross-validation; {} better, {} "
      "worse)",
      gain.queries, gain.before, gain.after, gain.better.size(), gain.worse.size());
}

bool is_domain_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

ModelVersions::ModelVersions(std::string folder) : folder_(std::move(folder)) {}

std::string ModelVersions::champion_path(std::string_view domain) const {
  return (fs::path(folder_) / (std::string(domain) + ".json")).string();
}

std::string ModelVersions::version_path(std::string_view domain, std::string_view version) const {
  return (fs::path(folder_) / "versions" / std::string(domain) / (std::string(version) + ".json")).string();
}

Result<ModelState> ModelVersions::load(std::string_view domain) {
  if (!is_domain_name(domain)) return unknown_domain(domain);
  ModelState state;
  const std::string path = version_path(domain, "state");
  std::error_code error;
  if (fs::exists(path, error)) {
    TRY(const auto text, read_text(path, kMaxVersionStateBytes));
    TRY(state, parse_state(text, path));
  }
  if (fs::exists(champion_path(domain), error)) {
    // The file may have been put there by hand. Then it becomes a version, too.
    TRY(const auto text, read_text(champion_path(domain), kMaxVersionBytes));
    state.champion = version_of(text);
    if (!has_version(state, state.champion)) {
      TRY(const auto model, fusion::parse_model(text, champion_path(domain)));
      fs::create_directories(fs::path(path).parent_path(), error);
      TRY_VOID(write_file(version_path(domain, state.champion), text));
      state.versions.push_back({state.champion, model.learner, "file", 0});
    }
  }
  return state;
}

Result<void> ModelVersions::save(std::string_view domain, Change& change) {
  ModelState& state = change.state;
  if (state.history.size() > kMaxHistory)
    state.history.erase(state.history.begin(),
                        state.history.end() - static_cast<std::ptrdiff_t>(kMaxHistory));
  for (std::size_t i = state.versions.size(); i-- > 0 && state.versions.size() > kMaxVersions;) {
    const std::string version = state.versions[i].version;
    if (version == state.champion || version == state.challenger ||
        std::find(state.history.begin(), state.history.end(), version) != state.history.end())
      continue;
    std::error_code ignored;
    fs::remove(version_path(domain, version), ignored);
    state.versions.erase(state.versions.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const std::string path = version_path(domain, "state");
  TRY_VOID(make_folder(fs::path(path).parent_path(), path));
  TRY_VOID(write_file(path, state_text(state)));
  if (!on_saved) return {};
  auto sent = on_saved(domain);
  if (!sent) put_back(domain, change);
  return sent;
}

Result<ModelVersions::Change> ModelVersions::begin(std::string_view domain) {
  Change change;
  if (pause_others) change.pause = pause_others();
  TRY(change.lock, lock(domain));
  const auto keep = [](const std::string& path, std::optional<std::string>& text) -> Result<void> {
    std::error_code error;
    if (!fs::exists(path, error)) return {};
    TRY(text, read_text(path, kMaxVersionBytes));
    return {};
  };
  if (on_saved) {
    TRY_VOID(keep(champion_path(domain), change.champion_text));
    TRY_VOID(keep(version_path(domain, "state"), change.state_text));
  }
  TRY(change.state, load(domain));
  return change;
}

/// Restores the files before a change, as far as they can be written. The mirror later replaces the others by
/// the store's.
void ModelVersions::put_back(std::string_view domain, const Change& change) const {
  const auto restore = [](const std::string& path, const std::optional<std::string>& text) {
    std::error_code ignored;
    if (text)
      static_cast<void>(write_file(path, *text));
    else
      fs::remove(path, ignored);
  };
  restore(champion_path(domain), change.champion_text);
  restore(version_path(domain, "state"), change.state_text);
  if (!change.added.empty()) restore(change.added, std::nullopt);
}

/// Locks the folder of a domain's versions. Other processes may use the same folder, so every change reads,
/// modifies and writes under this lock.
Result<FileLock> ModelVersions::lock(std::string_view domain) const {
  const std::string folder = fs::path(version_path(domain, "state")).parent_path().string();
  if (!is_domain_name(domain)) return unknown_domain(domain);
  TRY_VOID(make_folder(folder, folder));
  const TimePoint end = machine_clock().now() + kLockPatience;
  return FileLock::wait(folder, "another process changes this domain's models; try again",
                        [end] { return machine_clock().now() >= end; });
}

Result<ModelState> ModelVersions::state(std::string_view domain) {
  const std::lock_guard guard(mutex_);
  return load(domain);
}

Result<std::string> ModelVersions::add_challenger(std::string_view domain, const fusion::Model& model,
                                                  std::string_view origin, UnixTime now) {
  const std::lock_guard guard(mutex_);
  TRY(auto change, begin(domain));
  ModelState& state = change.state;
  const std::string text = fusion::model_text(model);
  const std::string version = version_of(text);
  if (version == state.champion) return version;
  std::error_code error;
  if (!fs::exists(version_path(domain, version), error)) change.added = version_path(domain, version);
  TRY_VOID(write_file(version_path(domain, version), text));
  if (!has_version(state, version))
    state.versions.insert(state.versions.begin(), {version, model.learner, std::string(origin), now});
  state.challenger = version;
  TRY_VOID(save(domain, change));
  return version;
}

/// Writes a version where searches read the champion; without a version, removes the champion.
Result<void> ModelVersions::write_champion(std::string_view domain, std::string_view version) const {
  if (version.empty()) {
    std::error_code error;
    fs::remove(champion_path(domain), error);
    if (error) return fail(Code::no_input, champion_path(domain) + ": " + error.message());
    return {};
  }
  TRY(const auto text, read_text(version_path(domain, version), kMaxVersionBytes));
  if (version_of(text) != version)
    return fail(Code::bad_data,
                version_path(domain, version) + ": was changed; restore it or activate another");
  return write_file(champion_path(domain), text);
}

Result<void> ModelVersions::make_champion(std::string_view domain, std::string_view version, Change& change) {
  TRY_VOID(write_champion(domain, version));
  ModelState& state = change.state;
  state.champion = version;
  if (state.challenger == version) state.challenger.clear();
  state.tests = 0;
  state.tested.clear();
  return save(domain, change);
}

Result<void> ModelVersions::activate(std::string_view domain, std::string_view version) {
  const std::lock_guard guard(mutex_);
  TRY(auto change, begin(domain));
  ModelState& state = change.state;
  if (!has_version(state, version))
    return fail(Code::usage,
                fmt::format("domain {} has no model version \"{}\"; see GET /v1/models", domain, version));
  const bool was_paused = std::exchange(state.is_promotion_paused, false);
  if (state.champion == version) return was_paused ? save(domain, change) : Result<void>();
  state.history.push_back(state.champion);
  return make_champion(domain, version, change);
}

Result<void> ModelVersions::revert(std::string_view domain, bool pauses_promotion) {
  const std::lock_guard guard(mutex_);
  TRY(auto change, begin(domain));
  ModelState& state = change.state;
  if (state.history.empty())
    return fail(Code::usage, "domain " + std::string(domain) + " had no champion before");
  const std::string version = state.history.back();
  state.history.pop_back();
  state.is_promotion_paused = state.is_promotion_paused || pauses_promotion;
  return make_champion(domain, version, change);
}

Result<void> ModelVersions::restore(std::string_view domain, const ModelState& before) {
  const std::lock_guard guard(mutex_);
  TRY(auto change, begin(domain));
  TRY_VOID(write_champion(domain, before.champion));
  auto versions = std::move(change.state.versions);
  change.state = before;
  change.state.versions = std::move(versions);
  return save(domain, change);
}

Result<std::uint32_t> ModelVersions::count_test(std::string_view domain, std::string_view subject) {
  const std::lock_guard guard(mutex_);
  TRY(auto change, begin(domain));
  ModelState& state = change.state;
  if (state.tests > 0 && state.tested == subject) return state.tests;
  state.tested = subject;
  const std::uint32_t tests = ++state.tests;
  TRY_VOID(save(domain, change));
  return tests;
}

Result<void> ModelVersions::note_gain(std::string_view domain, std::optional<JudgedGain> gain) {
  const std::lock_guard guard(mutex_);
  TRY(auto change, begin(domain));
  if (change.state.gain == gain) return {};
  change.state.gain = std::move(gain);
  return save(domain, change);
}

Result<void> ModelVersions::note_decision(std::string_view domain, ModelDecision decision) {
  const std::lock_guard guard(mutex_);
  TRY(auto change, begin(domain));
  if (change.state.decision.text == decision.text) return {};
  change.state.decision = std::move(decision);
  return save(domain, change);
}

Result<fusion::Model> ModelVersions::read(std::string_view domain, std::string_view version) {
  if (!is_domain_name(domain) || !is_version(version))
    return fail(Code::usage, "no model version \"" + std::string(version) + "\"");
  return fusion::read_model(version_path(domain, version));
}

}  // namespace metafuse::service
