#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "core/tracking_parameters.h"
#include "service/store/store.h"

namespace metafuse::service {

/// The body of POST /v1/feedback: {"search_id","url", "id" or "position","kind":"click"|"judgment","grade"}.
struct FeedbackRequest {
  enum class Kind { click, judgment };
  Kind kind = Kind::click;
  std::string search;
  std::string url;             ///< as delivered; empty if `id` or `position` names the result
  std::string id;              ///< as the caller's list or the fused answer named it; empty if it is not used
  std::uint32_t position = 0;  ///< 1 is the first result shown; 0 if it is not used
  int grade = 0;               ///< of a judgment, 0 to kMaxGrade
};

/// errors: usage naming the field: missing, of the wrong type, unknown, out of range, a grade without a
///         judgment, or not exactly one of url, id and position
Result<FeedbackRequest> parse_feedback(const Json& body);

/// The sender of feedback.
struct FeedbackSender {
  std::string address;  ///< the client's; only a hash of its prefix is stored
  std::string key;      ///< name of the API key, empty without one
  bool is_judge = false;
  std::vector<std::string> domains{};  ///< domains that the key may use; empty for all
};

struct FeedbackRules {
  std::int64_t click_seconds = 6 * 3600;  ///< how long a search accepts clicks
  ClickCaps caps;
  TrackingParameters tracking = default_tracking_parameters();
  /// The store's secret. With it, a click without a key needs a search id that was delivered to the sender's
  /// address prefix. If it is empty, any search id is accepted.
  std::string secret;
  TimePoint end = TimePoint::max();  ///< deadline for the store, on the steady clock
};

/// The position in `shown` of the result that feedback is about, or nothing.
std::optional<std::uint32_t> shown_position(const StoredSearch& search, const FeedbackRequest& request,
                                            const FeedbackRules& rules);

/// The outcomes of feedback, with the HTTP status of each.
enum class FeedbackOutcome {
  recorded,        ///< 200
  duplicate,       ///< 200: it was recorded before
  capped,          ///< 429: the address or key has used up its weight of clicks for the day
  unknown_search,  ///< 404; also if the search id was delivered to somebody else
  expired,         ///< 410
  not_shown,       ///< 422: the search did not show that result
  not_judge,       ///< 403: judgments need a key with the role
};

/// What the sender is told about an outcome.
struct FeedbackAnswer {
  FeedbackOutcome outcome;
  int status;                    ///< of HTTP
  std::string_view name;         ///< "recorded", "duplicate", ...
  std::string_view explanation;  ///< one sentence: what happened and what to do
};
const FeedbackAnswer& answer_to(FeedbackOutcome outcome);

/// Applies the rules and records the feedback.
///
/// in:     now - the time; its day's salt hashes the sender's address prefix
/// errors: those of the store
Result<FeedbackOutcome> take_feedback(Store& store, const FeedbackRequest& request,
                                      const FeedbackSender& sender, const FeedbackRules& rules, UnixTime now);

}  // namespace metafuse::service
