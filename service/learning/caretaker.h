#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/json.h"
#include "service/config/snapshot.h"
#include "service/learning/promotion.h"
#include "service/store/model_versions.h"
#include "service/store/store.h"

namespace metafuse::service {

/// The parts that a caretaker works with; all must outlive it.
struct CaretakerOptions {
  Store* store = nullptr;
  ModelVersions* versions = nullptr;  ///< nullptr without a folder of models; then nothing is trained
  std::function<std::shared_ptr<const Snapshot>()> snapshot;
  std::function<UnixTime()> unix_time;
  std::function<bool()> has_duty =
      {};  ///< whether this server, among those of the store, has the duty; empty: it has
  /// Called with queries of a domain's plain slot that enough people asked, the most asked first.
  std::function<void(const std::string& domain, std::vector<std::string> queries)> on_asked;
  /// Called for every domain at every look, to find out what other servers of the store changed. It
  /// may be empty.
  std::function<void(const std::string& domain)> on_look = {};
  std::function<void()> on_models_changed;  ///< a champion or challenger has changed
  std::function<void(std::string_view event, JsonObject fields)> on_event;  ///< for log events
};

/// When a domain's challenger may become its champion. The rules refer to the domain.
PromotionRules promotion_rules(const LoadedDomain& domain);

/// The options by which the server trains a domain's challenger: its templates' features and
/// its configuration. They refer to the domain.
RetrainOptions retrain_options(const LoadedDomain& domain, const LearningConfig& learning, UnixTime now);

/// How many people must have asked a query on one day before it is suggested to others.
inline constexpr std::size_t kFewestPeople = 5;

/// Periodic work on a thread of its own with low priority: removes data older than the retention, learns
/// which queries are asked often and, if configured, trains and promotes challengers.
class Caretaker {
 public:
  explicit Caretaker(CaretakerOptions options);
  Caretaker(const Caretaker&) = delete;
  Caretaker& operator=(const Caretaker&) = delete;
  ~Caretaker();

  /// Starts the thread. It looks for due work every minute, or more often if retraining is more frequent.
  void start();
  void stop();

  /// Does the work that is due at a time. The thread calls it.
  void tick(UnixTime now);

  /// A domain's judgments or clicks have changed. If the configuration wants it and this server has the duty,
  /// the thread soon trains; feedback that comes within kGathering is learned from together. Feedback that
  /// another server took is found at the next look.
  void note_feedback(const std::string& domain);
  /// Trains the domains noted since the last call. The thread calls it.
  void learn_from_feedback(UnixTime now);

  static constexpr std::chrono::seconds kGathering{2};

 private:
  std::chrono::duration<double> until_next_look() const;
  void learn_asked(const Snapshot& snapshot);
  void forget_old(const Snapshot& snapshot, UnixTime now);
  void retrain_domain(const LoadedDomain& domain, const LearningConfig& learning, UnixTime now);
  void promote(const LoadedDomain& domain, const std::string& version, UnixTime now);
  UnixTime last_retrain(const std::string& domain);
  bool has_duty() const;
  bool trains() const;
  void look();
  void wait(std::unique_lock<std::mutex>& lock);

  CaretakerOptions options_;
  UnixTime next_forgetting_ = 0;
  UnixTime next_asked_ = 0;
  std::map<std::string, UnixTime> retrained_;
  std::map<std::string, std::string> learned_;  ///< marks of the feedback that each domain learned from
  std::mutex mutex_;
  std::condition_variable wakes_;
  bool is_stopping_ = false;
  std::set<std::string> noted_;                          ///< domains with new feedback
  std::chrono::steady_clock::time_point rests_until_{};  ///< no training from new feedback before this
  std::thread thread_;
};

}  // namespace metafuse::service
