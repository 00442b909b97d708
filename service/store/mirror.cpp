#include "service/store/mirror.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/atomic_file.h"
#include "core/digest.h"
#include "core/json.h"
#include "core/text_file.h"

namespace metafuse::service {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemplates = "templates/";
constexpr std::string_view kModels = "models/";
constexpr std::string_view kVersions = "models/versions/";
constexpr std::string_view kReports = "reports/";
constexpr std::string_view kKeys = "keys";
constexpr int kMostSkippedDoublings = 7;
constexpr std::size_t kMaxSharedBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxRememberedBytes = std::size_t{16} << 20;
/// For so many changes the store knows that a version was removed.
constexpr std::int64_t kChangesRemoved = 10'000;

/// Whether a name is a model's. Names come from the database, so a path that leaves the folder of models
/// is refused.
bool is_model_name(std::string_view rest) {
  return rest.ends_with(".json") && rest.find("..") == std::string_view::npos && !rest.starts_with('/') &&
         rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-./") == std::string_view::npos;
}

/// Whether a name is a report's: DOMAIN.KIND.json or .jsonl, as EvaluationReports reads them.
bool is_report_name(std::string_view rest) {
  return (rest.ends_with(".json") || rest.ends_with(".jsonl")) && !rest.starts_with('.') &&
         rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == std::string_view::npos;
}

/// The names of a folder's files whose file name `is_wanted`, sorted, after `start`.
std::vector<std::string> names_in(const fs::path& folder, std::string_view start,
                                  const std::function<bool(const fs::path& file)>& is_wanted) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (const fs::path file = at->path().filename(); is_wanted(file))
      names.push_back(std::string(start) + file.string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Sorts champions last, so that a champion is written only after its version and the state that names it.
void put_champions_last(std::vector<SharedFile>& files) {
  std::stable_partition(files.begin(), files.end(), [](const SharedFile& file) {
    return file.name.find("/versions/") != std::string::npos;
  });
}

}  // namespace

Mirror::Mirror(SharedState& shared, SharedPlaces places) : shared_(shared), places_(std::move(places)) {}

void Mirror::set_places(SharedPlaces places) {
  const std::lock_guard lock(mutex_);
  if (places == places_) return;
  places_ = std::move(places);
  seen_ = 0;  // the store may have files of new domains, or lack them
  may_lack_ = true;
}

/// The local path of a file's name; empty for a file that this server does not keep.
std::string Mirror::path_of(std::string_view name) const {
  if (name.starts_with(kTemplates)) {
    const auto at = places_.templates.find(std::string(name.substr(kTemplates.size())));
    return at == places_.templates.end() ? std::string() : at->second;
  }
  if (name == kKeys) return places_.keys;
  if (name.starts_with(kReports)) {
    const std::string_view rest = name.substr(kReports.size());
    if (places_.reports.empty() || !is_report_name(rest)) return {};
    return (fs::path(places_.reports) / std::string(rest)).string();
  }
  if (!name.starts_with(kModels) || places_.models.empty()) return {};
  const std::string_view rest = name.substr(kModels.size());
  return is_model_name(rest) ? (fs::path(places_.models) / std::string(rest)).string() : std::string();
}

/// The names of a domain's champion, its versions and their state, as far as they exist here.
std::vector<std::string> Mirror::model_names(std::string_view domain) const {
  if (places_.models.empty()) return {};
  const std::string versions = fmt::format("versions/{}", domain);
  std::vector<std::string> names =
      names_in(fs::path(places_.models) / versions, fmt::format("{}{}/", kModels, versions),
               [](const fs::path& file) { return file.extension() == ".json"; });
  std::error_code error;
  if (fs::is_regular_file(fs::path(places_.models) / fmt::format("{}.json", domain), error))
    names.push_back(fmt::format("{}{}.json", kModels, domain));
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Mirror::report_names(std::string_view domain) const {
  if (places_.reports.empty()) return {};
  const std::string start = std::string(domain) + '.';
  return names_in(places_.reports, kReports, [&](const fs::path& file) {
    return file.string().starts_with(start) && is_report_name(file.string());
  });
}

std::vector<std::string> Mirror::local_names() const {
  std::vector<std::string> names;
  if (!places_.keys.empty()) names.emplace_back(kKeys);
  for (const auto& [domain, file] : places_.templates) {
    names.push_back(std::string(kTemplates) + domain);
    for (std::string& name : model_names(domain)) names.push_back(std::move(name));
    for (std::string& name : report_names(domain)) names.push_back(std::move(name));
  }
  return names;
}

/// The text of a local file; nothing if there is no such file.
Result<std::optional<std::string>> Mirror::local_text(const std::string& name) const {
  std::error_code error;
  if (!fs::exists(path_of(name), error)) return std::optional<std::string>();
  TRY(auto text, read_text(path_of(name), kMaxSharedBytes));
  return std::optional<std::string>(std::move(text));
}

/// The digest of a local file; empty if there is no such file.
Result<std::string> Mirror::local_digest(const std::string& name) const {
  TRY(const auto text, local_text(name));
  return text ? sha256_hex(*text) : std::string();
}

std::string Mirror::memory_path() const {
  const fs::path folder = !places_.models.empty() || places_.templates.empty()
                              ? fs::path(places_.models)
                              : fs::path(places_.templates.begin()->second).parent_path();
  return (folder / ".shared.json").string();
}

Result<void> Mirror::remember() const {
  JsonObject digests;
  for (const auto& [name, digest] : known_)
    if (!digest.empty()) digests[name] = digest;
  if (!places_.models.empty()) {
    std::error_code ignored;
    fs::create_directories(places_.models, ignored);
  }
  return write_file(memory_path(), to_pretty_text(digests));
}

Result<void> Mirror::recall() {
  if (std::exchange(is_recalled_, true)) return {};
  const std::string path = memory_path();
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  TRY(const auto text, read_text(path, kMaxRememberedBytes));
  const auto json = parse_json(text, path);
  // Damaged: files that differ will be kept as FILE.mine, so that nothing is lost.
  if (!json || !json->is_object()) return {};
  for (const auto& [name, digest] : json->get_object())
    if (digest.is_string()) known_[std::string(name)] = std::string(digest.get_string());
  return {};
}

/// Whether a local file was edited: its digest `here` is neither the store's nor the one that both sides
/// last had.
bool Mirror::is_edited_here(const SharedFile& file, const std::string& here) const {
  const auto known = known_.find(file.name);
  return !here.empty() && here != file.digest && (known == known_.end() || known->second != here);
}

/// Replaces a local file by the store's.
Result<void> Mirror::take(const SharedFile& file, Changes& changes) {
  latest_[file.name] = file.digest;
  const std::string path = path_of(file.name);
  if (path.empty()) return {};
  TRY(const std::string here, local_digest(file.name));
  if (here == file.digest) {
    known_[file.name] = file.digest;
    return {};
  }
  if (is_edited_here(file, here)) {
    TRY(const auto mine, read_text(path, kMaxSharedBytes));
    TRY_VOID(write_file(path + ".mine", mine));
    changes.set_aside.push_back(path + ".mine");
  }
  std::error_code error;
  if (file.digest.empty()) {
    fs::remove(path, error);
  } else {
    fs::create_directories(fs::path(path).parent_path(), error);
    TRY_VOID(write_file(path, file.text));
  }
  known_[file.name] = file.digest;
  changes.taken.push_back(file.name);
  return {};
}

/// Sends the files that exist only here. If another server sends a file of the same name first, that one is
/// taken at the next step. After failures this is tried less and less often, because each try reads all of
/// the files.
Result<void> Mirror::send_new(Changes& changes) {
  std::vector<SharedChange> wanted;
  for (const std::string& name : local_names()) {
    if (latest_.contains(name)) continue;
    TRY(auto text, local_text(name));
    if (text) wanted.push_back({name, "", std::move(text)});
  }
  const auto sent = wanted.empty() ? Result<bool>(true) : shared_.change_files(wanted);
  if (!sent) {
    failed_sends_ = std::min(failed_sends_ + 1, kMostSkippedDoublings);
    looks_to_skip_ = 1 << failed_sends_;
    return sent.error();
  }
  failed_sends_ = 0;
  may_lack_ = !*sent;
  if (*sent) note_sent(wanted, changes);
  return {};
}

/// Notes that files are now equal here and in the store.
void Mirror::note_sent(std::span<const SharedChange> sent, Changes& changes) {
  for (const SharedChange& change : sent) {
    known_[change.name] = latest_[change.name] = change.text ? sha256_hex(*change.text) : std::string();
    changes.sent.push_back(change.name);
  }
}

Result<Mirror::Changes> Mirror::step() {
  const std::lock_guard lock(mutex_);
  TRY_VOID(recall());
  TRY(auto files, shared_.files(seen_));
  std::int64_t latest = files.empty() ? seen_ : files.back().change;
  put_champions_last(files);
  Result<void> all_taken;
  for (const SharedFile& file : files) {
    // No model is taken after one that could not be written, because a champion needs its version.
    const bool is_late = !all_taken && file.name.starts_with(kModels);
    const auto taken = is_late ? all_taken : take(file, unsaid_);
    if (taken) continue;
    latest = std::min(latest, file.change - 1);  // so that a later step takes it
    if (all_taken) all_taken = taken;
  }
  seen_ = std::max(seen_, latest);
  if (!files.empty()) TRY_VOID(remember());
  TRY_VOID(all_taken);
  // of a champion or of templates this stays known, because an old copy would come into force
  const auto is_removed = [](const SharedFile& file) { return file.digest.empty(); };
  if (std::any_of(files.begin(), files.end(), is_removed))
    TRY_VOID(shared_.forget_removed(kVersions, kChangesRemoved));
  if (may_lack_ && looks_to_skip_-- <= 0) {
    const auto sent = send_new(unsaid_);
    if (!sent && unsaid_.taken.empty()) return sent.error();
    if (!unsaid_.sent.empty()) TRY_VOID(remember());
  }
  return std::exchange(unsaid_, {});
}

Result<bool> Mirror::replace_templates(std::string_view domain, std::string_view before,
                                       std::string_view text) {
  const std::lock_guard lock(mutex_);
  const std::string name = std::string(kTemplates) + std::string(domain);
  const std::string digest = sha256_hex(before);
  // First here, because a text that cannot be written must not reach the store. Under the lock, because the
  // next step must not take it for an edit.
  TRY_VOID(write_file(path_of(name), text));
  const auto is_replaced = shared_.change_files(std::vector<SharedChange>{{name, digest, std::string(text)}});
  if (!is_replaced || !*is_replaced) {
    TRY_VOID(write_file(path_of(name), before));
    return is_replaced;
  }
  known_[name] = latest_[name] = sha256_hex(text);
  TRY_VOID(remember());
  return true;
}

Result<void> Mirror::send_models(std::string_view domain) {
  const std::lock_guard lock(mutex_);
  std::vector<SharedChange> wanted;
  const std::vector<std::string> here = model_names(domain);
  for (const std::string& name : here) {
    TRY(auto text, read_text(path_of(name), kMaxSharedBytes));
    const auto known = known_.find(name);
    const std::string digest = known == known_.end() ? std::string() : known->second;
    if (digest != sha256_hex(text)) wanted.push_back({name, digest, std::move(text)});
  }
  const std::string champion = fmt::format("{}{}.json", kModels, domain);
  const std::string versions = fmt::format("{}versions/{}/", kModels, domain);
  for (const auto& [name, digest] : known_)
    if ((name == champion || name.starts_with(versions)) && !digest.empty() &&
        !std::binary_search(here.begin(), here.end(), name))
      wanted.push_back({name, digest, std::nullopt});
  if (wanted.empty()) return {};
  const auto is_sent = shared_.change_files(wanted);
  // The next step takes what others sent, or this change if it was made after all.
  if (!is_sent || !*is_sent) seen_ = 0;
  if (!is_sent) return is_sent.error();
  if (!*is_sent)
    return fail(Code::try_again,
                fmt::format("another server changed the models of {} at the same time; try again", domain));
  Changes sent;
  note_sent(wanted, sent);
  return remember();
}

std::shared_ptr<void> Mirror::pause() {
  return std::make_shared<std::unique_lock<std::recursive_mutex>>(mutex_);
}

Result<Mirror::Changes> Mirror::push(bool is_forced) {
  const std::lock_guard lock(mutex_);
  TRY_VOID(recall());
  TRY(const auto files, shared_.files(0));
  std::map<std::string, std::string, std::less<>> there;
  for (const SharedFile& file : files) there[file.name] = file.digest;
  std::vector<SharedChange> wanted;
  std::vector<std::string> both;
  for (const std::string& name : local_names()) {
    TRY(auto text, local_text(name));
    const std::string other = there[name];
    if (!text || sha256_hex(*text) == other) continue;
    if (!other.empty() && known_[name] != other) both.push_back(path_of(name));
    wanted.push_back({name, other, std::move(text)});
  }
  if (!both.empty() && !is_forced)
    return fail(Code::bad_data, fmt::format("changed both here and in the store: {}; compare them (store "
                                            "pull --force keeps yours as FILE.mine), or push with --force",
                                            fmt::join(both, ", ")));
  Changes changes;
  if (wanted.empty()) return changes;
  TRY(const bool is_sent, shared_.change_files(wanted));
  if (!is_sent) return fail(Code::try_again, "another server changed a file just now; try again");
  note_sent(wanted, changes);
  TRY_VOID(remember());
  return changes;
}

Result<Mirror::Changes> Mirror::pull(bool is_forced) {
  const std::lock_guard lock(mutex_);
  TRY_VOID(recall());
  TRY(auto files, shared_.files(0));
  put_champions_last(files);
  std::vector<std::string> edited;
  for (const SharedFile& file : files) {
    if (path_of(file.name).empty()) continue;
    TRY(const std::string here, local_digest(file.name));
    if (is_edited_here(file, here)) edited.push_back(path_of(file.name));
  }
  if (!edited.empty() && !is_forced)
    return fail(Code::bad_data, fmt::format("changed here but not yet in the store: {}; send them with store "
                                            "push, or pull with --force, which keeps yours as FILE.mine",
                                            fmt::join(edited, ", ")));
  Changes changes;
  for (const SharedFile& file : files) TRY_VOID(take(file, changes));
  TRY_VOID(remember());
  return changes;
}

}  // namespace metafuse::service
