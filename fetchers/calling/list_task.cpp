#include "fetchers/calling/list_task.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "core/text.h"
#include "core/url.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/calling/read_answer.h"
#include "fetchers/engines/http/authorization.h"
#include "fetchers/engines/http/opensearch_description.h"
#include "fetchers/engines/http/rerank_exchange.h"
#include "fetchers/engines/vector/vector_rows.h"
#include "fetchers/http/answer_headers.h"

namespace metafuse::fetchers {
namespace {

constexpr auto kLongestParse = std::chrono::seconds(1);
constexpr std::size_t kMostIds = 1000;
constexpr std::size_t kMaxIdBytes = 200;
constexpr std::size_t kMaxCursorBytes = 4096;
constexpr std::size_t kMostIdRequests = 5;  ///< requests for details, if each holds several identifiers
constexpr std::size_t kMostSingleIds = 10;  ///< requests for details, if each holds one identifier

bool passes_on(const Authorization& auth, std::string_view name) {
  return std::any_of(auth.forwarded.begin(), auth.forwarded.end(),
                     [&](const std::string& one) { return equal_ignoring_case(one, name); });
}

/// A forwarded header under the name, and after the text, that the definition gives it.
std::pair<std::string, std::string> as_backend_reads(const Authorization& auth, const std::string& name,
                                                     const std::string& value) {
  for (std::size_t i = 0; i < auth.forwarded.size() && i < auth.renamed.size(); ++i)
    if (equal_ignoring_case(auth.forwarded[i], name))
      return {auth.renamed[i].first, auth.renamed[i].second + value};
  return {name, value};
}

bool missing_forwarded(const Authorization& auth, const FetchOptions& options) {
  if (!auth.callers_header.empty() && callers_token(auth, options).empty()) return true;
  return std::none_of(options.forwarded.begin(), options.forwarded.end(),
                      [&](const auto& header) { return passes_on(auth, header.first); });
}

}  // namespace

ListTask::ListTask(std::shared_ptr<FetcherState> shared, Job job)
    : shared_(std::move(shared)), job_(std::move(job)), start_(shared_->clock->now()) {
  const std::lock_guard lock(job_.state.mutex);
  ready_ = job_.state.described ? job_.state.described : job_.state.http;
}

template <class Event>
void ListTask::post(Event event) {
  job_.post([self = shared_from_this(), event = std::move(event)] {
    if (!self->is_finished_) event();
  });
}

template <class Take>
Transport::Done ListTask::passed_to(Take take) {
  return [self = shared_from_this(), take = std::move(take)](HttpAnswer answer) {
    self->post([take, kept = std::make_shared<HttpAnswer>(std::move(answer))] { take(*kept); });
  };
}

void ListTask::start() {
  if (!ready_->access.url.empty()) return begin();
  job_.transport.send(build_description_request(job_.state.engine, *ready_),
                      passed_to([this](const HttpAnswer& answer) { take_description(answer); }));
}

void ListTask::take_description(const HttpAnswer& answer) {
  if (answer.failure != Failure::none)
    return refuse(answer.failure, "description document: " + answer.message, blame_for(answer));
  if (answer.status != 200)
    return refuse(Failure::http_status, fmt::format("description document: HTTP {}", answer.status),
                  blame_for(answer));
  auto described = std::make_shared<ReadyAccess>(*ready_);
  if (const auto applied = apply_description(*described, answer.body); !applied)
    return refuse(Failure::bad_answer, applied.error().text);
  ready_ = std::move(described);
  {
    const std::lock_guard state_lock(job_.state.mutex);
    job_.state.described = ready_;
  }
  begin();
}

/// Engines with OAuth2 first need a token.
void ListTask::begin() {
  const Authorization& auth = ready_->access.auth;
  if (!auth.forwarded.empty() && missing_forwarded(auth, job_.options))
    return refuse(Failure::not_allowed, "the engine needs the caller's token, and the request has none");
  if (job_.state.tokens == nullptr) return begin_with_token();
  keeper_ = job_.state.tokens->find(callers_token(auth, job_.options));
  ask_for_token([this](const std::optional<std::string>& token, const std::string& why) {
    if (!token) return refuse(Failure::not_allowed, why);
    use_token(*token);
    begin_with_token();
  });
}

/// From here on the token is sent, and hidden where the engine repeats it.
void ListTask::use_token(const std::string& token) {
  auto ready = std::make_shared<ReadyAccess>(*ready_);
  add_secret(ready->access.secrets, token);
  ready_ = std::move(ready);
  token_ = token;
}

std::int64_t ListTask::unix_time() const {
  if (shared_->options.unix_time) return shared_->options.unix_time();
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void ListTask::send_authorized(EngineRequest request, Transport::Done done) {
  ++sent_;
  job_.on_request();
  const Authorization& auth = ready_->access.auth;
  if (auth.kind == Authorization::Kind::hmac) sign_request(request, auth, unix_time());
  if (auth.kind == Authorization::Kind::aws) sign_aws_request(request, auth, unix_time());
  if (auth.kind == Authorization::Kind::forward)
    for (const auto& [name, value] : job_.options.forwarded)
      if (passes_on(auth, name)) request.headers.push_back(as_backend_reads(auth, name, value));
  if (ready_->access.keeps_cookies) done = keep_cookies(request, std::move(done));
  if (token_.empty()) return job_.transport.send(std::move(request), std::move(done));
  send_with_token(std::move(request), std::move(done), false);
}

Transport::Done ListTask::keep_cookies(EngineRequest& request, Transport::Done done) {
  add_cookies(request.headers, cookies_);
  const auto asked = parts_of_url(request.url);
  const std::string own = ready_->own_origin.empty() && asked ? asked->origin() : ready_->own_origin;
  return [self = shared_from_this(), own, done = std::move(done)](HttpAnswer answer) {
    const auto from = parts_of_url(answer.url);
    if (from && from->origin() == own)
      self->post([task = self.get(), headers = answer.headers] { note_cookies(task->cookies_, headers); });
    done(std::move(answer));
  };
}

/// If the engine rejects the token, the token is discarded and the request is sent once more with a new one.
void ListTask::send_with_token(EngineRequest request, Transport::Done done, bool is_second) {
  EngineRequest plain = request;
  request.headers.emplace_back("Authorization", "Bearer " + token_);
  job_.transport.send(
      std::move(request), [self = shared_from_this(), is_second, token = token_, plain = std::move(plain),
                           done = std::move(done)](HttpAnswer answer) {
        if (answer.status == 401) self->keeper_->forget(token);
        if (answer.status != 401 || is_second) return done(std::move(answer));
        self->post([task = self.get(), plain, done, refused = std::move(answer)] {
          task->ask_for_token([=](const std::optional<std::string>& newer, const std::string&) {
            if (!newer) return done(refused);
            task->use_token(*newer);
            EngineRequest again = plain;
            again.secrets = task->ready_->access.secrets;  // the newer token among them
            task->keep_within_time(again);
            task->send_with_token(std::move(again), done, true);
          });
        });
      });
}

/// `take` runs as an event of this task.
void ListTask::ask_for_token(TokenKeeper::Take take) {
  TokenKeeper::get(
      keeper_, *shared_->clock, unix_time(),
      [this](EngineRequest request, std::function<void(HttpAnswer)> done) {
        request.proxy = ready_->access.proxy;
        hide_secrets(request.record_url, ready_->access);
        job_.token_transport->send(std::move(request), std::move(done));
      },
      [self = shared_from_this(), take = std::move(take)](const std::optional<std::string>& token,
                                                          const std::string& why) {
        self->post([take, token, why] { take(token, why); });
      });
}

void ListTask::begin_with_token() {
  if (!ready_->access.query_pattern.empty() && !query_groups(ready_->access, job_.query.text))
    return refuse(Failure::none, "");  // not a question for this engine
  if (ready_->access.needs_query_field && field_query(job_.query.text).field.empty())
    return refuse(Failure::not_allowed, "this engine's query_type needs a query of the form field:value");
  if (ready_->access.rerank != RerankApi::none && job_.options.documents == nullptr)
    return refuse(Failure::not_allowed, "a reranker orders results and cannot be searched");
  pages_.plan = plan_pages(ready_->access, job_.options, largest_page());
  if (pages_.plan.is_beyond_end) return refuse(Failure::none, "the engine has no such page");
  if (!needs_vector(job_.state.engine)) return send_first();
  shared_->embedder->embed(*job_.state.engine.embedding, job_.query.text, job_.options, shared_->clock->now(),
                           job_.transport, [self = shared_from_this()](const EmbeddedText& text) {
                             self->post([task = self.get(), text] { task->take_vector(text); });
                           });
}

void ListTask::take_vector(const EmbeddedText& text) {
  if (!text.vector) return refuse(text.failure, text.message);
  found_.vector = vector_text(*text.vector);
  send_first();
}

void ListTask::send_first() {
  ready_->access.steps.empty() ? send_pages() : send_step();
}

/// Limits a later request to what the earlier ones have left of the engine's time-out.
void ListTask::keep_within_time(EngineRequest& request) const {
  const Duration left = engine_timeout(job_.state.engine) - (shared_->clock->now() - start_);
  request.timeout = std::max(std::min(request.timeout, left), Duration(std::chrono::milliseconds(1)));
}

WorkEnd ListTask::end_of_parse() const {
  return WorkEnd([until = shared_->clock->now() + kLongestParse, clock = shared_->clock,
                  is_futile = job_.is_futile] { return clock->now() >= until || is_futile(); });
}

void ListTask::send_step() {
  EngineRequest request =
      build_step_request(job_.state.engine, *ready_, job_.query.text, job_.options, next_step_, found_);
  keep_within_time(request);
  send_authorized(std::move(request), passed_to([this](const HttpAnswer& answer) { take_step(answer); }));
}

void ListTask::take_step(const HttpAnswer& answer) {
  recorded_elapsed_ += answer.elapsed;
  const HttpAccess& access = ready_->access;
  const LookupStep& step = access.steps[next_step_++];
  const std::string name = fmt::format("step {}: ", next_step_);
  if (auto refusal = judged(access, answer, is_page(step.format, answer))) {
    if (refusal->failure != Failure::none) refusal->message = name + refusal->message;
    return finish(std::move(*refusal));
  }
  const AnswerContext context{answer.url, std::string(answer.header("content-type")), ""};
  const std::size_t most = std::min<std::size_t>(static_cast<std::size_t>(job_.options.depth), kMostIds);
  auto found = answer_texts(step.format, step.ids, answer.body, context, most);
  if (!found) return refuse(Failure::bad_answer, name + found.error().text);
  std::erase_if(*found, [](const std::string& id) {
    return id.size() > kMaxIdBytes ||
           std::any_of(id.begin(), id.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  });
  found_.ids = std::move(*found);
  if (found_.ids.empty()) return refuse(Failure::none, "");
  next_step_ < access.steps.size() ? send_step() : send_details();
}

/// Requests the details of the last step's identifiers, as many per request as the definition allows.
void ListTask::send_details() {
  const HttpAccess& access = ready_->access;
  const std::vector<std::string>& ids = found_.ids;
  const bool is_one_each =
      access.url.find("{id}") != std::string::npos || access.body.find("{id}") != std::string::npos;
  const std::size_t size = is_one_each ? 1 : static_cast<std::size_t>(access.steps.back().per_request);
  const std::size_t end = std::min(ids.size(), is_one_each ? kMostSingleIds : kMostIdRequests * size);
  for (std::size_t at = 0; at < end; at += size)
    parts_.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(at),
                        ids.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, ids.size())));
  pages_.plan.count = static_cast<int>(parts_.size());
  send_pages();
}

void ListTask::send_pages() {
  pages_.lists.resize(static_cast<std::size_t>(pages_.plan.count));
  const int first_wave = pages_.plan.is_sequential ? 1 : pages_.plan.count;
  pages_.under_way += first_wave;
  for (int i = 0; i < first_wave && !is_finished_; ++i) send_page(i, false);
}

/// A replay depends on the recording only, so that neither it nor what it replays knows earlier answers.
int ListTask::largest_page() const {
  if (shared_->options.recording != FetcherOptions::Recording::off) return 0;
  const std::lock_guard lock(job_.state.mutex);
  return job_.state.largest_page;
}

/// Later windows of a list begin where this one ended only if it is known how many results a page has.
void ListTask::note_page(std::size_t results) const {
  if (!pages_.plan.is_sequential || ready_->access.paging.next.is_followed()) return;
  const std::lock_guard lock(job_.state.mutex);
  job_.state.largest_page = std::max(job_.state.largest_page, static_cast<int>(results));
}

void ListTask::send_page(int page, bool is_retry) {
  if (!is_retry && !job_.is_hedge) {
    shared_->retries.earn();
    shared_->hedges.earn();
  }
  Found found{found_.cursor, {}, found_.vector, found_.is_address};
  if (!parts_.empty()) found.ids = parts_[static_cast<std::size_t>(page)];
  const int number = parts_.empty() ? pages_.plan.first + page : pages_.plan.first;
  EngineRequest request =
      build_request(job_.state.engine, *ready_, job_.query.text, job_.options, number, found);
  if (is_retry || !parts_.empty() || !found.cursor.empty()) keep_within_time(request);
  if (ready_->access.rerank != RerankApi::none)
    request.body = request.record_body =
        rerank_body(ready_->access, job_.query.text, *job_.options.documents);
  send_authorized(std::move(request), passed_to([this, page, is_retry](const HttpAnswer& answer) {
                    take_page(page, answer, is_retry);
                  }));
}

FetchedList ListTask::read_page(const HttpAnswer& answer) const {
  const HttpAccess& access = ready_->access;
  if (access.rerank != RerankApi::none) {
    if (auto refusal = judged(access, answer, false)) return std::move(*refusal);
    auto order = read_rerank_answer(access, answer.body, *job_.options.documents);
    if (!order) return failed(Failure::bad_answer, order.error().text);
    return {{}, std::move(*order), Failure::none, "", {}};
  }
  return read_answer(
      job_.state.engine, access, answer,
      {language_value(access, job_.options), found_.ids, end_of_parse(), job_.query.text, unix_time()});
}

bool ListTask::retries(const FetchedList& read, const HttpAnswer& answer, bool is_retry) {
  if (is_retry || job_.state.engine.retries == 0 || ready_->access.method != "GET" ||
      job_.options.deadline.has_passed())
    return false;
  const auto& statuses = job_.state.engine.retry_statuses;
  const bool is_worth = read.failure == Failure::refused ||
                        (read.failure == Failure::http_status &&
                         std::find(statuses.begin(), statuses.end(), answer.status) != statuses.end());
  return is_worth && shared_->retries.take();
}

void ListTask::take_page(int page, const HttpAnswer& answer, bool is_retry) {
  pages_.slowest = std::max(pages_.slowest, answer.elapsed);
  const HttpAccess& access = ready_->access;
  const PagePlan& plan = pages_.plan;
  FetchedList read = read_page(answer);
  if (read.failure != Failure::none) {
    if (retries(read, answer, is_retry)) return send_page(page, true);
    if (page == 0) return finish(std::move(read));
  }
  --pages_.under_way;
  const std::size_t arrived = read.list.hits.size();
  note_page(arrived);
  if (read.failure == Failure::none)
    pages_.lists[static_cast<std::size_t>(page)] = std::move(read.list);
  else
    pages_.note_lost(page, std::move(read));
  const bool has_next = !access.paging.next.is_followed() || takes_cursor(answer);
  if (plan.is_sequential && arrived > 0 && page + 1 < plan.count && has_next &&
      static_cast<int>(pages_.hits()) < plan.skipped + job_.options.depth) {
    ++pages_.under_way;
    job_.keep(Pages(pages_).joined());
    return send_page(page + 1, false);
  }
  if (pages_.under_way > 0) return job_.keep(Pages(pages_).joined());
  finish_pages();
}

/// The pages that did arrive form a list. As the first of them did, its engine is not blamed for the others,
/// unless it asks to be left alone.
void ListTask::finish_pages() {
  FetchedList out;
  if (const auto& lost = pages_.first_lost) {
    out.message = fmt::format("page {}: {}", pages_.lost_page + 1, lost->message);
    out.lacks_pages = true;
    out.retry_after = lost->retry_after;
    if (lost->retry_after || lost->status == 429) out.blame = lost->blame;
  }
  finish(std::move(out));
}

/// Takes the cursor of the next page. False on the last page, which has no cursor or repeats the one it was
/// requested by.
bool ListTask::takes_cursor(const HttpAnswer& answer) {
  const HttpAccess& access = ready_->access;
  if (access.paging.next.is_link_header) return takes_address(next_link(answer.headers), answer);
  const AnswerContext context{answer.url, std::string(answer.header("content-type")), ""};
  const auto found = answer_texts(access.answer.format, access.paging.next.cursor, answer.body, context, 1);
  if (access.paging.next.is_address)
    return takes_address(found && !found->empty() ? found->front() : std::string(), answer);
  std::string& cursor = found_.cursor;
  if (!found || found->empty() || found->front() == cursor || found->front().size() > kMaxCursorBytes)
    return false;
  cursor = found->front();
  return true;
}

/// Takes the URL of the next page if it is on the definition's own server: credentials are sent there.
bool ListTask::takes_address(const std::string& link, const HttpAnswer& answer) {
  const auto url = link.empty() ? std::nullopt : resolved_url(link, answer.url);
  const auto parts = url ? parts_of_url(*url) : std::nullopt;
  if (!parts || url->size() > kMaxCursorBytes || *url == found_.cursor || *url == answer.url) return false;
  const auto asked = parts_of_url(answer.url);
  if (parts->origin() != (ready_->own_origin.empty() && asked ? asked->origin() : ready_->own_origin))
    return false;
  if (asked && asked->scheme == "https" && parts->scheme != "https") return false;
  found_.cursor = *url;
  found_.is_address = true;
  return true;
}

std::size_t ListTask::Pages::hits() const {
  std::size_t hits = 0;
  for (const auto& list : lists) hits += list ? list->hits.size() : 0;
  return hits;
}

void ListTask::Pages::note_lost(int page, FetchedList read) {
  if (first_lost && lost_page < page) return;
  first_lost = std::move(read);
  lost_page = page;
}

RankedList ListTask::Pages::joined() {
  RankedList out;
  for (auto& list : lists) {
    if (!list) break;
    if (out.suggestions.empty()) out.suggestions = std::move(list->suggestions);
    if (out.hits.empty())
      out.hits = std::move(list->hits);
    else
      std::move(list->hits.begin(), list->hits.end(), std::back_inserter(out.hits));
  }
  const auto skipped = std::min(static_cast<std::size_t>(plan.skipped), out.hits.size());
  out.hits.erase(out.hits.begin(), out.hits.begin() + static_cast<std::ptrdiff_t>(skipped));
  return out;
}

void ListTask::refuse(Failure failure, std::string message, Blame blame) {
  finish(failed(failure, std::move(message), blame));
}

void ListTask::finish(FetchedList ended) {
  if (is_finished_) return;
  is_finished_ = true;
  ended.query = job_.query;
  ended.requests = sent_;
  hide_secrets(ended.message, ready_->access);
  const bool is_replay = shared_->options.recording == FetcherOptions::Recording::replay;
  ended.elapsed = is_replay ? recorded_elapsed_ + pages_.slowest : shared_->clock->now() - start_;
  ended.list = ended.failure == Failure::none ? pages_.joined() : RankedList();
  job_.deliver(std::move(ended));
}

}  // namespace metafuse::fetchers
