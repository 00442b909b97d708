#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fetchers/health/answer_shape.h"

// What is known about one engine: the profile of its good answers, and a sequential test that notices when
// answers are no longer like them. For each oddity k there is a chart (CUSUM; Page 1954): each answer adds
// ln(q/p) if it has the oddity and ln((1-q)/(1-p)) if not, but the sum never falls below 0. p is how often
// good answers of this engine have had the oddity, q how often a broken engine's answers have it. At
// kAlarm the engine is taken to be broken. As the expected exponential of each increment is at most 1 as
// long as answers stay as they were, a chart alarms at most once in exp(kAlarm) answers on average
// (Lorden 1971). An engine that often finds nothing by itself needs more evidence than one that always finds
// something, and one that finds nothing for most queries cannot be judged by empty answers at all.

namespace metafuse::fetchers {

/// The figures of an engine's recent good answers, and how often each oddity occurred in answers of a
/// working engine.
struct HealthProfile {
  static constexpr std::size_t kWindow = 64;

  std::vector<std::array<double, kFigures>> window;  ///< a ring; NaN where an answer could not tell
  std::uint64_t noted = 0;                           ///< answers that the window has seen
  std::map<std::string, double, std::less<>> hosts;  ///< share of the results, with the recent ones first
  std::map<std::string, double, std::less<>> languages;
  std::array<double, kOddities> odd{};
  double judged = 0;        ///< answers that `odd` counts
  double judged_known = 0;  ///< those of them that answered known queries

  /// The median of a figure over the window; nothing before there are enough answers.
  std::optional<double> usual(Figure figure) const;
  /// How often good answers have an oddity, with a margin for how little is known.
  double rate(Oddity oddity) const;
  /// Whether enough answers are known to judge their shape.
  bool is_learned() const;
};

/// The circumstances of an answer.
struct AnswerSetting {
  std::string query;  ///< as it was sent
  Others others = Others::nobody;
  bool is_known = false;        ///< the engine found something for this query before
  double patience_seconds = 0;  ///< how long the answer was waited for; 0: not limited
  std::uint64_t sender = 0;     ///< a hash of who asked; 0: we did
};

/// A judged answer that the profile has not learned from yet.
struct PendingAnswer {
  AnswerShape shape;
  Oddities oddities;
  bool was_known = false;
};

struct HealthRecord {
  HealthProfile profile{};
  std::array<double, kOddities> evidence{};
  HealthState state = HealthState::works;
  Oddity sign = Oddity::any;             ///< what the state was concluded from, unless the engine works
  std::int64_t since = 0;                ///< seconds since 1970: when the state began
  std::int64_t last = 0;                 ///< when an answer was last judged
  double recovery = 0;                   ///< evidence that a broken engine works again
  std::vector<PendingAnswer> pending{};  ///< good unless the next answers show otherwise
  std::vector<std::string> last_keys{};  ///< of the last answer with results
  std::string last_query{};
  /// Whose searches had answers that were odd perhaps because of the searches, and when that last counted.
  std::map<std::uint64_t, std::int64_t> odd_senders{};

  /// Whether the evidence is half of what an alarm needs.
  bool is_suspected() const;
  bool is_broken() const { return state != HealthState::works; }
};

/// How an answer differs from the profile.
///
/// out:    nothing for an answer that tells nothing about the engine: one that was not asked for, one that a
///         short deadline cut off, and none where nobody else finds anything
std::optional<Oddities> oddities_of(const AnswerShape& shape, const AnswerSetting& setting,
                                    const HealthRecord& record);

/// Takes an answer into account: judges it, adds the evidence, and learns from it unless it is suspicious.
///
/// out:    whether the state has changed
bool note_answer(HealthRecord& record, const AnswerShape& shape, const AnswerSetting& setting,
                 std::int64_t now);

/// The state that a few answers to known queries show at once, without the charts: that of the commonest
/// oddity, if more than half of the answers have one.
std::pair<HealthState, Oddity> state_shown_by(const std::vector<Oddities>& answers);

}  // namespace metafuse::fetchers
