#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/atomic_file.h"
#include "core/result.h"
#include "fusion/model/model_file.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// One version of a domain's model.
struct ModelVersion {
  std::string version;  ///< the first 12 digits of the file's SHA-256
  std::string learner;
  std::string origin;  ///< "retrain", "file", or a text of the caller's
  UnixTime at = 0;     ///< when it was added

  friend bool operator==(const ModelVersion&, const ModelVersion&) = default;
};

/// {"version","learner","origin","at"}
JsonObject to_json(const ModelVersion& version);

/// The place of a query's best-graded result in two orders, from 1.
struct ChangedPlace {
  std::string query;  ///< as StoredSearch::query
  int before = 0;
  int after = 0;

  friend bool operator==(const ChangedPlace&, const ChangedPlace&) = default;
};

/// What a model brings to the judged queries, by cross-validation: each query is ordered by a model that was
/// trained without it.
struct JudgedGain {
  std::string version;      ///< of the model that was trained on all of them
  std::size_t queries = 0;  ///< that have a relevant document in some list
  double before = 0;        ///< mean reciprocal rank of the best-graded result in the order that it replaces
  double after = 0;
  double error = 0;                    ///< standard error of the difference, by Student's t
  std::vector<ChangedPlace> better{};  ///< queries whose place changed, the most improved first
  std::vector<ChangedPlace> worse{};   ///< the most worsened first

  friend bool operator==(const JudgedGain&, const JudgedGain&) = default;
};

/// "12 judged queries: mean reciprocal rank 0.61 before, 0.78 now (by cross-validation; 4 better, 0 worse)"
std::string gain_text(const JudgedGain& gain);

/// The last decision on a domain's champion.
struct ModelDecision {
  UnixTime at = 0;  ///< 0: there was none yet
  std::string text;
};

/// The versions of a domain's models and how they are used.
struct ModelState {
  std::vector<ModelVersion> versions;  ///< the latest first
  std::string champion;                ///< version; empty: results are fused by RRF
  std::string challenger;              ///< version; empty for none
  std::vector<std::string> history;    ///< earlier champions, the latest last; an empty text means "no model"
  std::uint32_t tests = 0;             ///< promotion tests since the champion was activated
  std::string tested;                  ///< what the last test compared
  /// Somebody has reverted the champion: no challenger is promoted automatically until somebody activates
  /// a version.
  bool is_promotion_paused = false;
  std::optional<JudgedGain> gain;  ///< of the model that was trained last, while judged queries are few
  ModelDecision decision;
};

/// Champions and challengers in the folder of models. FOLDER/DOMAIN.json is the champion, which searches use;
/// FOLDER/versions/DOMAIN/VERSION.json are all versions, and state.json beside them says which is which.
/// Every file is replaced by renaming, so that a reader sees either the old or the new model. At most
/// kMaxVersions per domain are kept: the oldest that is neither champion, challenger nor in the history is
/// removed first. Several processes may use one folder.
class ModelVersions {
 public:
  explicit ModelVersions(std::string folder);

  /// All functions may fail with no_input or try_again for files, and bad_data for a damaged state.json
  /// or model.
  Result<ModelState> state(std::string_view domain);

  /// Stores a model and makes it the challenger.
  Result<std::string> add_challenger(std::string_view domain, const fusion::Model& model,
                                     std::string_view origin, UnixTime now);
  /// Makes a version the champion, also one that is, and ends a pause of promotion; revert() returns to the
  /// previous one.
  ///
  /// errors: usage for an unknown version
  Result<void> activate(std::string_view domain, std::string_view version);
  /// Makes the previous champion the champion again.
  ///
  /// in:     pauses_promotion - whether somebody decided this, which pauses automatic promotion
  /// errors: usage if there was no champion before
  Result<void> revert(std::string_view domain, bool pauses_promotion = true);
  /// Undoes activate() or revert(), when the new champion turns out not to fit.
  ///
  /// in: before - what state() said before; versions that were added since stay
  Result<void> restore(std::string_view domain, const ModelState& before);
  /// Counts a promotion test, unless it compares the same as the last one.
  ///
  /// out: how many there were since the champion was activated, including this one
  Result<std::uint32_t> count_test(std::string_view domain, std::string_view subject);

  /// Keeps what the model that was trained last brings to the judged queries.
  Result<void> note_gain(std::string_view domain, std::optional<JudgedGain> gain);
  Result<void> note_decision(std::string_view domain, ModelDecision decision);

  Result<fusion::Model> read(std::string_view domain, std::string_view version);

  /// Called after each change of a domain's files, before the change counts as done. The mirror sends shared
  /// files here. If it fails, the files are restored. Must be set before the first change.
  std::function<Result<void>(std::string_view domain)> on_saved;
  /// Called before each change. As long as the returned object is held, nobody else may change the files.
  std::function<std::shared_ptr<void>()> pause_others;

  static constexpr std::size_t kMaxVersions = 50;
  static constexpr std::size_t kMaxHistory = 20;

 private:
  std::string champion_path(std::string_view domain) const;
  std::string version_path(std::string_view domain, std::string_view version) const;
  /// A change under way, with the state before it.
  struct Change {
    std::shared_ptr<void> pause;
    FileLock lock;
    std::optional<std::string> champion_text, state_text;  ///< of the files before; only with on_saved
    std::string added = {};                                ///< path of a version's file that it created
    ModelState state = {};                                 ///< to be saved
  };
  Result<Change> begin(std::string_view domain);
  void put_back(std::string_view domain, const Change& change) const;
  Result<FileLock> lock(std::string_view domain) const;
  Result<ModelState> load(std::string_view domain);
  Result<void> save(std::string_view domain, Change& change);
  Result<void> write_champion(std::string_view domain, std::string_view version) const;
  Result<void> make_champion(std::string_view domain, std::string_view version, Change& change);

  std::string folder_;
  std::mutex mutex_;
};

/// Whether a text is a domain's name, [a-z0-9-]{1,64}, and therefore safe as part of a path.
bool is_domain_name(std::string_view text);

}  // namespace metafuse::service
