#include "fetchers/calling/trial.h"

#include <algorithm>
#include <ctime>
#include <future>
#include <mutex>

#include <fmt/format.h>

#include "core/json.h"
#include "core/text.h"
#include "core/url.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/calling/read_answer.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kShownBytes = 2000;
constexpr std::size_t kShownFieldBytes = 200;
constexpr std::size_t kMaxPageBytes = std::size_t{8} << 20;
constexpr auto kPageTimeout = std::chrono::seconds(20);

/// Logs the requests and answers that pass through, to show them to the user.
class WatchingTransport final : public Transport {
 public:
  /// in: mutex - guards the log and the last answer, which several transports may share
  WatchingTransport(std::unique_ptr<Transport> inner, std::string& log, HttpAnswer& last, std::mutex& mutex)
      : inner_(std::move(inner)), log_(log), last_(last), mutex_(mutex) {}

  void send(EngineRequest request, Done done) override {
    note_request(request);
    const bool is_shown = !request.is_confidential;
    inner_->send(std::move(request),
                 [this, is_shown, secrets = request.secrets, done = std::move(done)](HttpAnswer answer) {
                   if (is_shown) note_answer(without_secrets(answer, secrets));
                   done(std::move(answer));
                 });
  }

 private:
  void note_request(const EngineRequest& request) {
    const std::lock_guard lock(mutex_);
    if (request.is_confidential) {
      log_ += "> POST " + request.record_url + "   (for a token; not shown)\n";
      return;
    }
    log_ += "> " + request.method + " " + request.record_url + "\n";
    for (const auto& [name, value] : request.headers) {
      const bool is_shown = name == "Accept" || name == "User-Agent" || name == "Content-Type" ||
                            name == "Accept-Language" || name == kHopHeader;
      log_ += "> " + name + ": " + (is_shown ? value : "REDACTED") + "\n";
    }
    if (!request.record_body.empty()) log_ += ">\n> " + request.record_body + "\n";
  }

  static HttpAnswer without_secrets(HttpAnswer answer, const HiddenTexts& secrets) {
    for (std::string* text : {&answer.message, &answer.url, &answer.body}) redact(*text, secrets);
    for (auto& [name, value] : answer.headers) redact(value, secrets);
    return answer;
  }

  void note_answer(HttpAnswer answer) {
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
    last_ = std::move(answer);
  }

  std::unique_ptr<Transport> inner_;
  std::string& log_;
  HttpAnswer& last_;
  std::mutex& mutex_;
};

std::string shown_list(const RankedList& list) {
  std::string out = "\n" + std::to_string(list.hits.size()) + " results\n";
  int rank = 0;
  for (const Hit& hit : list.hits) {
    out += std::to_string(++rank) + ". " + printable(hit.title) + "\n   " + printable(hit.url) + "\n";
    if (!hit.snippet.empty()) out += "   " + printable(truncate_utf8(hit.snippet, 160)) + "\n";
    if (!hit.published.empty() || !hit.language.empty())
      out += "   " + hit.published + (hit.published.empty() || hit.language.empty() ? "" : ", ") +
             hit.language + "\n";
  }
  for (const std::string& suggestion : list.suggestions) out += "suggestion: " + printable(suggestion) + "\n";
  return out;
}

std::string in_backquotes(const std::vector<std::string>& words) {
  return fmt::format("`{}`", fmt::join(words, "`, `"));
}

/// A part that a definition may read from each result.
struct NamedPart {
  std::string_view name;
  const PartRule* rule;
};

/// In the order of AnswerFindings::with.
std::vector<NamedPart> parts_of(const AnswerRules& rules) {
  std::vector<NamedPart> parts;
  for (const ResultPart& part : kResultParts) parts.push_back({part.name, &(rules.*part.rule)});
  for (const auto& [name, rule] : rules.details) parts.push_back({name, &rule});
  return parts;
}

/// Lists what was found for each part of the first items. A part without a path is shown only if a text
/// was found.
std::string shown_fields(const AnswerRules& rules, const AnswerFindings& found) {
  std::string out;
  const auto parts = parts_of(rules);
  for (std::size_t i = 0; i < found.first.size(); ++i) {
    out += fmt::format("\nitem {} of {}\n", i + 1, found.items);
    for (std::size_t k = 0; k < std::min(parts.size(), found.first[i].size()); ++k) {
      const std::string& text = found.first[i][k];
      if (text.empty() && parts[k].rule->empty()) continue;
      const std::string shown = text.empty() ? "- (nothing at " + in_backquotes(parts[k].rule->paths) + ")"
                                             : clean_text(text, false, kShownFieldBytes);
      out += fmt::format("  {:<10} {}\n", parts[k].name, shown);
    }
  }
  return out;
}

/// "6 items, none has `link`; they have `href`, `name`": tells the author about a wrong path, which otherwise
/// fails silently.
std::string remark_on(const AnswerRules& rules, const AnswerFindings& found) {
  std::string out;
  const auto parts = parts_of(rules);
  for (std::size_t i = 0; i < std::min(parts.size(), found.with.size()); ++i) {
    const bool is_built = parts[i].rule->empty() && parts[i].name == "url" && !rules.url_format.empty();
    if (found.with[i] > 0 || (parts[i].rule->empty() && !is_built)) continue;
    out += fmt::format("\n{} {} {}{}\n", found.items,
                       found.items == 1 ? "item, which has no" : "items, none has",
                       is_built ? fmt::format("`{}`", rules.url_format) : in_backquotes(parts[i].rule->paths),
                       found.keys.empty() ? "" : "; they have " + in_backquotes(found.keys));
  }
  return out;
}

/// How many nodes of a page an XPath finds.
std::size_t count_at(const std::string& xpath, const HttpAnswer& answer, const AnswerContext& context) {
  const std::string counted = "count(" + xpath + ")";
  if (!check_answer_path(AnswerRules::Format::html, counted)) return 0;
  const auto texts = answer_texts(AnswerRules::Format::html, counted, answer.body, context, 1);
  std::size_t count = 0;
  for (const char c : texts && !texts->empty() ? texts->front() : std::string())
    count =
        c >= '0' && c <= '9' && count < 1'000'000 ? count * 10 + static_cast<std::size_t>(c - '0') : count;
  return count;
}

/// "`//ul/li` finds nothing; `//ul` finds 2": how far the path of the results leads in a page without any.
std::string remark_on_results(const AnswerRules& rules, const HttpAnswer& answer,
                              const AnswerContext& context) {
  if (rules.format == AnswerRules::Format::json || rules.results.empty()) return {};
  std::string out = fmt::format("\nno item: results_xpath `{}` finds nothing in the answer", rules.results);
  std::string part = rules.results;
  const bool is_page = rules.format == AnswerRules::Format::html && rules.inside.empty();
  for (std::size_t slash = part.rfind('/'); is_page && slash != std::string::npos && slash > 0;
       slash = part.rfind('/')) {
    part.resize(slash);
    while (part.ends_with('/')) part.pop_back();
    if (const std::size_t count = part.empty() ? 0 : count_at(part, answer, context); count > 0)
      return out + fmt::format("; `{}` finds {}\n", part, count);
  }
  return out + "\n";
}

/// Describes what the paths of a definition find in an answer.
std::string remark_on(const Engine& engine, const HttpAnswer& answer, const std::string& query,
                      std::string* fields) {
  const auto* access = std::get_if<HttpAccess>(&engine.access);
  if (access == nullptr || answer.failure != Failure::none) return {};
  AnswerFindings findings;
  const std::string language = request_language(*access, {.deadline = {machine_clock(), {}}});
  AnswerContext context{answer.url, std::string(answer.header("content-type")), language, &findings};
  context.query = query;
  context.now = std::time(nullptr);
  const auto list = parse_answer(access->answer, answer.body, context);
  if (fields != nullptr) *fields = shown_fields(access->answer, findings);
  if (!list) return {};
  context.findings = nullptr;
  return findings.items > 0 ? remark_on(access->answer, findings)
                            : remark_on_results(access->answer, answer, context);
}

std::string json_list(const RankedList& list) {
  JsonArray hits;
  for (const Hit& hit : list.hits) {
    JsonObject object{{"url", hit.url}, {"title", hit.title}, {"content", hit.snippet}};
    if (!hit.published.empty()) object["published"] = hit.published;
    if (!hit.language.empty()) object["language"] = hit.language;
    if (!hit.thumbnail.empty()) object["thumbnail"] = hit.thumbnail;
    if (hit.score) object["score"] = *hit.score;
    hits.push_back(std::move(object));
  }
  JsonArray suggestions;
  for (const std::string& suggestion : list.suggestions) suggestions.push_back(Json(suggestion));
  return to_pretty_text(JsonObject{{"results", std::move(hits)}, {"suggestions", std::move(suggestions)}});
}

EngineTrial finished(const Engine& engine, const std::string& query, const HttpAnswer& answer,
                     const TrialOptions& options, std::string log, const FetchedList& fetched) {
  EngineTrial trial;
  std::string fields;
  std::string remark = remark_on(engine, answer, query, &fields);
  trial.failure = fetched.failure;
  trial.message = fetched.message;
  trial.text = options.is_json ? json_list(fetched.list) : std::move(log);
  if (!options.is_json && fetched.failure == Failure::none)
    trial.text += shown_list(fetched.list) + fields + remark;
  trial.remark = std::move(remark);
  return trial;
}

/// Parses a saved answer as if the engine had just sent it.
EngineTrial read_saved(const Engine& engine, const HttpAccess& access, const std::string& query,
                       const EngineRequest& request, const TrialOptions& options) {
  HttpAnswer answer;
  answer.status = 200;
  answer.url = request.url;
  answer.headers = {{"content-type", options.saved_content_type}};
  answer.body = *options.saved_answer;
  FetchedList fetched =
      read_answer(engine, access, answer,
                  {.language = request_language(access, {.deadline = {machine_clock(), {}}}),
                   .query = query,
                   .now = std::time(nullptr)});
  if (fetched.list.hits.size() > static_cast<std::size_t>(options.depth))
    fetched.list.hits.resize(static_cast<std::size_t>(options.depth));
  return finished(engine, query, answer, options,
                  "> " + request.method + " " + request.record_url + "   (not sent)\n", fetched);
}

/// What came of one query.
struct Asked {
  FetchedList list;
  HttpAnswer last;
  std::string log;
};

FetchOptions fetch_options(const Engine& engine, const TrialOptions& options) {
  const Clock& clock = machine_clock();
  const auto seconds = std::chrono::duration<double>(engine.timeout_seconds + 1);
  return {.depth = options.depth,
          .deadline = Deadline(clock, std::chrono::duration_cast<Duration>(seconds)),
          .page = options.page,
          .forwarded = options.headers};
}

/// Every header must be one that the engine passes on: others would be left out without a word.
Result<void> check_headers(const Engine& engine, const TrialOptions& options) {
  const auto* access = std::get_if<HttpAccess>(&engine.access);
  const auto passed_on = access == nullptr ? std::vector<std::string>() : access->auth.forwarded;
  for (const auto& [name, value] : options.headers) {
    const bool is_known = std::any_of(passed_on.begin(), passed_on.end(),
                                      [&](const std::string& one) { return equal_ignoring_case(one, name); });
    if (is_known) continue;
    return fail(Code::usage,
                passed_on.empty()
                    ? engine.name +
                          " passes on no header of the caller; give it `auth: {type: forward, headers: [" +
                          name + "]}`"
                    : engine.name + " does not pass on the header " + name + did_you_mean(name, passed_on));
  }
  return {};
}

Result<Asked> ask_engine(const Engine& engine, const std::string& query, const TrialOptions& options) {
  TRY_VOID(check_headers(engine, options));
  Engine tried = engine;
  tried.is_disabled = false;
  Asked out;
  std::mutex mutex;
  FetcherOptions fetcher_options;
  fetcher_options.allow_private = options.allow_private;
  fetcher_options.secret_of = options.secret_of;
  fetcher_options.wrap_transport = [&](std::unique_ptr<Transport> inner) -> std::unique_ptr<Transport> {
    return std::make_unique<WatchingTransport>(std::move(inner), out.log, out.last, mutex);
  };
  TRY(auto fetcher, make_fetcher({tried}, std::move(fetcher_options)));
  const ExpandedQuery expanded{"try", engine.name, query};
  auto lists = fetcher->fetch({&expanded, 1}, fetch_options(engine, options), {});
  fetcher.reset();
  out.list = std::move(lists.front());
  return out;
}

}  // namespace

Result<HttpAnswer> last_answer(const Engine& engine, const std::string& query, const TrialOptions& options) {
  TRY(auto asked, ask_engine(engine, query, options));
  if (asked.last.failure != Failure::none || asked.last.status == 0)
    return fail(Code::unavailable,
                fmt::format("{}: {}: {}", engine.name, name_of(asked.list.failure), asked.list.message));
  return std::move(asked.last);
}

/// Errors: usage: the engine's requests do not name a page.
Result<void> check_page(const Engine& engine, const FetchOptions& fetch) {
  const auto* access = std::get_if<HttpAccess>(&engine.access);
  if (access == nullptr || !plan_pages(*access, fetch, 0).is_beyond_end) return {};
  return fail(Code::usage, fmt::format("{} has no page {}; its definition has one page, unless it says "
                                       "`paging: true` and where {{pageno}} goes",
                                       engine.name, fetch.page));
}

Result<EngineTrial> try_engine(const Engine& engine, const std::string& query, const TrialOptions& options) {
  TRY_VOID(check_page(engine, fetch_options(engine, options)));
  if (options.saved_answer && std::holds_alternative<HttpAccess>(engine.access)) {
    TRY(auto ready, ready_access(engine, SecretLookup()));
    const FetchOptions fetch = fetch_options(engine, options);
    return read_saved(engine, ready.access, query, build_request(engine, ready, query, fetch, 1), options);
  }
  TRY(auto asked, ask_engine(engine, query, options));
  return finished(engine, query, asked.last, options, std::move(asked.log), asked.list);
}

Result<HttpAnswer> fetch_page(const std::string& url) {
  const auto parts = parts_of_url(url);
  if (!parts) return fail(Code::bad_config, url + ": not a valid http or https URL");
  TRY(auto guard, AddressGuard::make({}));
  EngineRequest request;
  request.engine = "guess";
  request.url = request.record_url = url;
  request.own_origin = parts->origin();
  request.own_host = OwnHost::find(parts->host, {});
  request.timeout = kPageTimeout;
  request.max_bytes = kMaxPageBytes;
  request.headers = {{"User-Agent", "metafuse/0.1"},
                     {"Accept", "application/json, application/xml, text/html, */*;q=0.5"}};
  std::promise<HttpAnswer> arrived;
  const auto transport = make_curl_transport(std::move(guard));
  transport->send(std::move(request), [&](HttpAnswer answer) { arrived.set_value(std::move(answer)); });
  HttpAnswer answer = arrived.get_future().get();
  if (answer.failure != Failure::none)
    return fail(Code::unavailable, fmt::format("{}: {}: {}", url, name_of(answer.failure), answer.message));
  if (answer.status < 200 || answer.status > 299)
    return fail(Code::unavailable, fmt::format("{}: HTTP {}", url, answer.status));
  return answer;
}

}  // namespace metafuse::fetchers
