#include "fetchers/recording/har_entry.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "core/ascii.h"
#include "core/encoding.h"
#include "core/utf8.h"
#include "fetchers/recording/json_members.h"

namespace metafuse::fetchers {
namespace {

bool is_secret_header(std::string_view name) {
  const std::string lower = ascii_lower(name);
  for (const std::string_view part : {"authorization", "cookie", "key", "token", "secret", "password"})
    if (lower.find(part) != std::string::npos) return true;
  return false;
}

JsonArray headers_json(const StringPairs& headers) {
  JsonArray out;
  for (const auto& [name, value] : headers)
    out.push_back(JsonObject{{"name", to_valid_utf8(name)},
                             {"value", is_secret_header(name) ? "REDACTED" : to_valid_utf8(value)}});
  return out;
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> out{};
  return {out.data(), std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%S.000Z", &parts)};
}

JsonObject content_json(const HttpAnswer& answer) {
  JsonObject content{{"size", answer.body.size()},
                     {"mimeType", to_valid_utf8(answer.header("content-type"))}};
  if (first_invalid_utf8(answer.body) == std::string_view::npos) {
    content["text"] = answer.body;
  } else {
    content["text"] = base64_encoded(answer.body);
    content["encoding"] = "base64";
  }
  return content;
}

JsonObject response_json(const HttpRequest& request, const HttpAnswer& answer) {
  JsonObject received{{"status", answer.status},
                      {"statusText", ""},
                      {"httpVersion", "HTTP/1.1"},
                      {"cookies", JsonArray()},
                      {"headers", headers_json(answer.headers)},
                      {"content", content_json(answer)},
                      {"redirectURL", ""},
                      {"headersSize", -1},
                      {"bodySize", answer.body.size()}};
  if (answer.failure != Failure::none) {
    received["_failure"] = std::string(name_of(answer.failure));
    received["_message"] = to_valid_utf8(answer.message);
  }
  // Only what a redirect changed: the URL that was asked for may hold secrets.
  if (answer.url != request.url) received["_finalUrl"] = to_valid_utf8(answer.url);
  return received;
}

Failure failure_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Failure::not_recorded); ++i)
    if (name_of(static_cast<Failure>(i)) == name) return static_cast<Failure>(i);
  return Failure::bad_answer;
}

void read_headers(const JsonObject& received, HttpAnswer& answer) {
  const Json* headers = received.if_contains("headers");
  if (headers == nullptr || !headers->is_array()) return;
  for (const Json& header : headers->as_array())
    if (const JsonObject* pair = header.if_object())
      answer.headers.emplace_back(ascii_lower(text_in(*pair, "name")), text_in(*pair, "value"));
}

Result<void> read_content(const JsonObject& received, const std::string& place, HttpAnswer& answer) {
  const JsonObject* content = object_in(received, "content");
  if (content == nullptr) return {};
  answer.body = text_in(*content, "text");
  if (text_in(*content, "encoding") == "base64") {
    auto bytes = base64_decoded(answer.body);
    if (!bytes) return fail(Code::bad_data, place + ": content that is no base64");
    answer.body = std::move(*bytes);
  }
  if (answer.header("content-type").empty())
    answer.headers.emplace_back("content-type", text_in(*content, "mimeType"));
  return {};
}

}  // namespace

std::string exchange_key(const HttpRequest& request) {
  return request.method + " " + request.record_url + "\n" + request.record_body;
}

std::string har_entry(const HttpRequest& request, const HttpAnswer& answer) {
  const double elapsed_ms = std::chrono::duration<double, std::milli>(answer.elapsed).count();
  JsonObject sent{
      {"method", request.method}, {"url", to_valid_utf8(request.record_url)}, {"httpVersion", "HTTP/1.1"},
      {"cookies", JsonArray()},   {"headers", headers_json(request.headers)}, {"queryString", JsonArray()},
      {"headersSize", -1},        {"bodySize", request.record_body.size()}};
  if (!request.record_body.empty())
    sent["postData"] = JsonObject{{"mimeType", ""}, {"text", to_valid_utf8(request.record_body)}};
  const JsonObject entry{{"startedDateTime", now_text()},
                         {"time", elapsed_ms},
                         {"request", std::move(sent)},
                         {"response", response_json(request, answer)},
                         {"cache", JsonObject()},
                         {"timings", JsonObject{{"send", 0}, {"wait", elapsed_ms}, {"receive", 0}}}};
  return to_text(entry);
}

Result<Exchange> read_har_entry(const Json& json, const std::string& place) {
  const JsonObject* entry = json.if_object();
  const JsonObject* sent = entry == nullptr ? nullptr : object_in(*entry, "request");
  const JsonObject* received = entry == nullptr ? nullptr : object_in(*entry, "response");
  if (sent == nullptr || received == nullptr)
    return fail(Code::bad_data, place + ": an entry without request and response");
  HttpRequest request;
  request.method = text_in(*sent, "method");
  request.record_url = text_in(*sent, "url");
  if (request.method.empty() || request.record_url.empty())
    return fail(Code::bad_data, place + ": a request without method and url");
  if (const JsonObject* posted = object_in(*sent, "postData")) request.record_body = text_in(*posted, "text");
  Exchange exchange;
  exchange.key = exchange_key(request);
  HttpAnswer& answer = exchange.answer;
  answer.status = static_cast<int>(number_in(*received, "status"));
  answer.elapsed = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double, std::milli>(std::clamp(number_in(*entry, "time"), 0.0, 1e9)));
  if (const std::string failure = text_in(*received, "_failure"); !failure.empty()) {
    answer.failure = failure_named(failure);
    answer.message = text_in(*received, "_message");
  }
  answer.url = text_in(*received, "_finalUrl");
  if (answer.url.empty()) answer.url = request.record_url;
  read_headers(*received, answer);
  TRY_VOID(read_content(*received, place, answer));
  return exchange;
}

}  // namespace metafuse::fetchers
