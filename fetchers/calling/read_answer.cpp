#include "fetchers/calling/read_answer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/keyed_hash.h"
#include "core/text.h"
#include "core/url.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/engines/http/ready_access.h"
#include "fetchers/http/answer_headers.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kHeadBytes = 4096, kMaxSaidBytes = 160, kMaxMistakeBytes = 320;

constexpr std::array<std::string_view, 18> kHumanMarks = {
    "g-recaptcha",     "h-captcha",       "hcaptcha.com",     "cf-challenge",  "challenge-form",
    "/sorry/index",    "unusual traffic", "captcha-delivery", "smart-captcha", "smartcaptcha",
    "are you a robot", "not a robot",     "just a moment...", "anomaly-modal", "wappass.baidu.com",
    "id=\"captcha",    "class=\"captcha", "name=\"captcha"};

/// Google's page for clients without scripts, Baidu's check of the client, DuckDuckGo's refusal; the pages of
/// Google, YouTube and Yahoo that first ask for consent.
constexpr std::array<std::string_view, 7> kRefusalMarks = {"/httpservice/retry/enablejs",
                                                           "passmod_",
                                                           "consent.google.",
                                                           "consent.youtube.",
                                                           "consent.yahoo.",
                                                           "\u767e\u5ea6\u5b89\u5168\u9a8c\u8bc1",
                                                           "unusual traffic detected"};

/// Why a page without results is no empty list: an engine refuses programs, or asks for a human. Recognised
/// by texts, in lower case, that large engines and bot protection services use in such pages.
std::optional<FetchedList> page_of_refusal(std::string_view body) {
  const std::string head = ascii_lower(body.substr(0, 256 * 1024));
  const auto has = [&](std::string_view mark) { return head.find(mark) != std::string::npos; };
  if (std::any_of(kRefusalMarks.begin(), kRefusalMarks.end(), has))
    return failed(Failure::blocked, "a page without results that the engine sends to programs");
  if (std::any_of(kHumanMarks.begin(), kHumanMarks.end(), has))
    return failed(Failure::captcha, "a CAPTCHA page instead of results");
  return std::nullopt;
}

/// Failures caused by the engine or the connection to it.
bool is_engines_fault(const HttpAnswer& answer) {
  switch (answer.failure) {
    case Failure::none:
      return answer.status == 429 || answer.status >= 500;
    case Failure::timeout:
    case Failure::refused:
    case Failure::tls:
      return true;
    default:
      return false;
  }
}

/// Puts results into the order in which the previous step found their identifiers; unknown ones come last.
void put_in_order(RankedList& list, const std::vector<std::string>& ids,
                  const std::vector<std::string>& ids_of_hits) {
  TextViewMap<std::size_t> place;
  for (std::size_t i = 0; i < ids.size(); ++i) place.emplace(ids[i], i);
  std::vector<std::pair<std::size_t, Hit>> hits;
  for (std::size_t i = 0; i < list.hits.size(); ++i) {
    const auto at = place.find(ids_of_hits[i]);
    hits.emplace_back(at == place.end() ? ids.size() : at->second, std::move(list.hits[i]));
  }
  std::stable_sort(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < hits.size(); ++i) list.hits[i] = std::move(hits[i].second);
}

/// Some engines repeat the key of a request in the links of its answer.
void hide_secrets(RankedList& list, const HttpAccess& access) {
  for (Hit& hit : list.hits) {
    for (std::string* text : {&hit.url, &hit.title, &hit.snippet, &hit.thumbnail})
      hide_secrets(*text, access);
    for (auto& [name, text] : hit.details) hide_secrets(text, access);
  }
  for (std::string& text : list.suggestions) hide_secrets(text, access);
}

}  // namespace

FetchedList failed(Failure failure, std::string message, Blame blame, std::optional<Duration> retry_after) {
  return {{}, {}, failure, std::move(message), {}, blame, retry_after};
}

Blame blame_for(const HttpAnswer& answer) {
  return is_engines_fault(answer) ? Blame::engine : Blame::nobody;
}

std::optional<Duration> wished_pause(const HttpAnswer& answer) {
  return answer.status == 429 || answer.status == 503 ? retry_after(answer) : std::nullopt;
}

void hide_secrets(std::string& text, const HttpAccess& access) {
  redact(text, access.secrets);
}

std::string said(const HttpAccess& access, const HttpAnswer& answer) {
  std::string head = answer.body.substr(0, kHeadBytes);
  hide_secrets(head, access);  // before a secret can be cut off
  const std::string text = clean_text(head, true, kMaxSaidBytes);
  return text.empty() ? "" : ": " + text;
}

bool is_page(AnswerRules::Format format, const HttpAnswer& answer) {
  constexpr std::size_t kBegin = 64;
  const bool has_tag = ascii_trimmed(std::string_view(answer.body).substr(0, kBegin)).starts_with('<');
  return format == AnswerRules::Format::html || (format == AnswerRules::Format::json && has_tag) ||
         answer.header("content-type").find("html") != std::string_view::npos;
}

std::optional<FetchedList> judged(const HttpAccess& access, const HttpAnswer& answer, bool is_html) {
  const auto refused = [&](Failure failure, std::string message, std::optional<Duration> wait = {}) {
    FetchedList out = failed(failure, std::move(message), blame_for(answer), wait);
    out.status = answer.status;
    return out;
  };
  if (answer.failure != Failure::none) return refused(answer.failure, answer.message);
  const auto& empty = access.no_result_statuses;
  if (std::find(empty.begin(), empty.end(), answer.status) != empty.end()) return FetchedList{};
  const std::string status = fmt::format("HTTP {}", answer.status);
  if (answer.status < 200 || answer.status > 299) {
    const auto wait = wished_pause(answer);
    if (answer.status == 429) return refused(Failure::rate_limited, status + said(access, answer), wait);
    if (is_html)
      if (const auto page = page_of_refusal(answer.body))
        return refused(page->failure, status + ", " + page->message, wait);
    return refused(Failure::http_status, status + said(access, answer), wait);
  }
  return std::nullopt;
}

FetchedList read_answer(const Engine& engine, const HttpAccess& access, const HttpAnswer& answer,
                        AnswerOf of) {
  const bool is_html = is_page(access.answer.format, answer);
  if (auto refusal = judged(access, answer, is_html)) return std::move(*refusal);
  std::vector<std::string> ids_of_hits;
  AnswerContext context{answer.url, std::string(answer.header("content-type")), of.language};
  context.spare_bytes = answer.body.capacity() - answer.body.size();
  context.end = std::move(of.end);
  context.secrets = access.secrets;
  context.query = of.query;
  context.now = sent_at(answer).value_or(of.now);
  if (context.end.has_come()) return failed(Failure::timeout, "nobody waits for the answer any more");
  if (!access.answer.id.empty()) context.ids = &ids_of_hits;
  auto list = parse_answer(access.answer, answer.body, context);
  if ((!list || list->hits.empty()) && is_html)
    if (auto refusal = page_of_refusal(answer.body)) return std::move(*refusal);
  if (!list) {
    std::string mistake = list.error().text;
    hide_secrets(mistake, access);  // before a secret can be cut off
    return failed(Failure::bad_answer,
                  engine.name + ": " + std::string(truncate_utf8(mistake, kMaxMistakeBytes)));
  }
  if (context.ids != nullptr) put_in_order(*list, of.ids, ids_of_hits);
  hide_secrets(*list, access);
  FetchedList read;
  read.list = std::move(*list);
  return read;
}

}  // namespace metafuse::fetchers
