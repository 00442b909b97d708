#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/file_version.h"
#include "core/json.h"
#include "core/result.h"
#include "fetchers/engines/index/added_documents.h"
#include "fetchers/engines/index/local_engine.h"
#include "service/base/log.h"
#include "service/config/snapshot.h"

namespace metafuse::service {

/// The parts that a document keeper works with; all must outlive it.
struct DocumentKeeperOptions {
  std::function<std::shared_ptr<const Snapshot>()> snapshot;
  std::function<void()> on_changed;  ///< an index is another than before, so cached answers no longer hold
  std::function<void()> on_settled;  ///< some time after the last change, to learn the new words
  std::function<void(Log::Level level, std::string_view event, JsonObject fields)> on_event;  ///< for the log
  /// Told after each look how many cannot be read or brought up to date.
  std::function<void(std::size_t indexes)> on_failing = {};
};

/// How far an index is.
struct DocumentState {
  std::size_t documents = 0;   ///< in the index as it is searched
  std::int64_t last_step = 0;  ///< the last change that programs made
  std::int64_t searched = 0;   ///< the last of them that searches find
};

/// Keeps the embedded indexes up to date while the server runs, on a thread of its own: takes in
/// the documents that programs add and remove, reads the configured folders again, and
/// notices when another program replaced an index.
///
/// A change that put() or remove() has taken is on the disk, also if the process is killed at once. Searches
/// find it when the index has been written anew: within two seconds for some ten thousand documents.
class DocumentKeeper {
 public:
  explicit DocumentKeeper(DocumentKeeperOptions options) : options_(std::move(options)) {}
  DocumentKeeper(const DocumentKeeper&) = delete;
  DocumentKeeper& operator=(const DocumentKeeper&) = delete;
  ~DocumentKeeper() { stop(); }

  void start();
  void stop();

  /// in:     index - the file of an embedded index, which need not exist yet
  /// errors: bad_data: a field that the index cannot have; those of AddedDocuments
  Result<void> put(const std::string& index, std::span<const fetchers::SourceDocument> documents);
  /// out:    as AddedDocuments::remove()
  Result<std::size_t> remove(const std::string& index, std::span<const std::string> urls);
  Result<DocumentState> state(const std::string& index);

  /// Does what is due at a time. The thread calls it every second and after every change.
  void tick(std::chrono::steady_clock::time_point now);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// One index.
  struct Kept {
    explicit Kept(const std::string& index) : file(index) {}

    FileVersion file;
    std::uint64_t version = 0;           ///< of the file, as searches use it
    std::atomic<bool> is_behind = true;  ///< programs may have changed what the index does not have yet
    /// Vectors wait for latent semantic indexing; empty until that is known.
    std::optional<bool> needs_training{};
    TimePoint next_reading{};               ///< of its folders
    std::optional<TimePoint> settles_at{};  ///< after a change
    TimePoint rests_until{};                ///< after a failure
    std::string last_failure;
    bool is_failing = false;  ///< seriously: searches find nothing, or nothing new
    std::mutex mutex;         ///< of `added`
    std::optional<fetchers::AddedDocuments> added;
  };

  Kept& kept(const std::string& index);
  Result<void> change(const std::string& index,
                      const std::function<Result<void>(fetchers::AddedDocuments& added)>& work);
  void keep_up(const Snapshot& snapshot, const std::string& index, Kept& kept, TimePoint now);
  Result<bool> read_folders(const Snapshot& snapshot, const DocumentsConfig& documents, Kept& kept,
                            TimePoint now);
  void look_at_content(const std::string& index) const;
  void tell_left_out(const std::string& index, const fetchers::IndexReport& report);
  Result<bool> follow(const Snapshot& snapshot, const std::string& index, Kept& kept, bool defers_training);
  bool is_wanted_elsewhere() const { return is_stopping_ || has_news_; }

  DocumentKeeperOptions options_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::map<std::string, std::unique_ptr<Kept>> kept_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> has_news_ = false;
  std::thread thread_;
};

/// The index that a domain's templates search, to which programs can add documents.
/// errors: bad_config: it searches none or several
Result<std::string> index_of(const LoadedDomain& domain);

}  // namespace metafuse::service
