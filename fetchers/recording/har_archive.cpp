#include "fetchers/recording/har_archive.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <unistd.h>

#include "core/atomic_file.h"
#include "core/encoding.h"
#include "core/json.h"
#include "core/text.h"
#include "core/text_file.h"
#include "core/url.h"
#include "fetchers/engines/http/engine_request.h"

namespace metafuse::fetchers {
namespace {

// Readers of a JSON object's members. A member that is absent or of another type reads as null, "" or 0.

const JsonObject* object_in(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

std::string text_in(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

double number_in(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

bool is_secret_header(std::string_view name) {
  const std::string lower = ascii_lower(name);
  for (const std::string_view part : {"authorization", "cookie", "key", "token", "secret", "password"})
    if (lower.find(part) != std::string::npos) return true;
  return false;
}

/// A text of an exchange without the secrets of its request.
std::string without_secrets(const HttpRequest& request, std::string_view text) {
  std::string out = to_valid_utf8(text);
  if (request.secrets != nullptr) redact(out, *request.secrets);
  return out;
}

JsonArray headers_json(const HttpRequest& request, const StringPairs& headers) {
  JsonArray out;
  for (const auto& [name, value] : headers)
    out.push_back(
        JsonObject{{"name", to_valid_utf8(name)},
                   {"value", is_secret_header(name) ? "REDACTED" : without_secrets(request, value)}});
  return out;
}

std::string now_text() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.000Z", fmt::gmtime(std::time(nullptr)));
}

JsonObject content_json(const HttpRequest& request, const HttpAnswer& answer) {
  JsonObject content{{"size", answer.body.size()},
                     {"mimeType", to_valid_utf8(answer.header("content-type"))}};
  if (first_invalid_utf8(answer.body) == std::string_view::npos) {
    content["text"] = without_secrets(request, answer.body);
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
                      {"headers", headers_json(request, answer.headers)},
                      {"content", content_json(request, answer)},
                      {"redirectURL", ""},
                      {"headersSize", -1},
                      {"bodySize", answer.body.size()}};
  if (answer.failure != Failure::none) {
    received["_failure"] = std::string(name_of(answer.failure));
    received["_message"] = without_secrets(request, answer.message);
  }
  // Only written if a redirect changed it, because the requested URL may contain secrets.
  if (answer.url != request.url) received["_finalUrl"] = without_secrets(request, answer.url);
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
    if (!bytes) return fail(Code::bad_data, place + ": the content is not valid base64");
    answer.body = std::move(*bytes);
  }
  if (answer.header("content-type").empty())
    answer.headers.emplace_back("content-type", text_in(*content, "mimeType"));
  return {};
}

/// One entry of a HAR 1.2 file, in one line. Secrets and cookies are replaced, bytes that are not UTF-8 are
/// written as base64, and a failure as `_failure`.
std::string har_entry(const HttpRequest& request, const HttpAnswer& answer) {
  const double elapsed_ms = std::chrono::duration<double, std::milli>(answer.elapsed).count();
  JsonObject sent{{"method", request.method},
                  {"url", to_valid_utf8(request.record_url)},
                  {"httpVersion", "HTTP/1.1"},
                  {"cookies", JsonArray()},
                  {"headers", headers_json(request, request.headers)},
                  {"queryString", JsonArray()},
                  {"headersSize", -1},
                  {"bodySize", request.record_body.size()}};
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

/// A recorded answer with the key of its request.
struct Exchange {
  std::string key;  ///< see exchange_key()
  HttpAnswer answer;
};

/// in:     place - for errors, such as "FILE:LINE"
/// errors: bad_data: no request or response, or invalid base64 content
Result<Exchange> read_har_entry(const Json& json, const std::string& place) {
  const JsonObject* entry = json.if_object();
  const JsonObject* sent = entry == nullptr ? nullptr : object_in(*entry, "request");
  const JsonObject* received = entry == nullptr ? nullptr : object_in(*entry, "response");
  if (sent == nullptr || received == nullptr)
    return fail(Code::bad_data, place + ": an entry has no request or no response");
  HttpRequest request;
  request.method = text_in(*sent, "method");
  request.record_url = text_in(*sent, "url");
  if (request.method.empty() || request.record_url.empty())
    return fail(Code::bad_data, place + ": a request has no method or no url");
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

constexpr std::size_t kMaxArchiveBytes = std::size_t{4} << 30;
constexpr std::string_view kHead =
    "{\"log\":{\"version\":\"1.2\",\"creator\":{\"name\":\"metafuse\",\"version\":\"1\"},\"entries\":[\n";
constexpr std::string_view kTail = "\n]}}\n";

/// Calls take(entry, place) for each entry of a HAR file.
template <class Take>
Result<void> for_each_entry(const std::string& path, const Take& take) {
  auto text = open_text(path);
  if (!text) return text.error();
  TRY(auto json, parse_json(text->text, path, Code::bad_data, {kMaxArchiveBytes, 64}));
  const JsonObject* root = json.if_object();
  const JsonObject* log = root == nullptr ? nullptr : object_in(*root, "log");
  const Json* entries = log == nullptr ? nullptr : log->if_contains("entries");
  if (entries == nullptr || !entries->is_array())
    return fail(Code::bad_data, path + ": not a HAR file (log.entries is missing)");
  std::size_t number = 0;
  for (const Json& entry : entries->as_array())
    if (auto taken = take(entry, path + ": entry " + std::to_string(++number)); !taken) return taken;
  return {};
}

/// The journal's last line may be incomplete if the process was killed; such a line is skipped.
template <class Take>
Result<void> for_each_journal_entry(const std::string& path, const Take& take) {
  return for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.empty() || line.back() != '}') return {};
    const std::string place = path + ":" + std::to_string(number);
    auto json = parse_json(line, place);
    if (!json) return {};
    return take(*json, place, line);
  });
}

}  // namespace

std::string exchange_key(const HttpRequest& request) {
  return request.method + " " + request.record_url + "\n" + request.record_body;
}

Result<std::unique_ptr<HarWriter>> HarWriter::open(const std::string& path) {
  std::unique_ptr<HarWriter> writer(new HarWriter(path));
  std::error_code ignored;
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, ignored);
  writer->journal_ = ::open((path + ".part").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (writer->journal_ < 0) return fail(Code::no_input, path + ".part: " + std::strerror(errno));
  return writer;
}

HarWriter::~HarWriter() {
  static_cast<void>(close());
}

void HarWriter::append(const HttpRequest& request, const HttpAnswer& answer) {
  const std::string line = har_entry(request, answer) + "\n";
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at < line.size() && journal_ >= 0;) {
    const ssize_t written = ::write(journal_, line.data() + at, line.size() - at);
    if (written < 0 && errno != EINTR) return;
    at += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
}

Result<void> HarWriter::close() {
  const std::lock_guard lock(mutex_);
  if (journal_ < 0) return {};
  ::close(journal_);
  journal_ = -1;
  std::vector<std::string> order;
  TextMap<std::string> lines;
  const auto keep = [&](const Json& json, const std::string& place, std::string_view line) -> Result<void> {
    TRY(auto exchange, read_har_entry(json, place));
    if (!lines.contains(exchange.key)) order.push_back(exchange.key);
    lines[exchange.key] = line;
    return {};
  };
  if (std::filesystem::exists(path_)) {
    auto read = for_each_entry(
        path_, [&](const Json& json, const std::string& place) { return keep(json, place, to_text(json)); });
    if (!read) return read;
  }
  if (auto read = for_each_journal_entry(path_ + ".part", keep); !read) return read;
  std::string text(kHead);
  for (std::size_t i = 0; i < order.size(); ++i) text += (i == 0 ? "" : ",\n") + lines[order[i]];
  text += kTail;
  if (auto written = write_file(path_, text, FileAccess::owner); !written) return written;
  std::error_code ignored;
  std::filesystem::remove(path_ + ".part", ignored);
  return {};
}

Result<HarArchive> HarArchive::read(const std::string& path) {
  HarArchive archive;
  const auto keep = [&](const Json& json, const std::string& place) -> Result<void> {
    TRY(auto exchange, read_har_entry(json, place));
    archive.answers_.insert_or_assign(std::move(exchange.key), std::move(exchange.answer));
    return {};
  };
  const bool has_journal = std::filesystem::exists(path + ".part");
  if (!has_journal || std::filesystem::exists(path)) TRY_VOID(for_each_entry(path, keep));
  if (has_journal)
    if (auto read = for_each_journal_entry(
            path + ".part",
            [&](const Json& json, const std::string& place, std::string_view) { return keep(json, place); });
        !read)
      return read.error();
  return archive;
}

const HttpAnswer* HarArchive::find(const std::string& key) const {
  const auto found = answers_.find(key);
  return found == answers_.end() ? nullptr : &found->second;
}

namespace {

class RecordingTransport final : public Transport {
 public:
  RecordingTransport(std::unique_ptr<Transport> inner, HarWriter& writer)
      : inner_(std::move(inner)), writer_(writer) {}

  void send(HttpRequest request, Done done) override {
    if (request.is_confidential) return inner_->send(std::move(request), std::move(done));
    auto kept = std::make_shared<const HttpRequest>(request);
    inner_->send(std::move(request), [this, kept, done = std::move(done)](HttpAnswer answer) {
      writer_.append(*kept, answer);
      done(std::move(answer));
    });
  }

 private:
  std::unique_ptr<Transport> inner_;
  HarWriter& writer_;
};

class ReplayTransport final : public Transport {
 public:
  explicit ReplayTransport(const HarArchive& archive) : archive_(archive) {}

  void send(HttpRequest request, Done done) override {
    if (const HttpAnswer* answer = archive_.find(exchange_key(request))) return done(*answer);
    HttpAnswer missing;
    missing.failure = Failure::not_recorded;
    missing.message = "the recording does not contain " + request.method + " " + request.record_url +
                      (request.record_body.empty() ? "" : " " + request.record_body.substr(0, 200));
    done(std::move(missing));
  }

 private:
  const HarArchive& archive_;
};

}  // namespace

std::unique_ptr<Transport> make_recording_transport(std::unique_ptr<Transport> inner, HarWriter& writer) {
  return std::make_unique<RecordingTransport>(std::move(inner), writer);
}

std::unique_ptr<Transport> make_replay_transport(const HarArchive& archive) {
  return std::make_unique<ReplayTransport>(archive);
}

HttpRequest embedded_request(std::string_view engine, std::string_view query, int depth, int offset) {
  HttpRequest request;
  request.url = "metafuse://" + percent_encoded(engine) + "/?query=" + percent_encoded(query) +
                "&depth=" + std::to_string(depth) + "&offset=" + std::to_string(offset);
  request.record_url = request.url;
  return request;
}

HttpAnswer embedded_answer(const Result<RankedList>& list, Duration elapsed) {
  HttpAnswer answer;
  answer.elapsed = elapsed;
  answer.status = 200;
  answer.headers = {{"content-type", "application/json"}};
  if (!list) {
    answer.failure = list.error().code == Code::try_again ? Failure::timeout : Failure::bad_answer;
    answer.message = list.error().text;
    return answer;
  }
  JsonArray hits;
  for (const Hit& hit : list->hits) {
    JsonObject object{{"url", hit.url}, {"title", hit.title}, {"snippet", hit.snippet}};
    if (!hit.published.empty()) object["published"] = hit.published;
    if (!hit.language.empty()) object["language"] = hit.language;
    if (hit.score) object["score"] = *hit.score;
    hits.push_back(std::move(object));
  }
  answer.body = to_text(JsonObject{{"hits", std::move(hits)}});
  return answer;
}

Result<RankedList> read_embedded_answer(const HttpAnswer& answer) {
  if (answer.failure != Failure::none)
    return fail(answer.failure == Failure::timeout ? Code::try_again : Code::bad_data, answer.message);
  TRY(auto json, parse_json(answer.body, "recording"));
  const JsonObject* root = json.if_object();
  const Json* hits = root == nullptr ? nullptr : root->if_contains("hits");
  if (hits == nullptr || !hits->is_array()) return fail(Code::bad_data, "a recording without hits");
  RankedList list;
  for (const Json& item : hits->as_array()) {
    const JsonObject* object = item.if_object();
    if (object == nullptr) continue;
    Hit hit;
    hit.url = text_in(*object, "url");
    hit.title = text_in(*object, "title");
    hit.snippet = text_in(*object, "snippet");
    hit.published = text_in(*object, "published");
    hit.language = text_in(*object, "language");
    if (object->contains("score")) hit.score = number_in(*object, "score");
    list.hits.push_back(std::move(hit));
  }
  return list;
}

}  // namespace metafuse::fetchers
