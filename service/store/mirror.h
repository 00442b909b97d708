#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "service/store/shared_state.h"

namespace metafuse::service {

/// Where this server keeps the files that it shares with others.
struct SharedPlaces {
  std::map<std::string, std::string> templates;  ///< file by domain
  std::string models;                            ///< folder; empty for none
  std::string reports = {};                      ///< folder; empty for none
  std::string keys = {};                         ///< file; empty for none

  friend bool operator==(const SharedPlaces&, const SharedPlaces&) = default;
};

/// Keeps this server's templates, models, evaluation reports and keys equal to those in the store, which all
/// servers share. The store's version wins: if a file changed both here and in the store, it becomes the
/// store's, and the local text is kept beside it as FILE.mine. Files that the store lacks are sent to it.
/// Safe from any thread.
///
/// Invariant: `known_` holds, by name, the digest that a file had when it was last equal here and in the
/// store; empty if it was removed. It is saved in `.shared.json` in the folder of models, or else in that of
/// the first template file, so that after a restart changes by others can be told from local edits.
class Mirror {
 public:
  /// What a step changed, for the log.
  struct Changes {
    std::vector<std::string> taken;      ///< names of files that were taken from the store
    std::vector<std::string> sent;       ///< names of files that were sent to the store
    std::vector<std::string> set_aside;  ///< paths FILE.mine of local texts that were replaced

    bool empty() const { return taken.empty() && sent.empty() && set_aside.empty(); }
  };

  /// `shared` must outlive it.
  Mirror(SharedState& shared, SharedPlaces places);

  /// Called after a reload. Files of new domains are sent or taken at the next step.
  void set_places(SharedPlaces places);

  /// Takes the files that others changed, and sends those that the store has never had.
  ///
  /// errors: those of the store; no_input, try_again for files
  Result<Changes> step();

  /// Replaces the text of a domain's templates, here and for all servers.
  ///
  /// in:  before - the text to be replaced
  /// out: false if another server was faster; then nothing is written
  Result<bool> replace_templates(std::string_view domain, std::string_view before, std::string_view text);

  /// During the returned object's lifetime no step changes files: for callers that change several files and
  /// then send them.
  std::shared_ptr<void> pause();
  /// Sends the local changes of a domain's models, all or none. On an error the caller must restore
  /// the files.
  ///
  /// errors: those of the store; try_again if another server changed them first; the next step takes
  ///         its models
  Result<void> send_models(std::string_view domain);

  /// push() makes the store's files equal to the local ones, pull() the local files equal to the store's.
  ///
  /// in:     is_forced - even for files that changed on both sides
  /// errors: bad_data, naming each file whose changes would be lost; then nothing is changed
  Result<Changes> push(bool is_forced);
  Result<Changes> pull(bool is_forced);

 private:
  std::string path_of(std::string_view name) const;
  std::vector<std::string> local_names() const;
  std::vector<std::string> model_names(std::string_view domain) const;
  std::vector<std::string> report_names(std::string_view domain) const;
  Result<std::optional<std::string>> local_text(const std::string& name) const;
  Result<std::string> local_digest(const std::string& name) const;
  bool is_edited_here(const SharedFile& file, const std::string& here) const;
  Result<void> take(const SharedFile& file, Changes& changes);
  std::string memory_path() const;
  Result<void> remember() const;
  Result<void> recall();
  Result<void> send_new(Changes& changes);
  void note_sent(std::span<const SharedChange> sent, Changes& changes);

  SharedState& shared_;
  std::recursive_mutex mutex_;  ///< recursive, because the holder of a pause calls send_models()
  SharedPlaces places_;
  std::map<std::string, std::string, std::less<>> known_;
  std::map<std::string, std::string, std::less<>> latest_;  ///< digest in the store, by name
  std::int64_t seen_ = 0;                                   ///< number of the last change that was processed
  bool is_recalled_ = false;
  Changes unsaid_;         ///< of steps that failed after making them; the next step reports them
  bool may_lack_ = true;   ///< whether the store may lack files that are here
  int failed_sends_ = 0;   ///< consecutive failures
  int looks_to_skip_ = 0;  ///< steps to skip before files that could not be sent are tried again
};

}  // namespace metafuse::service
