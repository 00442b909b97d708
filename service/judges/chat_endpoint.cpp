#include "service/judges/chat_endpoint.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/json.h"
#include "core/json_members.h"
#include "core/url.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/http/answer_headers.h"

namespace metafuse::service {
namespace {

using fetchers::Failure;
using fetchers::HttpAnswer;

constexpr std::string_view kPath = "/chat/completions";
constexpr std::size_t kMaxAnswerBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxSaidBytes = 200;
constexpr std::chrono::milliseconds kLooksEvery{100};
constexpr std::int64_t kMostWishedSeconds = 60;

/// The address of the chat interface below a server's address. A query, such as Azure's api-version, stays.
std::string chat_url(const std::string& url) {
  const std::size_t end = std::min(url.find('?'), url.size());
  std::string path = url.substr(0, end);
  while (path.ends_with('/')) path.pop_back();
  if (!path.ends_with(kPath)) path += (path.ends_with("/v1") ? "" : "/v1") + std::string(kPath);
  return path + url.substr(end);
}

/// An answer that comes on another thread. Shared with the transport, which may outlive the wait.
struct PendingAnswer {
  std::mutex mutex;
  std::condition_variable has_come;
  std::optional<HttpAnswer> answer;
};

/// What a server said about a failure, on one line.
std::string said_by_model(const HttpAnswer& answer) {
  std::string said;
  if (const auto json = parse_json(answer.body, "answer")) {
    const JsonMembers members(*json);
    const auto* message = members.inner("error").text("message");
    if (message == nullptr) message = members.text("error");
    if (message == nullptr) message = members.text("message");
    if (message != nullptr) said = std::string(*message);
  } else {
    said = answer.body.substr(0, 4096);
  }
  said = fetchers::clean_text(said, true, kMaxSaidBytes);
  return said.empty() ? "" : ": " + said;
}

std::uint64_t count_in(const JsonMembers& members, std::string_view name, std::uint64_t otherwise) {
  const auto* count = members.integer(name);
  return count != nullptr && *count >= 0 ? static_cast<std::uint64_t>(*count) : otherwise;
}

/// Reads {"choices":[{"message":{"content"},"finish_reason"}],"usage":{...}}; a "refusal" stands for content.
/// In any other answer there is no content.
ChatAnswer read_chat_answer(const HttpAnswer& answer, const std::string& prompt) {
  ChatAnswer out;
  out.input_tokens = most_tokens(prompt.size());
  out.output_tokens = most_tokens(answer.body.size());
  const auto json = parse_json(answer.body, "answer");
  if (!json) return out;
  const JsonMembers members(*json);
  const JsonMembers usage = members.inner("usage");
  out.input_tokens = count_in(usage, "prompt_tokens", out.input_tokens);
  out.output_tokens = count_in(usage, "completion_tokens", out.output_tokens);
  const JsonArray* const choices = members.array("choices");
  if (choices == nullptr || choices->empty()) return out;
  const JsonMembers choice(choices->front());
  const JsonMembers message = choice.inner("message");
  const auto* content = message.text("content");
  if (content == nullptr) content = message.text("refusal");
  if (content != nullptr) out.content = std::string(*content);
  const auto* reason = choice.text("finish_reason");
  out.is_cut = reason != nullptr && *reason == "length";
  return out;
}

/// Whether the trouble is that of this one request: others may be answered.
bool is_of_request(const HttpAnswer& answer) {
  if (answer.failure != Failure::none) return answer.was_connected || answer.failure == Failure::timeout;
  const int status = answer.status;
  return status == 400 || status == 408 || status == 413 || status == 422 || status == 429 || status >= 500;
}

ChatOutcome outcome_of(const HttpAnswer& answer) {
  if (answer.failure == Failure::too_large) return ChatOutcome::refused;
  if (answer.failure != Failure::none || answer.status == 408 || answer.status >= 500)
    return ChatOutcome::failed;
  return answer.status == 429 ? ChatOutcome::busy : ChatOutcome::refused;
}

/// The parameter that a server does not accept; empty if it does not say.
std::string refused_parameter(const HttpAnswer& answer) {
  const auto json = parse_json(answer.body, "answer");
  return json && answer.status == 400 ? JsonMembers(*json).inner("error").text_or_empty("param") : "";
}

}  // namespace

Result<ChatEndpoint> ChatEndpoint::make(fetchers::Transport& transport, ChatModel model,
                                        unsigned connections) {
  const auto parts = parts_of_url(model.url);
  if (!parts)
    return fail(Code::usage, "--endpoint: \"" + model.url +
                                 "\" is not a server's URL; write http://HOST:PORT or https://HOST/v1");
  ChatEndpoint endpoint(transport, std::move(model));
  endpoint.url_ = chat_url(endpoint.model_.url);
  endpoint.origin_ = parts->origin();
  endpoint.own_host_ = fetchers::OwnHost::find(parts->host);
  endpoint.connections_ = static_cast<int>(connections);
  return endpoint;
}

ChatEndpoint::Form ChatEndpoint::Form::without(std::string_view parameter) const {
  return {has_old_limit && parameter != "max_tokens", has_temperature && parameter != "temperature"};
}

fetchers::EngineRequest ChatEndpoint::request(const std::string& prompt, std::size_t answer_tokens,
                                              Form form) const {
  fetchers::EngineRequest request;
  request.engine = "judge " + url_;
  request.method = "POST";
  request.url = url_;
  request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  if (!model_.key.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + model_.key);
    request.headers.emplace_back("api-key", model_.key);  // where Azure looks for it
  }
  JsonObject body{{"model", model_.model},
                  {"messages", JsonArray{JsonObject{{"role", "user"}, {"content", prompt}}}}};
  if (form.has_temperature) body["temperature"] = 0;
  body[form.has_old_limit ? "max_tokens" : "max_completion_tokens"] = answer_tokens;
  request.body = to_text(body);
  request.is_confidential = true;
  request.own_origin = origin_;
  request.own_host = own_host_;
  request.timeout =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(model_.timeout_seconds));
  request.max_bytes = kMaxAnswerBytes;
  request.max_redirects = 0;
  request.max_connections = connections_;
  return request;
}

Error ChatEndpoint::hopeless(const HttpAnswer& answer) const {
  if (answer.failure != Failure::none)
    return fail(Code::unavailable, fmt::format("{}: {}; is the model's server running, and --endpoint right?",
                                               url_, answer.message));
  const std::string what = fmt::format("{}: HTTP {}{}", url_, answer.status, said_by_model(answer));
  if (answer.status == 401 || answer.status == 403)
    return fail(Code::unavailable, what + "; give a valid key with METAFUSE_JUDGE_KEY or --key-file");
  if (answer.status == 404)
    return fail(Code::unavailable,
                what + "; does the server have the model " + model_.model + ", and is --endpoint right?");
  return fail(Code::unavailable, what + "; is this OpenAI's chat interface, and --model a model of it?");
}

/// in: form - that the request had
ChatTry ChatEndpoint::failed(const HttpAnswer& answer, Form form) const {
  ChatTry out;
  out.outcome = outcome_of(answer);
  if (answer.failure != Failure::none) {
    const bool is_late = answer.failure == Failure::timeout;
    out.trouble = is_late ? fmt::format("no answer within {:g} s; raise --timeout or lower --parallel",
                                        model_.timeout_seconds)
                          : answer.message;
    out.may_have_cost = true;
    return out;
  }
  out.trouble = fmt::format("HTTP {}{}", answer.status, said_by_model(answer));
  const Duration wished = fetchers::retry_after(answer).value_or(Duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wished).count();
  out.retry_after_seconds = static_cast<int>(std::min<std::int64_t>(seconds, kMostWishedSeconds));
  const std::string parameter = refused_parameter(answer);
  if (form.without(parameter) == form) return out;
  Form known = form_->load();  // requests sent meanwhile may have taught more
  while (!form_->compare_exchange_weak(known, known.without(parameter))) continue;
  out.outcome = ChatOutcome::failed;  // it may be answered in the other form
  return out;
}

Result<ChatTry> ChatEndpoint::ask(const std::string& prompt, std::size_t answer_tokens,
                                  const IsInterrupted& is_interrupted) const {
  const auto pending = std::make_shared<PendingAnswer>();
  const Form form = form_->load();
  transport_->send(request(prompt, answer_tokens, form), [pending](HttpAnswer came) {
    const std::lock_guard lock(pending->mutex);
    pending->answer = std::move(came);
    pending->has_come.notify_all();
  });
  std::unique_lock lock(pending->mutex);
  while (!pending->has_come.wait_for(lock, kLooksEvery, [&] { return pending->answer.has_value(); }))
    TRY_VOID(check_interrupt(is_interrupted));
  const HttpAnswer& answer = *pending->answer;
  if (answer.failure == Failure::none && answer.status >= 200 && answer.status < 300) {
    *has_answered_ = true;
    return ChatTry{ChatOutcome::answered, read_chat_answer(answer, prompt), {}, 0};
  }
  const bool is_moderated = answer.status == 403 && *has_answered_;  // with a key that it took before
  return is_of_request(answer) || is_moderated ? Result<ChatTry>(failed(answer, form)) : hopeless(answer);
}

}  // namespace metafuse::service
