#include "fetchers/trial.h"

#include <condition_variable>
#include <mutex>

#include "core/json.h"
#include "core/utf8.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/http/transport.h"
#include "fetchers/list_task.h"
#include "fetchers/make_fetcher.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kShownBytes = 2000;

/// Remembers what went through, for the person who looks.
class WatchingTransport final : public Transport {
 public:
  WatchingTransport(std::unique_ptr<Transport> inner, std::string& log)
      : inner_(std::move(inner)), log_(log) {}

  void send(HttpRequest request, Done done) override {
    note_request(request);
    inner_->send(std::move(request), [this, done = std::move(done)](HttpAnswer answer) {
      note_answer(answer);
      done(std::move(answer));
    });
  }

 private:
  void note_request(const HttpRequest& request) {
    const std::lock_guard lock(mutex_);
    log_ += "> " + request.method + " " + request.record_url + "\n";
    for (const auto& [name, value] : request.headers) {
      const bool is_shown = name == "Accept" || name == "User-Agent" || name == "Content-Type" ||
                            name == "Accept-Language" || name == kHopHeader;
      log_ += "> " + name + ": " + (is_shown ? value : "REDACTED") + "\n";
    }
    if (!request.record_body.empty()) log_ += ">\n> " + request.record_body + "\n";
  }

  void note_answer(const HttpAnswer& answer) {
    const std::lock_guard lock(mutex_);
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(answer.elapsed).count();
    log_ += "\n< " +
            (answer.failure == Failure::none ? "HTTP " + std::to_string(answer.status)
                                             : std::string(name_of(answer.failure)) + ": " + answer.message) +
            ", " + std::to_string(answer.body.size()) + " bytes after " + std::to_string(ms) + " ms\n";
    for (const auto& [name, value] : answer.headers)
      if (name != "set-cookie") log_ += "< " + name + ": " + to_valid_utf8(value) + "\n";
    const std::string body = to_valid_utf8(std::string_view(answer.body).substr(0, kShownBytes));
    log_ += "<\n" + body + (answer.body.size() > kShownBytes ? "\n...\n" : "\n");
  }

  std::unique_ptr<Transport> inner_;
  std::string& log_;
  std::mutex mutex_;
};

std::string shown_list(const RankedList& list) {
  std::string out = "\n" + std::to_string(list.hits.size()) + " results\n";
  int rank = 0;
  for (const Hit& hit : list.hits) {
    out += std::to_string(++rank) + ". " + hit.title + "\n   " + hit.url + "\n";
    if (!hit.snippet.empty()) out += "   " + std::string(truncate_utf8(hit.snippet, 160)) + "\n";
    if (!hit.published.empty()) out += "   " + hit.published + "\n";
  }
  for (const std::string& suggestion : list.suggestions) out += "suggestion: " + suggestion + "\n";
  return out;
}

std::string json_list(const RankedList& list) {
  JsonArray hits;
  for (const Hit& hit : list.hits) {
    JsonObject object{{"url", hit.url}, {"title", hit.title}, {"content", hit.snippet}};
    if (!hit.published.empty()) object["published"] = hit.published;
    if (!hit.thumbnail.empty()) object["thumbnail"] = hit.thumbnail;
    if (hit.score) object["score"] = *hit.score;
    hits.push_back(std::move(object));
  }
  JsonArray suggestions;
  for (const std::string& suggestion : list.suggestions) suggestions.push_back(Json(suggestion));
  return to_pretty_text(JsonObject{{"results", std::move(hits)}, {"suggestions", std::move(suggestions)}});
}

Trial finished(const TrialOptions& options, std::string log, const FetchedList& fetched) {
  Trial trial;
  trial.failure = fetched.failure;
  trial.message = fetched.message;
  trial.text = options.is_json ? json_list(fetched.list) : std::move(log);
  if (!options.is_json && fetched.failure == Failure::none) trial.text += shown_list(fetched.list);
  return trial;
}

/// A saved answer as if the engine had just sent it.
Trial read_saved(const Engine& engine, const HttpAccess& access, const HttpRequest& request,
                 const TrialOptions& options) {
  HttpAnswer answer;
  answer.status = 200;
  answer.url = request.url;
  answer.headers = {{"content-type", options.saved_content_type}};
  answer.body = *options.saved_answer;
  ReadAnswer read =
      read_answer(engine, access, answer, request_language(access, {.deadline = {SteadyClock(), {}}}));
  FetchedList fetched{{}, std::move(read.list), read.failure, std::move(read.message), {}};
  return finished(options, "> " + request.method + " " + request.record_url + "   (not sent)\n", fetched);
}

}  // namespace

Result<Trial> try_engine(const Engine& engine, const std::string& query, const TrialOptions& options) {
  const SteadyClock clock;
  const auto seconds = std::chrono::duration<double>(engine.timeout_seconds + 1);
  FetchOptions fetch{.depth = options.depth,
                     .deadline = Deadline(clock, std::chrono::duration_cast<Duration>(seconds)),
                     .page = options.page};
  const ExpandedQuery expanded{"try", engine.name, query};
  if (options.saved_answer && std::holds_alternative<HttpAccess>(engine.access)) {
    TRY(auto ready, ready_access(engine, SecretLookup()));
    return read_saved(engine, ready.access, build_request(engine, ready, query, fetch, 1), options);
  }
  Engine tried = engine;
  tried.is_disabled = false;
  std::string log;
  FetcherOptions fetcher_options;
  fetcher_options.allow_private = options.allow_private;
  fetcher_options.secret_of = options.secret_of;
  fetcher_options.wrap_transport = [&log](std::unique_ptr<Transport> inner) -> std::unique_ptr<Transport> {
    return std::make_unique<WatchingTransport>(std::move(inner), log);
  };
  TRY(auto fetcher, make_fetcher({tried}, std::move(fetcher_options)));
  const auto lists = fetcher->fetch({&expanded, 1}, fetch, {});
  fetcher.reset();
  return finished(options, std::move(log), lists.front());
}

}  // namespace metafuse::fetchers
