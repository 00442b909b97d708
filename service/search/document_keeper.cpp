#include "service/search/document_keeper.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "core/parallel.h"

namespace metafuse::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenLooks = 1s;
constexpr auto kRestAfterFailure = 30s;
/// Corrections of queries learn new words when an index has been left alone for so long.
constexpr auto kSettling = 60s;

/// Latent semantic indexing is trained again when a tenth of the documents is new to it.
bool needs_training(std::size_t folded, std::size_t documents) {
  return folded * 10 > documents;
}

/// How serious it is that an index cannot be brought up to date: searches find nothing in one that cannot be
/// read, and one that was built without its documents is as its owner wants it.
Log::Level level_of(const Error& error) {
  if (error.code == Code::bad_data || error.code == Code::no_input) return Log::Level::error;
  return error.code == Code::bad_config ? Log::Level::info : Log::Level::warning;
}

/// The options with which an index's folders are read again. If it is so damaged that it does not say them,
/// those of `metafuse init`; but not for vectors that an endpoint makes, because they have their price, and
/// not for a file that no engine searches, because it may be something else whose name was mistyped.
Result<fetchers::IndexOptions> reading_options(const LoadedEngines& engines, const std::string& index) {
  const auto embed = engines.embed_texts.find(index);
  const bool is_searched =
      std::ranges::any_of(engines.indexes, [&](const auto& entry) { return entry.second == index; });
  if (embed == engines.embed_texts.end() && is_searched && fetchers::is_damaged_index(index)) {
    fetchers::IndexOptions options = fetchers::options_of_init();
    options.is_damaged = true;
    return options;
  }
  TRY(auto options, fetchers::options_to_update(index));
  if (embed != engines.embed_texts.end()) options.vectors.embed = embed->second;
  return options;
}

}  // namespace

Result<std::string> index_of(const LoadedDomain& domain) {
  std::set<std::string> indexes;
  for (const auto& vocabulary : domain.vocabularies) indexes.insert(vocabulary->database());
  if (indexes.size() == 1) return *indexes.begin();
  return fail(
      Code::bad_config,
      fmt::format("the templates of {} search {} embedded indexes; documents can be added to a domain "
                  "that searches exactly one (an engine with `engine: local`)",
                  domain.domain.name, indexes.empty() ? "no" : std::to_string(indexes.size())));
}

void DocumentKeeper::start() {
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
      lock.unlock();
      try {
        tick(std::chrono::steady_clock::now());
      } catch (const std::exception& error) {
        options_.on_event(Log::Level::error, "a mistake of ours",
                          {{"where", "document keeper"}, {"what", error.what()}});
      }
      lock.lock();
      wakes_.wait_for(lock, kBetweenLooks, [this] { return is_wanted_elsewhere(); });
    }
  });
}

void DocumentKeeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

DocumentKeeper::Kept& DocumentKeeper::kept(const std::string& index) {
  const std::lock_guard lock(mutex_);
  auto& kept = kept_[index];
  if (kept == nullptr) kept = std::make_unique<Kept>(index);
  return *kept;
}

Result<void> DocumentKeeper::change(
    const std::string& index, const std::function<Result<void>(fetchers::AddedDocuments& added)>& work) {
  Kept& one = kept(index);
  TRY(const bool takes_documents, fetchers::takes_documents(index));
  const auto snapshot = options_.snapshot();
  const bool is_read_here =
      std::any_of(snapshot->config.documents.begin(), snapshot->config.documents.end(),
                  [&](const DocumentsConfig& documents) { return documents.index == index; });
  if (!takes_documents && !is_read_here)
    return fail(Code::bad_config, index +
                                      ": this index does not keep its documents, so that none can be added; "
                                      "build it again with metafuse index --update");
  {
    const std::lock_guard lock(one.mutex);
    if (!one.added) {
      TRY(one.added, fetchers::AddedDocuments::open(index));
    }
    TRY_VOID(work(*one.added));
  }
  {
    const std::lock_guard lock(mutex_);
    one.is_behind = true;
    has_news_ = true;
  }
  wakes_.notify_all();
  return {};
}

Result<void> DocumentKeeper::put(const std::string& index,
                                 std::span<const fetchers::SourceDocument> documents) {
  return change(index, [&](fetchers::AddedDocuments& added) { return added.put(documents); });
}

Result<std::size_t> DocumentKeeper::remove(const std::string& index, std::span<const std::string> urls) {
  std::size_t removed = 0;
  TRY_VOID(change(index, [&](fetchers::AddedDocuments& added) -> Result<void> {
    TRY(removed, added.remove(urls));
    return {};
  }));
  return removed;
}

Result<DocumentState> DocumentKeeper::state(const std::string& index) {
  TRY(const auto facts, fetchers::facts_of_index(index));
  look_at_content(index);  // whoever reads here that a change is searched finds it
  DocumentState state{facts.documents, 0, facts.added_step};
  Kept& one = kept(index);
  const std::lock_guard lock(one.mutex);
  if (!one.added) {
    TRY(one.added, fetchers::AddedDocuments::open_if_there(index));
  }
  if (one.added) {
    TRY(state.last_step, one.added->last_step());
  }
  return state;
}

void DocumentKeeper::tick(TimePoint now) {
  has_news_ = false;  // what has come so far is taken in now
  const auto snapshot = options_.snapshot();
  std::set<std::string> indexes;
  for (const auto& [engine, vocabulary] : snapshot->engines.vocabularies)
    indexes.insert(vocabulary->database());
  for (const DocumentsConfig& documents : snapshot->config.documents) indexes.insert(documents.index);
  std::size_t failing = 0;
  for (const std::string& index : indexes) {
    if (is_stopping_) return;
    keep_up(*snapshot, index, kept(index), now);
    failing += kept(index).is_failing ? 1 : 0;
  }
  if (options_.on_failing) options_.on_failing(failing);
}

void DocumentKeeper::keep_up(const Snapshot& snapshot, const std::string& index, Kept& kept, TimePoint now) {
  const std::uint64_t version = kept.file.now();
  const bool was_replaced = std::exchange(kept.version, version) != version && version > 1;
  if (was_replaced) kept.is_behind = true;  // it may lack what programs added
  bool has_changed = was_replaced;
  if (now >= kept.rests_until) {
    const auto work = [&]() -> Result<bool> {
      for (const DocumentsConfig& documents : snapshot.config.documents)
        if (documents.index == index && now >= kept.next_reading)
          return read_folders(snapshot, documents, kept, now);
      if (kept.is_behind.exchange(false)) return follow(snapshot, index, kept, true);
      if (kept.needs_training.value_or(false)) return follow(snapshot, index, kept, false);
      return false;
    };
    const auto done = work();
    if (!done) kept.is_behind = true;
    if (done) {
      has_changed = has_changed || *done;
      kept.last_failure.clear();
      kept.is_failing = false;
    } else if (!is_wanted_elsewhere() || done.error().code != Code::try_again) {
      if (kept.last_failure != done.error().text)
        options_.on_event(level_of(done.error()), "index not updated",
                          {{"index", index}, {"reason", done.error().text}});
      kept.last_failure = done.error().text;
      kept.is_failing = level_of(done.error()) == Log::Level::error;
      kept.rests_until = now + kRestAfterFailure;
    }
  }
  if (was_replaced || kept.file.now() != version) look_at_content(index);
  if (has_changed) {
    kept.version = kept.file.now();
    kept.settles_at = now + kSettling;
    options_.on_changed();  // first, because searches find the new file already
    for (const auto& [engine, database] : snapshot.engines.indexes)
      if (database == index) snapshot.engines.fetcher->prepare(engine);
  } else if (kept.settles_at && now >= *kept.settles_at) {
    kept.settles_at.reset();
    options_.on_settled();
  }
}

/// Lets caches know at once that an index was written, also those of a snapshot that was loaded meanwhile.
void DocumentKeeper::look_at_content(const std::string& index) const {
  const auto snapshot = options_.snapshot();
  const auto content = snapshot->engines.contents.find(index);
  if (content != snapshot->engines.contents.end()) content->second->look();
}

/// Reads the folders of an index again. True if it has changed.
Result<bool> DocumentKeeper::read_folders(const Snapshot& snapshot, const DocumentsConfig& documents,
                                          Kept& kept, TimePoint now) {
  kept.next_reading = now + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::chrono::duration<double>(documents.every_seconds));
  TRY(auto options, reading_options(snapshot.engines, documents.index));
  options.files.base_url = documents.base_url;
  options.files.threads = hardware_threads();
  options.is_interrupted = [this] { return is_stopping_.load(); };
  auto built = fetchers::build_local_index(documents.index, documents.folders, options);
  if (!built && built.error().code == Code::try_again) kept.next_reading = now;  // but for the rest
  TRY(const auto report, std::move(built));
  kept.version = kept.file.now();  // reading writes the file even if nothing has changed
  if (!report.other_version.empty())
    options_.on_event(Log::Level::warning, "index of another version built again",
                      {{"index", documents.index},
                       {"was_version", report.other_version},
                       {"version", fetchers::kIndexVersion}});
  if (report.was_damaged)
    options_.on_event(Log::Level::warning, "damaged index built again",
                      {{"index", documents.index}, {"put_aside", report.put_aside}});
  const bool has_changed = !report.is_update || report.added + report.changed + report.removed > 0;
  if (has_changed)
    options_.on_event(Log::Level::info, "documents read",
                      {{"index", documents.index},
                       {"documents", report.documents},
                       {"added", report.added},
                       {"changed", report.changed},
                       {"removed", report.removed},
                       {"left_out", report.read.left_out.size()}});
  kept.is_behind = true;  // changes may have come meanwhile
  return has_changed;
}

/// Says which documents of programs an index does not have.
void DocumentKeeper::tell_left_out(const std::string& index, const fetchers::IndexReport& report) {
  for (const fetchers::LeftOutFile& document : report.read.left_out)
    options_.on_event(Log::Level::warning, "added document left out",
                      {{"index", index}, {"url", document.path}, {"reason", document.why}});
}

/// Takes in what programs added and removed. True if the index has changed.
Result<bool> DocumentKeeper::follow(const Snapshot& snapshot, const std::string& index, Kept& kept,
                                    bool defers_training) {
  fetchers::FollowOptions options;
  options.threads = hardware_threads();
  options.defers_training = defers_training;
  // training gives way to new documents
  options.is_interrupted = [this, defers_training] {
    return defers_training ? is_stopping_.load() : is_wanted_elsewhere();
  };
  if (const auto embed = snapshot.engines.embed_texts.find(index);
      embed != snapshot.engines.embed_texts.end())
    options.embed = embed->second;
  TRY(const auto report, fetchers::follow_added_documents(index, options));
  if (!defers_training) {
    kept.needs_training = false;
  } else if (report) {
    kept.needs_training = needs_training(report->folded, report->documents);
  } else if (!kept.needs_training) {  // an earlier server may have left that to do
    const auto facts = fetchers::facts_of_index(index);
    kept.needs_training = facts && needs_training(facts->folded, facts->documents);
  }
  if (!report) return false;
  tell_left_out(index, *report);
  if (report->has_more) kept.is_behind = true;
  return true;
}

}  // namespace metafuse::service
