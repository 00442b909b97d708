#include "service/search/health_keeper.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include "core/text_file.h"

namespace metafuse::service {
namespace {

constexpr std::chrono::seconds kBetweenHealthLooks{5};
constexpr UnixTime kBetweenSaves = 60;
constexpr double kHealthPatience = 5;  ///< seconds that a known query's answer is waited for
constexpr std::size_t kMostHealthBytes = std::size_t{64} << 20;
constexpr int kHealthDepth = 10;

}  // namespace

void report_changes(const std::vector<fetchers::HealthChange>& changes,
                    const std::function<void(std::string_view event, JsonObject fields)>& on_event) {
  for (const fetchers::HealthChange& change : changes)
    on_event("engine health",
             {{"engine", change.engine},
              {"before", fetchers::name_of(change.before)},
              {"now", fetchers::name_of(change.now)},
              {"sign", change.now == fetchers::HealthState::works ? std::string_view()
                                                                  : fetchers::words_of(change.sign)}});
}

HealthKeeper::HealthKeeper(HealthKeeperOptions options)
    : options_(std::move(options)), random_(options_.seed) {}

void HealthKeeper::open() {
  const auto snapshot = options_.snapshot();
  file_ = snapshot->config.engine_health.file;
  std::error_code error;
  if (!file_.empty()) {
    auto lock = FileLock::take(file_ + ".lock", "another server keeps " + file_);
    may_write_ = lock.has_value();
    if (lock)
      lock_ = std::move(*lock);
    else
      options_.on_event("engine health not kept", {{"reason", lock.error().text}});
  }
  if (!file_.empty() && std::filesystem::exists(file_, error)) {
    const auto text = read_text(file_, kMostHealthBytes);
    const auto read = text ? options_.book.read(*text, file_) : Result<void>(text.error());
    if (!read) options_.on_event("engine health not read", {{"reason", read.error().text}});
  }
  options_.book.watch(snapshot->engines.watched);
}

void HealthKeeper::start() {
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!wakes_.wait_for(lock, kBetweenHealthLooks, [this] { return is_stopping_; })) {
      lock.unlock();
      try {
        tick(options_.unix_time());
      } catch (const std::exception& failure) {
        options_.on_event("a mistake of ours", {{"where", "health keeper"}, {"what", failure.what()}});
      }
      lock.lock();
    }
  });
}

void HealthKeeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return;
    is_stopping_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
  save(options_.unix_time());
}

void HealthKeeper::tick(UnixTime now) {
  const auto snapshot = options_.snapshot();
  if (now >= next_save_) save(now);
  if (!snapshot->config.engine_health.is_asking) return;
  for (const fetchers::Engine& engine : snapshot->engines.tried) {
    const auto later = static_cast<UnixTime>(random_.uniform() * kSecondsPerDay);
    const auto [at, is_new] = next_try_.try_emplace(engine.name, now + later);
    if (is_new || now < at->second) continue;
    // Between half a day and one and a half: once a day on average, and never at the same time.
    at->second = now + kSecondsPerDay / 2 + later;
    try_engine(*snapshot, engine, now);
    return;  // one at a time
  }
}

void HealthKeeper::try_engine(const Snapshot& snapshot, const fetchers::Engine& engine, UnixTime now) {
  const auto queries =
      fetchers::queries_to_try(engine, options_.book.known(engine.name), turns_[engine.name]++, 1);
  if (queries.empty()) return;
  const Clock& clock = machine_clock();
  const std::vector<ExpandedQuery> asked = {{"health", engine.name, queries.front()}};
  const fetchers::FetchOptions options{
      .depth = kHealthDepth, .deadline = Deadline(clock, duration_of(kHealthPatience)), .sender = "health"};
  const auto lists = snapshot.engines.fetcher->fetch(asked, options, {});
  std::vector<fetchers::HealthChange> changes;
  options_.book.note_own(lists.front(), kHealthPatience, now, &changes);
  report_changes(changes, options_.on_event);
}

void HealthKeeper::save(UnixTime now) {
  next_save_ = now + kBetweenSaves;
  const std::uint64_t changes = options_.book.changes();
  if (file_.empty() || !may_write_ || changes == saved_) return;
  if (const auto written = write_file(file_, options_.book.text(), FileAccess::owner); !written)
    return options_.on_event("engine health not saved", {{"reason", written.error().text}});
  saved_ = changes;
}

}  // namespace metafuse::service
