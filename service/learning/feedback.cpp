#include "service/learning/feedback.h"

#include <algorithm>
#include <optional>

#include "core/digest.h"
#include "core/url.h"
#include "service/http/exchange.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kPrefixDigits = 32;
constexpr std::size_t kMaxUrlBytes = 8192;
constexpr std::size_t kMaxIdOfResult = 8192;  // a URL's canonical key is an id, too
constexpr std::int64_t kMaxPosition = 100000;

Error bad(std::string_view field, std::string_view what) {
  return fail(Code::usage, std::string(field) + ": " + std::string(what));
}

Result<std::string> text_field(const JsonObject& body, std::string_view name) {
  const Json* value = body.if_contains(name);
  if (value == nullptr) return std::string();
  if (!value->is_string() || value->get_string().empty()) return bad(name, "send a string that is not empty");
  return std::string(value->get_string());
}

Result<std::optional<int>> whole_field(const JsonObject& body, std::string_view name, std::int64_t least,
                                       std::int64_t most) {
  const Json* value = body.if_contains(name);
  if (value == nullptr) return std::optional<int>();
  const std::int64_t* number = value->if_int64();
  if (number == nullptr || *number < least || *number > most)
    return bad(name, "send a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::optional<int>(static_cast<int>(*number));
}

Result<void> check_fields(const JsonObject& body) {
  for (const auto& [name, value] : body) {
    const std::string_view known[] = {"search_id", "kind", "url", "id", "position", "grade"};
    if (std::find(std::begin(known), std::end(known), std::string_view(name)) == std::end(known))
      return bad(name, "unknown; send search_id, kind, url, id or position, and grade");
  }
  return {};
}

Result<void> read_kind(const JsonObject& body, FeedbackRequest& request) {
  TRY(const auto kind, text_field(body, "kind"));
  TRY(const auto grade, whole_field(body, "grade", 0, kMaxGrade));
  if (kind == "judgment") {
    request.kind = FeedbackRequest::Kind::judgment;
    if (!grade) return bad("grade", "a judgment needs a grade");
    request.grade = *grade;
    return {};
  }
  if (!kind.empty() && kind != "click") return bad("kind", "send click or judgment");
  if (grade) return bad("grade", "a click has no grade; send kind judgment");
  return {};
}

/// What the store may know a result by: its id or its URL's key, or the URL itself, which a caller may have
/// sent as an id; each of them also hashed. None for a text that is no URL.
std::vector<std::string> names_of(const FeedbackRequest& request, const FeedbackRules& rules) {
  std::vector<std::string> names{request.id};
  if (request.id.empty()) {
    auto key = canonical_url_key(request.url, rules.tracking);
    if (!key) return {};
    names = {std::move(*key), request.url};
  }
  for (std::size_t i = names.size(); i > 0; --i) names.push_back(hashed_document(rules.secret, names[i - 1]));
  return names;
}

/// One piece of feedback with all that decides what becomes of it.
struct SentFeedback {
  Store& store;
  const FeedbackRequest& request;
  const FeedbackSender& sender;
  const FeedbackRules& rules;
  UnixTime now;
};

Result<FeedbackOutcome> take_judgment(const SentFeedback& sent, const StoredSearch& search,
                                      std::uint32_t position) {
  const std::string& document = search.documents[search.shown[position].document];
  TRY_VOID(sent.store.judgments.set(
      {search.domain, search.query, document, sent.sender.key, sent.request.grade, search.id, sent.now},
      sent.rules.end));
  return FeedbackOutcome::recorded;
}

Result<FeedbackOutcome> take_click(const SentFeedback& sent, const StoredSearch& search,
                                   std::uint32_t position) {
  TRY(const std::string salt, sent.store.privacy.daily_salt(day_of(sent.now), sent.rules.end));
  Click click;
  click.search = sent.request.search;
  click.position = position;
  click.domain = search.domain;
  click.team = search.shown[position].team;
  click.at = sent.now;
  click.prefix = hmac_sha256_hex(salt, address_prefix(sent.sender.address)).substr(0, kPrefixDigits);
  click.key = sent.sender.key;
  TRY(const auto added, sent.store.clicks.add(click, sent.rules.caps, sent.rules.end));
  return added == ClickOutcome::recorded    ? FeedbackOutcome::recorded
         : added == ClickOutcome::duplicate ? FeedbackOutcome::duplicate
                                            : FeedbackOutcome::capped;
}

constexpr FeedbackAnswer kOutcomes[] = {
    {FeedbackOutcome::recorded, 200, "recorded", "The feedback was recorded."},
    {FeedbackOutcome::duplicate, 200, "duplicate", "This result was already clicked in this search."},
    {FeedbackOutcome::capped, 429, "capped",
     "This address or key has used up its clicks for today; send more tomorrow."},
    {FeedbackOutcome::unknown_search, 404, "unknown_search",
     "No search has that id; send the search_id of an answer."},
    {FeedbackOutcome::expired, 410, "expired", "The search is too old for clicks; search again."},
    {FeedbackOutcome::not_shown, 422, "not_shown",
     "The search did not show that result; send the position of one that it showed, its id if it was fused "
     "with one, or else its URL."},
    {FeedbackOutcome::not_judge, 403, "not_judge", "A judgment needs an API key with the role judge."},
};

}  // namespace

std::optional<std::uint32_t> shown_position(const StoredSearch& search, const FeedbackRequest& request,
                                            const FeedbackRules& rules) {
  if (request.position > 0) {
    if (request.position > search.shown.size()) return std::nullopt;
    return request.position - 1;
  }
  const std::vector<std::string> names = names_of(request, rules);
  for (std::size_t i = 0; i < search.shown.size(); ++i)
    if (std::ranges::find(names, search.documents[search.shown[i].document]) != names.end())
      return static_cast<std::uint32_t>(i);
  return std::nullopt;
}

const FeedbackAnswer& answer_to(FeedbackOutcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)];
}

Result<FeedbackRequest> parse_feedback(const Json& body) {
  if (!body.is_object()) return bad("body", "send a JSON object");
  const JsonObject& object = body.get_object();
  TRY_VOID(check_fields(object));
  FeedbackRequest request;
  TRY(request.search, text_field(object, "search_id"));
  if (request.search.empty()) return bad("search_id", "is missing; send the search_id of an answer");
  TRY(request.url, text_field(object, "url"));
  if (request.url.size() > kMaxUrlBytes) return bad("url", "is longer than 8 KB");
  TRY(const auto position, whole_field(object, "position", 1, kMaxPosition));
  request.position = static_cast<std::uint32_t>(position.value_or(0));
  TRY(request.id, text_field(object, "id"));
  if (request.id.size() > kMaxIdOfResult) return bad("id", "is longer than 8 KB");
  const int names =
      (request.url.empty() ? 0 : 1) + (request.id.empty() ? 0 : 1) + (request.position == 0 ? 0 : 1);
  if (names != 1) return bad("url", "send one of url, id and position");
  TRY_VOID(read_kind(object, request));
  return request;
}

Result<FeedbackOutcome> take_feedback(Store& store, const FeedbackRequest& request,
                                      const FeedbackSender& sender, const FeedbackRules& rules,
                                      UnixTime now) {
  const bool is_judgment = request.kind == FeedbackRequest::Kind::judgment;
  if (is_judgment && !sender.is_judge) return FeedbackOutcome::not_judge;
  if (!is_search_id(request.search)) return FeedbackOutcome::unknown_search;
  const bool is_bound = !is_judgment && sender.key.empty() && !rules.secret.empty();
  if (is_bound && !is_delivered_to(rules.secret, request.search, address_prefix(sender.address)))
    return FeedbackOutcome::unknown_search;
  TRY(const auto search, store.shown_search(request.search, rules.end));
  if (!search) return FeedbackOutcome::unknown_search;
  const StoredSearch& found = *search;
  const auto& domains = sender.domains;
  if (!domains.empty() && std::find(domains.begin(), domains.end(), found.domain) == domains.end())
    return FeedbackOutcome::unknown_search;
  if (!is_judgment && now - found.at > rules.click_seconds) return FeedbackOutcome::expired;
  const auto position = shown_position(found, request, rules);
  if (!position) return FeedbackOutcome::not_shown;
  const SentFeedback sent{store, request, sender, rules, now};
  return is_judgment ? take_judgment(sent, found, *position) : take_click(sent, found, *position);
}

}  // namespace metafuse::service
