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

/// What POST /v1/feedback says: {"search_id","url", "id" or "position","kind":"click"|"judgment","grade"}.
struct FeedbackRequest {
  enum class Kind { click, judgment };
  Kind kind = Kind::click;
  std::string search;
  std::string url;             ///< as delivered; empty where another names the result
  std::string id;              ///< as the caller's list or the fused answer named it; empty likewise
  std::uint32_t position = 0;  ///< 1 is the first result that was shown; 0 likewise
  int grade = 0;               ///< of a judgment, 0 to kMaxGrade
};

inline constexpr int kMaxGrade = 10;

/// errors: usage naming the field: missing, of the wrong type, unknown, none or several of url, id and
///         position, a grade without a judgment, out of range
Result<FeedbackRequest> parse_feedback(const Json& body);

/// Who sends it.
struct FeedbackSender {
  std::string address;  ///< the client's; forgotten as soon as its prefix is hashed
  std::string key;      ///< name of the API key, empty without one
  bool is_judge = false;
  std::vector<std::string> domains{};  ///< that the key may use; empty for all
};

struct FeedbackRules {
  std::int64_t click_seconds = 6 * 3600;  ///< how long a search id takes clicks
  ClickCaps caps;
  TrackingParameters tracking = default_tracking_parameters();
  /// The store's; a click without a key then needs a search id that was delivered to its sender's address
  /// prefix. Empty: any search id will do.
  std::string secret;
  TimePoint end = TimePoint::max();  ///< for the store, by its own clock
};

/// Where the result that feedback is about stands in what was shown, or nothing.
std::optional<std::uint32_t> shown_position(const StoredSearch& search, const FeedbackRequest& request,
                                            const FeedbackRules& rules);

/// What became of feedback; each has the HTTP status that fits it.
enum class FeedbackOutcome {
  recorded,        ///< 200
  duplicate,       ///< 200: it was there already
  capped,          ///< 429: the day's weight of the address or key is used up
  unknown_search,  ///< 404; also when the search id was delivered to somebody else
  expired,         ///< 410
  not_shown,       ///< 422: the search did not show that result
  not_judge,       ///< 403: judgments need a key with the role
};

int http_status(FeedbackOutcome outcome);
/// "recorded", "duplicate", ...
std::string_view name_of(FeedbackOutcome outcome);
/// One sentence: what happened and what to do.
std::string_view explanation_of(FeedbackOutcome outcome);

/// Applies the rules and records the feedback.
///
/// in:     now - the time; also names the day whose salt hashes the sender's address prefix
/// errors: those of the store
Result<FeedbackOutcome> take_feedback(Store& store, const FeedbackRequest& request,
                                      const FeedbackSender& sender, const FeedbackRules& rules, UnixTime now);

}  // namespace metafuse::service
