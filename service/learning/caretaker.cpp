#include "service/learning/caretaker.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "service/base/dates.h"

namespace metafuse::service {
namespace {

constexpr double kMostBetweenLooks = 60;  ///< seconds
constexpr double kFewestBetweenLooks = 1;
constexpr UnixTime kBetweenForgetting = 3600;
constexpr UnixTime kBetweenAsked = 10 * kSecondsPerMinute;
constexpr std::size_t kMostAsked = 1000;
constexpr int kNiceness = 10;
/// After training from new feedback it rests this many times as long, so it takes a tenth of a core.
constexpr int kRestsPerTraining = 9;

/// A text that changes whenever there is new feedback to learn from.
Result<std::string> feedback_marks(Store& store, const std::string& domain) {
  TRY(const std::string judgments, store.judgments.mark(domain));
  TRY(const std::string clicks, store.clicks.mark(domain));
  return judgments + clicks;
}

/// Whether the same training may succeed at the next look.
bool may_pass(const Error& error) {
  return error.code == Code::try_again || error.code == Code::unavailable || error.code == Code::no_input;
}

}  // namespace

PromotionRules promotion_rules(const LoadedDomain& domain) {
  PromotionRules rules;
  rules.without_champion.rrf_k = domain.domain.rrf_k;
  rules.without_champion.model = domain.prior_model.get();
  return rules;
}

RetrainOptions retrain_options(const LoadedDomain& domain, const LearningConfig& learning, UnixTime now) {
  RetrainOptions options;
  options.training.domain = domain.domain.name;
  options.training.now = now;
  options.training.clicks.half_life_days = learning.click_half_life_days;
  options.training.features = features_of(domain.domain);
  options.training.judges = {std::string(model_name(learning.judge_model)), learning.judge_weight,
                             learning.is_judge_only, learning.is_judge_calibrated};
  options.prior = domain.prior;
  options.pooled = domain.same_lists;
  if (domain.domain.select) {
    options.choice.emplace();
    options.choice->may_lose = domain.domain.select->may_lose;
    for (const templates::RerankList& list : domain.domain.rerank)
      options.choice->others.push_back(list.feature_name());
  }
  options.rules = promotion_rules(domain);
  return options;
}

Caretaker::Caretaker(CaretakerOptions options) : options_(std::move(options)) {}

Caretaker::~Caretaker() {
  stop();
}

void Caretaker::start() {
  thread_ = std::thread([this] {
    // On Linux each thread has its own niceness; this one yields to searches.
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
    const auto guarded = [this](const auto& work) {
      try {
        work();
      } catch (const std::exception& error) {
        options_.on_event("a mistake of ours", {{"where", "caretaker"}, {"what", error.what()}});
      }
    };
    guarded([this] { look(); });
    std::unique_lock lock(mutex_);
    for (wait(lock); !is_stopping_; wait(lock)) {
      lock.unlock();
      guarded([this] {
        learn_from_feedback(options_.unix_time());
        tick(options_.unix_time());
      });
      lock.lock();
    }
  });
}

/// Waits until the next look, or until new feedback was gathered, or until it is to stop.
void Caretaker::wait(std::unique_lock<std::mutex>& lock) {
  const auto now = std::chrono::steady_clock::now;
  const auto next_look = now() + std::chrono::duration_cast<std::chrono::milliseconds>(until_next_look());
  const auto is_woken = [this] { return is_stopping_ || !noted_.empty(); };
  if (!wakes_.wait_until(lock, next_look, is_woken) || is_stopping_) return;
  const auto ripe = std::max(now() + kGathering, rests_until_);
  wakes_.wait_until(lock, ripe, [this] { return is_stopping_; });
}

bool Caretaker::has_duty() const {
  return !options_.has_duty || options_.has_duty();
}

bool Caretaker::trains() const {
  return options_.versions != nullptr && options_.snapshot()->config.learning.is_trained_on_change;
}

void Caretaker::note_feedback(const std::string& domain) {
  if (!trains()) return;
  {
    const std::lock_guard lock(mutex_);
    noted_.insert(domain);
  }
  wakes_.notify_all();
}

/// Finds out what other servers of the store did. A domain is noted if its feedback is not what it last
/// learned from. The first look only remembers what there is, so that no start trains all domains.
void Caretaker::look() {
  const auto snapshot = options_.snapshot();
  const bool is_learning = trains();
  for (const auto& [name, domain] : snapshot->domains) {
    if (options_.on_look) options_.on_look(name);
    if (!is_learning) continue;
    const auto marks = feedback_marks(*options_.store, name);
    if (!marks) continue;  // the next look tries again
    const auto [at, is_first] = learned_.try_emplace(name, *marks);
    if (!is_first && at->second != *marks && has_duty()) note_feedback(name);
  }
}

void Caretaker::learn_from_feedback(UnixTime now) {
  std::set<std::string> noted;
  {
    const std::lock_guard lock(mutex_);
    noted.swap(noted_);
  }
  if (noted.empty() || !has_duty()) return;
  const auto snapshot = options_.snapshot();
  const auto began = std::chrono::steady_clock::now();
  for (const std::string& name : noted)
    if (const auto domain = snapshot->domains.find(name); domain != snapshot->domains.end()) {
      retrained_[name] = now;
      retrain_domain(domain->second, snapshot->config.learning, now);
    }
  const auto ended = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  rests_until_ = ended + kRestsPerTraining * (ended - began);
}

void Caretaker::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::chrono::duration<double> Caretaker::until_next_look() const {
  const double interval = options_.snapshot()->config.learning.retrain_hours * kSecondsPerHour;
  const double seconds = interval > 0 ? std::min(interval, kMostBetweenLooks) : kMostBetweenLooks;
  return std::chrono::duration<double>(std::max(seconds, kFewestBetweenLooks));
}

void Caretaker::tick(UnixTime now) {
  options_.store->try_again();
  const auto snapshot = options_.snapshot();
  if (options_.on_asked && now >= next_asked_) {
    next_asked_ = now + kBetweenAsked;
    learn_asked(*snapshot);
  }
  look();
  if (!has_duty()) {
    retrained_.clear();  // the server with the duty retrains; the models' files record when
    return;
  }
  if (now >= next_forgetting_) {
    next_forgetting_ = now + kBetweenForgetting;
    forget_old(*snapshot, now);
  }
  const LearningConfig& learning = snapshot->config.learning;
  if (options_.versions == nullptr || learning.retrain_hours <= 0) return;
  for (const auto& [name, domain] : snapshot->domains) {
    const double hours = static_cast<double>(now - last_retrain(name)) / kSecondsPerHour;
    if (hours < learning.retrain_hours) continue;
    retrained_[name] = now;
    retrain_domain(domain, learning, now);
  }
}

void Caretaker::learn_asked(const Snapshot& snapshot) {
  for (const auto& [name, domain] : snapshot.domains) {
    const auto asked = options_.store->clicks.popular_queries(name, kFewestPeople, kMostAsked);
    if (asked.has_error()) {
      options_.on_event("asked queries not read", {{"domain", name}, {"reason", asked.error().text}});
      continue;
    }
    std::vector<std::string> texts;
    for (const BaseQuery& query : *asked)
      if (query.slots.size() == 1 && query.slots.begin()->first == plain_slot(domain.domain))
        texts.push_back(query.slots.begin()->second);
    options_.on_asked(name, std::move(texts));
  }
}

void Caretaker::forget_old(const Snapshot& snapshot, UnixTime now) {
  if (const auto forgotten = options_.store->privacy.forget_addresses(day_of(now)); !forgotten)
    options_.on_event("retention failed", {{"reason", forgotten.error().text}});
  const double seconds = snapshot.config.privacy.retention_days * kSecondsPerDay;
  const auto removed = options_.store->remove_before(now - static_cast<UnixTime>(seconds));
  if (removed.has_error()) return options_.on_event("retention failed", {{"reason", removed.error().text}});
  if (removed->searches + removed->clicks > 0)
    options_.on_event("retention", {{"searches", removed->searches}, {"clicks", removed->clicks}});
}

UnixTime Caretaker::last_retrain(const std::string& domain) {
  if (const auto at = retrained_.find(domain); at != retrained_.end()) return at->second;
  UnixTime latest = 0;
  const auto state = options_.versions->state(domain);
  if (state.has_value())
    for (const ModelVersion& version : state->versions)
      if (version.origin.starts_with(kTrained)) latest = std::max(latest, version.at);
  return retrained_[domain] = latest;
}

void Caretaker::promote(const LoadedDomain& domain, const std::string& version, UnixTime now) {
  const std::string& name = domain.domain.name;
  const auto report =
      promote_if_better(*options_.store, *options_.versions, name, promotion_rules(domain), true);
  if (report.has_error())
    return options_.on_event("promotion failed", {{"domain", name}, {"reason", report.error().text}});
  options_.on_event(report->is_better ? "promoted" : "not promoted",
                    {{"domain", name}, {"version", version}, {"reason", report->reason}});
  if (const auto noted = options_.versions->note_decision(name, {now, report->reason}); !noted)
    options_.on_event("promotion not noted", {{"domain", name}, {"reason", noted.error().text}});
}

void Caretaker::retrain_domain(const LoadedDomain& domain, const LearningConfig& learning, UnixTime now) {
  const std::string& name = domain.domain.name;
  const auto before = options_.versions->state(name);
  // read before the feedback itself, so that a look sees what comes meanwhile
  const auto marks = feedback_marks(*options_.store, name);
  const auto trained = retrain(*options_.store, *options_.versions, retrain_options(domain, learning, now));
  std::string& learned = learned_[name];
  if (marks && (trained || !may_pass(trained.error()))) learned = *marks;
  if (trained.has_error())
    return options_.on_event("retraining failed", {{"domain", name}, {"reason", trained.error().text}});
  if (!trained->too_little.empty())
    return options_.on_event("retraining failed", {{"domain", name}, {"reason", trained->too_little}});
  options_.on_event("retrained", {{"domain", name},
                                  {"version", trained->version},
                                  {"is_champion_again", trained->is_champion_again},
                                  {"data", trained->report.text()}});
  if (learning.is_promotion_automatic && !trained->is_champion_again) promote(domain, trained->version, now);
  // The same data make the same model. Then nothing is reloaded and cached answers stay.
  const auto after = options_.versions->state(name);
  const bool is_same = before.has_value() && after.has_value() && before->champion == after->champion &&
                       before->challenger == after->challenger;
  if (!is_same) options_.on_models_changed();
}

}  // namespace metafuse::service
