#include "fetchers/list_task.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>

#include <curl/curl.h>
#include <fmt/format.h>

#include "core/ascii.h"
#include "core/number.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/vectors/vector_rows.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxSaidBytes = 160;
constexpr std::size_t kMostIds = 1000;
constexpr std::size_t kMaxIdBytes = 200;
constexpr std::size_t kMaxCursorBytes = 4096;
constexpr std::size_t kMostParts = 5;       ///< requests for details, if each holds several identifiers
constexpr std::size_t kMostSingleIds = 10;  ///< requests for details, if each holds one identifier

/// The value of Retry-After: seconds, or an HTTP date.
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

/// Recognises pages that ask for a human, by texts that large engines and bot protection services use
/// in them.
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

/// Judges an answer by its status: the reason why it holds no list, or nullopt if it should be parsed.
std::optional<ReadAnswer> judged(const HttpAccess& access, const HttpAnswer& answer, bool is_html) {
  const auto refused = [&](Failure failure, std::string message,
                           std::optional<Duration> wait = std::nullopt) {
    return ReadAnswer{
        {}, failure, std::move(message), wait, is_engines_fault(answer) ? Blame::engine : Blame::nobody};
  };
  if (answer.failure != Failure::none) return refused(answer.failure, answer.message);
  const auto& empty = access.no_result_statuses;
  if (std::find(empty.begin(), empty.end(), answer.status) != empty.end()) return ReadAnswer{};
  const std::string status = fmt::format("HTTP {}", answer.status);
  if (answer.status < 200 || answer.status > 299) {
    const auto wait = answer.status == 429 || answer.status == 503 ? retry_after(answer) : std::nullopt;
    if (answer.status == 429) return refused(Failure::rate_limited, status + said(answer), wait);
    if (is_html && asks_for_human(answer.body))
      return refused(Failure::captcha, status + ", a CAPTCHA page", wait);
    return refused(Failure::http_status, status + said(answer), wait);
  }
  return std::nullopt;
}

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool passes_on(const Authorization& auth, std::string_view name) {
  return std::any_of(auth.forwarded.begin(), auth.forwarded.end(),
                     [&](const std::string& one) { return ascii_lower(one) == ascii_lower(name); });
}

bool missing_forwarded(const Authorization& auth, const FetchOptions& options) {
  return std::none_of(options.forwarded.begin(), options.forwarded.end(),
                      [&](const auto& header) { return passes_on(auth, header.first); });
}

bool is_page(AnswerRules::Format format, const HttpAnswer& answer) {
  return format == AnswerRules::Format::html ||
         answer.header("content-type").find("html") != std::string_view::npos;
}

/// Puts results into the order in which the previous step found their identifiers; unknown ones come last.
void put_in_order(RankedList& list, const std::vector<std::string>& ids,
                  const std::vector<std::string>& ids_of_hits) {
  std::unordered_map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < ids.size(); ++i) place.emplace(ids[i], i);
  std::vector<std::pair<std::size_t, Hit>> hits;
  for (std::size_t i = 0; i < list.hits.size(); ++i) {
    const auto at = place.find(ids_of_hits[i]);
    hits.emplace_back(at == place.end() ? ids.size() : at->second, std::move(list.hits[i]));
  }
  std::stable_sort(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < hits.size(); ++i) list.hits[i] = std::move(hits[i].second);
}

}  // namespace

ReadAnswer read_answer(const Engine& engine, const HttpAccess& access, const HttpAnswer& answer,
                       const std::string& language, const std::vector<std::string>& ids) {
  const bool is_html = is_page(access.answer.format, answer);
  if (auto refusal = judged(access, answer, is_html)) return std::move(*refusal);
  std::vector<std::string> ids_of_hits;
  AnswerContext context{answer.url, std::string(answer.header("content-type")), language};
  context.spare_bytes = answer.body.capacity() - answer.body.size();
  if (!access.answer.id.empty()) context.ids = &ids_of_hits;
  auto list = parse_answer(access.answer, answer.body, context);
  if ((!list || list->hits.empty()) && is_html && asks_for_human(answer.body))
    return {{}, Failure::captcha, "a CAPTCHA page instead of results", {}, Blame::nobody};
  if (!list) return {{}, Failure::bad_answer, engine.name + ": " + list.error().text, {}, Blame::nobody};
  if (context.ids != nullptr) put_in_order(*list, ids, ids_of_hits);
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
  begin();
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
  begin();
}

/// Engines with OAuth2 first need a token.
void ListTask::begin() {
  const Authorization& auth = ready_->access.auth;
  if (auth.kind == Authorization::Kind::forward && missing_forwarded(auth, options_))
    return refuse(Failure::not_allowed, "the engine needs the caller's token, and the request has none");
  if (state_.tokens == nullptr) return begin_with_token();
  ask_for_token([self = shared_from_this()](const std::optional<std::string>& token, const std::string& why) {
    if (!token) return self->refuse(Failure::not_allowed, why);
    self->token_ = *token;
    self->begin_with_token();
  });
}

void ListTask::send_authorized(HttpRequest request, Transport::Done done) {
  const Authorization& auth = ready_->access.auth;
  const auto now = [&] { return shared_->options.unix_time ? shared_->options.unix_time() : unix_now(); };
  if (auth.kind == Authorization::Kind::hmac) sign_request(request, auth, now());
  if (auth.kind == Authorization::Kind::aws) sign_aws_request(request, auth, now());
  if (auth.kind == Authorization::Kind::forward)
    for (const auto& [name, value] : options_.forwarded)
      if (passes_on(auth, name)) request.headers.emplace_back(name, value);
  if (token_.empty()) return transport_.send(std::move(request), std::move(done));
  send_with_token(std::move(request), std::move(done), false);
}

/// If the engine rejects the token, the token is discarded and the request is sent once more with a new one.
void ListTask::send_with_token(HttpRequest request, Transport::Done done, bool is_second) {
  HttpRequest plain = request;
  request.headers.emplace_back("Authorization", "Bearer " + token_);
  auto self = shared_from_this();
  transport_.send(std::move(request), [self, is_second, token = token_, plain = std::move(plain),
                                       done = std::move(done)](HttpAnswer answer) {
    if (answer.status == 401) self->state_.tokens->forget(token);
    if (answer.status != 401 || is_second) return done(std::move(answer));
    self->post_([self, plain, done, refused = std::move(answer)] {
      self->ask_for_token([=](const std::optional<std::string>& newer, const std::string&) {
        if (!newer) return done(refused);
        self->token_ = *newer;
        HttpRequest again = plain;
        self->keep_within_time(again);
        self->send_with_token(std::move(again), done, true);
      });
    });
  });
}

/// `take` runs as an event of this task, unless the task has ended before.
void ListTask::ask_for_token(TokenKeeper::Take take) {
  auto self = shared_from_this();
  TokenKeeper::get(
      state_.tokens, shared_->clock->now(), *shared_->clock,
      [this](HttpRequest request, std::function<void(HttpAnswer)> done) {
        transport_.send(std::move(request), std::move(done));
      },
      [self, take = std::move(take)](const std::optional<std::string>& token, const std::string& why) {
        self->post_([self, take, token, why] {
          const std::lock_guard lock(self->mutex_);
          if (!self->is_finished_) take(token, why);
        });
      });
}

void ListTask::begin_with_token() {
  if (ready_->access.needs_query_field && field_query(query_.text).field.empty())
    return refuse(Failure::not_allowed, "this engine's query_type needs a query of the form field:value");
  plan_ = plan_pages(ready_->access, options_);
  if (plan_.is_beyond_end) return refuse(Failure::none, "the engine has no such page");
  ask_with_vector();
}

void ListTask::ask_with_vector() {
  if (!needs_vector(state_.engine)) return send_first();
  auto self = shared_from_this();
  shared_->embedder->embed(
      *state_.engine.embedding, query_.text, options_, shared_->clock->now(), transport_,
      [self](const EmbeddedText& text) { self->post_([self, text] { self->take_vector(text); }); });
}

void ListTask::take_vector(const EmbeddedText& text) {
  const std::lock_guard lock(mutex_);
  if (!text.vector) return refuse(text.failure, text.message);
  vector_ = vector_text(*text.vector);
  send_first();
}

void ListTask::send_first() {
  ready_->access.steps.empty() ? send_pages() : send_step();
}

/// Limits a later request to what the earlier ones have left of the engine's time-out.
void ListTask::keep_within_time(HttpRequest& request) const {
  const Duration left = engine_timeout(state_.engine) - (shared_->clock->now() - start_);
  request.timeout = std::max(std::min(request.timeout, left), Duration(std::chrono::milliseconds(1)));
}

void ListTask::send_step() {
  HttpRequest request =
      build_step_request(state_.engine, *ready_, query_.text, options_, next_step_, {"", ids_, vector_});
  keep_within_time(request);
  auto self = shared_from_this();
  send_authorized(std::move(request), [self](HttpAnswer answer) {
    self->post_([self, kept = std::make_shared<HttpAnswer>(std::move(answer))] { self->take_step(*kept); });
  });
}

void ListTask::take_step(const HttpAnswer& answer) {
  const std::lock_guard lock(mutex_);
  if (is_finished_) return;
  recorded_elapsed_ += answer.elapsed;
  const HttpAccess& access = ready_->access;
  const LookupStep& step = access.steps[next_step_++];
  const std::string name = fmt::format("step {}: ", next_step_);
  if (auto refusal = judged(access, answer, is_page(step.format, answer))) {
    if (refusal->failure != Failure::none) refusal->message = name + refusal->message;
    return finish(*refusal);
  }
  const AnswerContext context{answer.url, std::string(answer.header("content-type")), ""};
  const std::size_t most = std::min<std::size_t>(static_cast<std::size_t>(options_.depth), kMostIds);
  auto found = answer_texts(step.format, step.ids, answer.body, context, most);
  if (!found) return refuse(Failure::bad_answer, name + found.error().text);
  std::erase_if(*found, [](const std::string& id) {
    return id.size() > kMaxIdBytes ||
           std::any_of(id.begin(), id.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  });
  ids_ = std::move(*found);
  if (ids_.empty()) return refuse(Failure::none, "");
  next_step_ < access.steps.size() ? send_step() : send_details();
}

/// Requests the details of the last step's identifiers, as many per request as the definition allows.
void ListTask::send_details() {
  const HttpAccess& access = ready_->access;
  const bool is_one_each =
      access.url.find("{id}") != std::string::npos || access.body.find("{id}") != std::string::npos;
  const std::size_t size = is_one_each ? 1 : static_cast<std::size_t>(access.steps.back().per_request);
  const std::size_t most = is_one_each ? kMostSingleIds : kMostParts * size;
  for (std::size_t at = 0; at < std::min(ids_.size(), most); at += size)
    parts_.emplace_back(ids_.begin() + static_cast<std::ptrdiff_t>(at),
                        ids_.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, ids_.size())));
  plan_.count = static_cast<int>(parts_.size());
  send_pages();
}

void ListTask::send_pages() {
  pages_.resize(static_cast<std::size_t>(plan_.count));
  const int first_wave = plan_.is_sequential ? 1 : plan_.count;
  for (int i = 0; i < first_wave; ++i) ++under_way_;
  for (int i = 0; i < first_wave && !is_finished_; ++i) send_page(i, false);
}

void ListTask::send_page(int page, bool is_retry) {
  if (!is_retry) shared_->earn_retry();
  auto self = shared_from_this();
  Found found;
  found.cursor = cursor_;
  found.vector = vector_;
  if (!parts_.empty()) found.ids = parts_[static_cast<std::size_t>(page)];
  const int number = parts_.empty() ? plan_.first + page : plan_.first;
  HttpRequest request = build_request(state_.engine, *ready_, query_.text, options_, number, found);
  if (!parts_.empty() || !cursor_.empty()) keep_within_time(request);
  send_authorized(std::move(request), [self, page, is_retry](HttpAnswer answer) {
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
  slowest_page_ = std::max(slowest_page_, answer.elapsed);
  const HttpAccess& access = ready_->access;
  ReadAnswer read = read_answer(state_.engine, access, answer, request_language(access, options_), ids_);
  if (read.failure != Failure::none) {
    if (retries(read, answer, is_retry)) return send_page(page, true);
    if (page == 0) return finish(read);
  }
  --under_way_;
  const std::size_t arrived = read.list.hits.size();
  pages_[static_cast<std::size_t>(page)] = std::move(read.list);
  const bool has_next = access.next_page.cursor.empty() || takes_cursor(answer);
  if (plan_.is_sequential && arrived > 0 && page + 1 < plan_.count && has_next &&
      static_cast<int>(hits_so_far()) < plan_.skipped + options_.depth) {
    ++under_way_;
    return send_page(page + 1, false);
  }
  if (under_way_ > 0) return;
  if (read.failure != Failure::none) read.message = fmt::format("page {}: {}", page + 1, read.message);
  read.failure = Failure::none;  // the pages that did arrive form a list
  finish(read);
}

/// Takes the cursor of the next page. False on the last page, which has no cursor or repeats the one it was
/// requested by.
bool ListTask::takes_cursor(const HttpAnswer& answer) {
  const HttpAccess& access = ready_->access;
  const AnswerContext context{answer.url, std::string(answer.header("content-type")), ""};
  const auto found = answer_texts(access.answer.format, access.next_page.cursor, answer.body, context, 1);
  if (!found || found->empty() || found->front() == cursor_ || found->front().size() > kMaxCursorBytes)
    return false;
  cursor_ = found->front();
  return true;
}

std::size_t ListTask::hits_so_far() const {
  std::size_t hits = 0;
  for (const auto& page : pages_) hits += page ? page->hits.size() : 0;
  return hits;
}

/// Joins the pages. The receiver of the list removes hits of the same page.
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
  const auto skipped = std::min(static_cast<std::size_t>(plan_.skipped), list.hits.size());
  list.hits.erase(list.hits.begin(), list.hits.begin() + static_cast<std::ptrdiff_t>(skipped));
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
  fetched.elapsed = is_replay ? recorded_elapsed_ + slowest_page_ : shared_->clock->now() - start_;
  if (read.failure == Failure::none) fetched.list = take_pages();
  deliver_(std::move(fetched), read.blame, read.retry_after);
}

}  // namespace metafuse::fetchers
