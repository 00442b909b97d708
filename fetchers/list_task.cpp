#include "fetchers/list_task.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <curl/curl.h>
#include <fmt/format.h>

#include "core/number.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/answers/answer_text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxSaidBytes = 160;

/// Seconds, or an HTTP date.
std::optional<Duration> retry_after(const HttpAnswer& answer) {
  const std::string text(answer.header("retry-after"));
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  if (to_double(text, seconds) && seconds >= 0 && seconds < 1e7)
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  const std::time_t date = curl_getdate(text.c_str(), nullptr);
  const std::time_t sent = curl_getdate(std::string(answer.header("date")).c_str(), nullptr);
  if (date < 0 || sent < 0 || date < sent) return std::nullopt;
  return std::chrono::seconds(date - sent);
}

/// A page that wants to see a human, as the large engines and their guards write it.
bool asks_for_human(std::string_view body) {
  constexpr std::array kMarks = {"g-recaptcha",      "h-captcha",     "hcaptcha.com",      "cf-challenge",
                                 "challenge-form",   "/sorry/index",  "unusual traffic",   "captcha-delivery",
                                 "smart-captcha",    "SmartCaptcha",  "are you a robot",   "not a robot",
                                 "Just a moment...", "anomaly-modal", "wappass.baidu.com", "id=\"captcha",
                                 "class=\"captcha",  "name=\"captcha"};
  const std::string_view head = body.substr(0, 256 * 1024);
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return head.find(mark) != std::string_view::npos; });
}

std::string said(const HttpAnswer& answer) {
  const std::string text = clean_text(std::string_view(answer.body).substr(0, 4096), true, kMaxSaidBytes);
  return text.empty() ? "" : ": " + text;
}

/// Failures that the engine or the way to it caused.
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

}  // namespace

ReadAnswer read_answer(const Engine& engine, const HttpAccess& access, const HttpAnswer& answer,
                       const std::string& language) {
  const auto refused = [&](Failure failure, std::string message,
                           std::optional<Duration> wait = std::nullopt) {
    return ReadAnswer{
        {}, failure, std::move(message), wait, is_engines_fault(answer) ? Blame::engine : Blame::nobody};
  };
  if (answer.failure != Failure::none) return refused(answer.failure, answer.message);
  const auto& empty = access.no_result_statuses;
  if (std::find(empty.begin(), empty.end(), answer.status) != empty.end()) return {};
  const std::string status = fmt::format("HTTP {}", answer.status);
  const bool is_html = access.answer.format == AnswerRules::Format::html ||
                       answer.header("content-type").find("html") != std::string_view::npos;
  if (answer.status < 200 || answer.status > 299) {
    const auto wait = answer.status == 429 || answer.status == 503 ? retry_after(answer) : std::nullopt;
    if (answer.status == 429) return refused(Failure::rate_limited, status + said(answer), wait);
    if (is_html && asks_for_human(answer.body))
      return refused(Failure::captcha, status + ", a page that asks for a human", wait);
    return refused(Failure::http_status, status + said(answer), wait);
  }
  auto list = parse_answer(access.answer, answer.body,
                           {answer.url, std::string(answer.header("content-type")), language});
  if ((!list || list->hits.empty()) && is_html && asks_for_human(answer.body))
    return refused(Failure::captcha, "a page that asks for a human instead of results");
  if (!list) return refused(Failure::bad_answer, engine.name + ": " + list.error().text);
  return {std::move(*list), Failure::none, "", std::nullopt, Blame::nobody};
}

ListTask::ListTask(std::shared_ptr<SharedState> shared, EngineState& state, Transport& transport,
                   ExpandedQuery query, FetchOptions options, Post post, Deliver deliver)
    : shared_(std::move(shared)),
      state_(state),
      transport_(transport),
      query_(std::move(query)),
      options_(std::move(options)),
      post_(std::move(post)),
      deliver_(std::move(deliver)),
      start_(shared_->clock->now()) {
  const std::lock_guard lock(state_.mutex);
  ready_ = state_.described ? state_.described : state_.http;
}

void ListTask::start() {
  const std::lock_guard lock(mutex_);
  if (ready_->access.url.empty()) {
    auto self = shared_from_this();
    return transport_.send(build_description_request(state_.engine, *ready_), [self](HttpAnswer answer) {
      self->post_(
          [self, kept = std::make_shared<HttpAnswer>(std::move(answer))] { self->take_description(*kept); });
    });
  }
  send_pages();
}

void ListTask::take_description(const HttpAnswer& answer) {
  const std::lock_guard lock(mutex_);
  const Blame blame = is_engines_fault(answer) ? Blame::engine : Blame::nobody;
  if (answer.failure != Failure::none)
    return finish({{}, answer.failure, "description document: " + answer.message, {}, blame});
  if (answer.status != 200)
    return finish(
        {{}, Failure::http_status, fmt::format("description document: HTTP {}", answer.status), {}, blame});
  auto described = std::make_shared<ReadyAccess>(*ready_);
  if (const auto applied = apply_description(*described, answer.body); !applied)
    return refuse(Failure::bad_answer, applied.error().text);
  ready_ = std::move(described);
  {
    const std::lock_guard state_lock(state_.mutex);
    state_.described = ready_;
  }
  send_pages();
}

void ListTask::send_pages() {
  if (ready_->access.needs_query_field && field_query(query_.text).field.empty())
    return refuse(Failure::not_allowed, "this engine's query_type wants a query of the form field:value");
  plan_ = plan_pages(ready_->access, options_);
  if (plan_.is_beyond_end) return refuse(Failure::none, "the engine has one page");
  pages_.resize(static_cast<std::size_t>(plan_.count));
  const int first_wave = plan_.is_sequential ? 1 : plan_.count;
  for (int i = 0; i < first_wave; ++i) ++under_way_;
  for (int i = 0; i < first_wave && !is_finished_; ++i) send_page(i, false);
}

void ListTask::send_page(int page, bool is_retry) {
  if (!is_retry) shared_->earn_retry();
  auto self = shared_from_this();
  transport_.send(
      build_request(state_.engine, *ready_, query_.text, options_, plan_.first + page),
      [self, page, is_retry](HttpAnswer answer) {
        self->post_([self, page, is_retry, kept = std::make_shared<HttpAnswer>(std::move(answer))] {
          self->take_page(page, *kept, is_retry);
        });
      });
}

bool ListTask::retries(const ReadAnswer& read, const HttpAnswer& answer, bool is_retry) {
  if (is_retry || state_.engine.retries == 0 || ready_->access.method != "GET" ||
      options_.deadline.has_passed())
    return false;
  const auto& statuses = state_.engine.retry_statuses;
  const bool is_worth = read.failure == Failure::refused ||
                        (read.failure == Failure::http_status &&
                         std::find(statuses.begin(), statuses.end(), answer.status) != statuses.end());
  return is_worth && shared_->take_retry();
}

void ListTask::take_page(int page, const HttpAnswer& answer, bool is_retry) {
  const std::lock_guard lock(mutex_);
  if (is_finished_) return;
  recorded_elapsed_ = std::max(recorded_elapsed_, answer.elapsed);
  ReadAnswer read =
      read_answer(state_.engine, ready_->access, answer, request_language(ready_->access, options_));
  if (read.failure != Failure::none) {
    if (retries(read, answer, is_retry)) return send_page(page, true);
    if (page == 0) return finish(read);
  }
  --under_way_;
  const std::size_t arrived = read.list.hits.size();
  pages_[static_cast<std::size_t>(page)] = std::move(read.list);
  if (plan_.is_sequential && arrived > 0 && page + 1 < plan_.count &&
      static_cast<int>(hits_so_far()) < options_.depth) {
    ++under_way_;
    return send_page(page + 1, false);
  }
  if (under_way_ > 0) return;
  if (read.failure != Failure::none) read.message = fmt::format("page {}: {}", page + 1, read.message);
  read.failure = Failure::none;  // the pages before it are a list
  finish(read);
}

std::size_t ListTask::hits_so_far() const {
  std::size_t hits = 0;
  for (const auto& page : pages_) hits += page ? page->hits.size() : 0;
  return hits;
}

/// The pages one after the other; who delivers the list leaves out what means the same page.
RankedList ListTask::take_pages() {
  RankedList list;
  for (auto& page : pages_) {
    if (!page) break;
    if (list.suggestions.empty()) list.suggestions = std::move(page->suggestions);
    if (list.hits.empty())
      list.hits = std::move(page->hits);
    else
      std::move(page->hits.begin(), page->hits.end(), std::back_inserter(list.hits));
  }
  return list;
}

void ListTask::finish(const ReadAnswer& read) {
  if (is_finished_) return;
  is_finished_ = true;
  FetchedList fetched;
  fetched.query = query_;
  fetched.failure = read.failure;
  fetched.message = read.message;
  const bool is_replay = shared_->options.recording == FetcherOptions::Recording::replay;
  fetched.elapsed = is_replay ? recorded_elapsed_ : shared_->clock->now() - start_;
  if (read.failure == Failure::none) fetched.list = take_pages();
  deliver_(std::move(fetched), read.blame, read.retry_after);
}

}  // namespace metafuse::fetchers
