#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "service/store/store.h"

namespace metafuse::service {

/// Where this server keeps what it shares with others.
struct SharedPlaces {
  std::map<std::string, std::string> templates;  ///< file by domain
  std::string models;                            ///< folder; empty for none
  std::string reports = {};                      ///< folder; empty for none
  std::string keys = {};                         ///< file; empty for none

  friend bool operator==(const SharedPlaces&, const SharedPlaces&) = default;
};

/// Keeps this server's templates, models, evaluation reports and keys equal to those in the store, which all
/// servers share. The store decides: a file that changed both here and there becomes the store's, and what
/// stood here is kept beside it as FILE.mine. Files that the store lacks are sent to it. From any thread.
///
/// Invariant: `known_` holds, by name, the digest that a file had when it last was the same here and there.
/// It is kept in `.shared.json` in the folder of models, or else in that of the first template file, so that
/// a restart tells what others changed from what somebody edited here.
class Mirror {
 public:
  /// What a step did, for the log.
  struct Changes {
    std::vector<std::string> taken;      ///< names of files that came from the store
    std::vector<std::string> sent;       ///< that went there
    std::vector<std::string> set_aside;  ///< files in which the text of both sides differed: FILE.mine

    bool empty() const { return taken.empty() && sent.empty() && set_aside.empty(); }
  };

  /// `store` must outlive it.
  Mirror(Store& store, SharedPlaces places);

  /// After a reload; files of new domains are sent or taken at the next step.
  void set_places(SharedPlaces places);

  /// Takes what others changed, and sends what the store has never seen.
  ///
  /// errors: those of the store; no_input, try_again as files have them
  Result<Changes> step();

  /// Makes a domain's templates another text, here and for all servers.
  ///
  /// in:  before - the text that is replaced
  /// out: false when another server was quicker: then nothing is written
  Result<bool> replace_templates(std::string_view domain, std::string_view before, std::string_view text);

  /// While it lives, no step changes files: for who changes several and then sends them.
  std::shared_ptr<void> pause();
  /// Sends what changed here of a domain's models, all or nothing. On an error the caller puts back what was
  /// there before.
  ///
  /// errors: those of the store; try_again when another server changed them first: its models are taken at
  ///         the next step
  Result<void> send_models(std::string_view domain);

  /// Makes the store what the files here are, or the files here what the store is, whoever changed them.
  ///
  /// in:  is_forced - also where both changed
  /// errors: bad_data, naming each file that changed on both sides; then nothing is changed
  Result<Changes> push(bool is_forced);
  Result<Changes> pull(bool is_forced);

 private:
  std::string path_of(std::string_view name) const;
  std::vector<std::string> local_names() const;
  std::vector<std::string> model_names(std::string_view domain) const;
  std::vector<std::string> report_names(std::string_view domain) const;
  Result<std::string> local_digest(const std::string& name) const;
  bool is_edited_here(const SharedFile& file, const std::string& here) const;
  Result<void> take(const SharedFile& file, Changes& changes);
  std::string memory_path() const;
  Result<void> remember() const;
  Result<void> recall();
  Result<void> send_new(Changes& changes);

  Store& store_;
  std::recursive_mutex mutex_;  ///< whoever holds a pause sends
  SharedPlaces places_;
  std::map<std::string, std::string, std::less<>> known_;
  std::map<std::string, std::string, std::less<>> latest_;  ///< digest in the store, by name
  std::int64_t seen_ = 0;                                   ///< the last change that was looked at
  bool is_recalled_ = false;
  Changes unsaid_;         ///< of steps that failed after them: the next one says so
  bool may_lack_ = true;   ///< whether the store may lack files that are here
  int failed_sends_ = 0;   ///< in a row
  int looks_to_skip_ = 0;  ///< before files that could not be sent are read again
};

}  // namespace metafuse::service
