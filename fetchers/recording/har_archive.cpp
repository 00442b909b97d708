#include "fetchers/recording/har_archive.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/atomic_file.h"
#include "core/encoding.h"
#include "core/json_members.h"
#include "core/text.h"
#include "core/text_file.h"
#include "core/url.h"
#include "fetchers/engines/http/engine_request.h"

namespace metafuse::fetchers {
namespace {

bool is_secret_header(std::string_view name) {
  const std::string lower = ascii_lower(name);
  for (const std::string_view part : {"authorization", "cookie", "key", "token", "secret", "password"})
    if (lower.find(part) != std::string::npos) return true;
  return false;
}

/// A text of an exchange without the secrets of its request.
std::string without_secrets(const EngineRequest& request, std::string_view text) {
  std::string out = to_valid_utf8(text);
  redact(out, request.secrets);
  return out;
}

JsonArray headers_json(const EngineRequest& request, const StringPairs& headers) {
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

JsonObject content_json(const EngineRequest& request, const HttpAnswer& answer) {
  JsonObject content{{"size", answer.body.size()},
                     {"mimeType", to_valid_utf8(answer.header("content-type"))}};
  std::string body = answer.body;
  redact(body, request.secrets);
  if (first_invalid_utf8(body) != std::string_view::npos) {
    body = base64_encoded(body);
    content["encoding"] = "base64";
  }
  content["text"] = std::move(body);
  return content;
}

JsonObject response_json(const EngineRequest& request, const HttpAnswer& answer) {
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

void read_headers(const JsonMembers& received, HttpAnswer& answer) {
  const JsonArray* headers = received.array("headers");
  if (headers == nullptr) return;
  for (const Json& header : *headers)
    if (const JsonMembers pair(header); pair.is_object())
      answer.headers.emplace_back(ascii_lower(pair.text_or_empty("name")), pair.text_or_empty("value"));
}

Result<void> read_content(const JsonMembers& received, const std::string& place, HttpAnswer& answer) {
  const JsonMembers content = received.inner("content");
  if (!content.is_object()) return {};
  answer.body = content.text_or_empty("text");
  if (content.text_or_empty("encoding") == "base64") {
    auto bytes = base64_decoded(answer.body);
    if (!bytes) return fail(Code::bad_data, place + ": the content is not valid base64");
    answer.body = std::move(*bytes);
  }
  if (answer.header("content-type").empty())
    answer.headers.emplace_back("content-type", content.text_or_empty("mimeType"));
  return {};
}

/// One entry of a HAR 1.2 file, in one line. Secrets and cookies are replaced, bytes that are not UTF-8 are
/// written as base64, and a failure as `_failure`.
std::string har_entry(const EngineRequest& request, const HttpAnswer& answer) {
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
struct RecordedExchange {
  std::string key;  ///< see exchange_key()
  HttpAnswer answer;
};

/// in:     place - for errors, such as "FILE:LINE"
/// errors: bad_data: no request or response, or invalid base64 content
Result<RecordedExchange> read_har_entry(const Json& json, const std::string& place) {
  const JsonMembers entry(json);
  const JsonMembers sent = entry.inner("request");
  const JsonMembers received = entry.inner("response");
  if (!sent.is_object() || !received.is_object())
    return fail(Code::bad_data, place + ": an entry has no request or no response");
  EngineRequest request;
  request.method = sent.text_or_empty("method");
  request.record_url = sent.text_or_empty("url");
  if (request.method.empty() || request.record_url.empty())
    return fail(Code::bad_data, place + ": a request has no method or no url");
  request.record_body = sent.inner("postData").text_or_empty("text");
  RecordedExchange exchange;
  exchange.key = exchange_key(request);
  HttpAnswer& answer = exchange.answer;
  answer.status = static_cast<int>(received.number_or("status"));
  answer.elapsed = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double, std::milli>(std::clamp(entry.number_or("time"), 0.0, 1e9)));
  if (const std::string failure = received.text_or_empty("_failure"); !failure.empty()) {
    answer.failure = failure_named(failure);
    answer.message = received.text_or_empty("_message");
  }
  answer.url = received.text_or_empty("_finalUrl");
  if (answer.url.empty()) answer.url = request.record_url;
  read_headers(received, answer);
  TRY_VOID(read_content(received, place, answer));
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
  const JsonArray* entries = JsonMembers(json).inner("log").array("entries");
  if (entries == nullptr) return fail(Code::bad_data, path + ": not a HAR file (log.entries is missing)");
  std::size_t number = 0;
  for (const Json& entry : *entries)
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

/// Opens a journal and takes part in it by a shared lock. The last writer may merge and remove it in between;
/// then a new one is made.
Result<int> open_journal(const std::string& path) {
  while (true) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) return fail(Code::no_input, path + ": " + std::strerror(errno));
    while (::flock(file, LOCK_SH) != 0 && errno == EINTR) continue;
    struct stat opened {};
    struct stat named {};
    ::fstat(file, &opened);
    const bool is_gone = ::stat(path.c_str(), &named) != 0 && errno == ENOENT;
    if (!is_gone && opened.st_ino == named.st_ino) return file;
    ::close(file);
  }
}

}  // namespace

std::string exchange_key(const EngineRequest& request) {
  return request.method + " " + request.record_url + "\n" + request.record_body;
}

Result<std::unique_ptr<HarWriter>> HarWriter::open(const std::string& path) {
  std::unique_ptr<HarWriter> writer(new HarWriter(path));
  std::error_code ignored;
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, ignored);
  TRY(writer->journal_, open_journal(path + ".part"));
  return writer;
}

HarWriter::~HarWriter() {
  static_cast<void>(close());
}

Result<void> HarWriter::append(const EngineRequest& request, const HttpAnswer& answer) {
  // The line end comes first: what stands before may be a line that was cut off.
  const std::string line = "\n" + har_entry(request, answer);
  const std::lock_guard lock(mutex_);
  const std::string lost = path_ + ".part: the answer could not be recorded: ";
  if (journal_ < 0) return fail(Code::try_again, lost + "the recording has ended");
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t written = ::write(journal_, line.data() + at, line.size() - at);
    if (written < 0 && errno != EINTR) return fail(Code::try_again, lost + std::strerror(errno));
    at += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
  return {};
}

Result<void> HarWriter::close() {
  const std::lock_guard lock(mutex_);
  if (journal_ < 0) return {};
  const int journal = std::exchange(journal_, -1);
  const bool has_others = ::flock(journal, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  auto merged = has_others ? Result<void>() : merge();
  ::flock(journal, LOCK_UN);  // a program that is just being started may still hold a copy
  ::close(journal);
  return merged;
}

/// Requires that no other writer appends.
Result<void> HarWriter::merge() const {
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

  void send(EngineRequest request, Done done) override {
    if (request.is_confidential) return inner_->send(std::move(request), std::move(done));
    auto kept = std::make_shared<const EngineRequest>(request);
    inner_->send(std::move(request), [this, kept, done = std::move(done)](HttpAnswer answer) {
      if (const auto recorded = writer_.append(*kept, answer); !recorded) answer = lost(recorded.error());
      done(std::move(answer));
    });
  }

 private:
  /// A list that the recording lacks must not be shown as if a replay would show it too.
  static HttpAnswer lost(const Error& error) {
    HttpAnswer answer;
    answer.failure = Failure::not_recorded;
    answer.message = error.text;
    return answer;
  }

  std::unique_ptr<Transport> inner_;
  HarWriter& writer_;
};

class ReplayTransport final : public Transport {
 public:
  explicit ReplayTransport(const HarArchive& archive) : archive_(archive) {}

  void send(EngineRequest request, Done done) override {
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

EngineRequest embedded_request(std::string_view engine, std::string_view query, int depth, int offset) {
  EngineRequest request;
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
    if (hit.fingerprint != 0) object["fingerprint"] = std::to_string(hit.fingerprint);
    hits.push_back(std::move(object));
  }
  answer.body = to_text(JsonObject{{"hits", std::move(hits)}});
  return answer;
}

Result<RankedList> read_embedded_answer(const HttpAnswer& answer) {
  if (answer.failure != Failure::none)
    return fail(answer.failure == Failure::timeout ? Code::try_again : Code::bad_data, answer.message);
  TRY(auto json, parse_json(answer.body, "recording"));
  const JsonArray* hits = JsonMembers(json).array("hits");
  if (hits == nullptr) return fail(Code::bad_data, "a recording without hits");
  RankedList list;
  for (const Json& item : *hits) {
    const JsonMembers members(item);
    if (!members.is_object()) continue;
    Hit hit;
    hit.url = members.text_or_empty("url");
    hit.title = members.text_or_empty("title");
    hit.snippet = members.text_or_empty("snippet");
    hit.published = members.text_or_empty("published");
    hit.language = members.text_or_empty("language");
    if (members.find("score") != nullptr) hit.score = members.number_or("score");
    const std::string fingerprint = members.text_or_empty("fingerprint");
    std::from_chars(fingerprint.data(), fingerprint.data() + fingerprint.size(), hit.fingerprint);
    list.hits.push_back(std::move(hit));
  }
  return list;
}

}  // namespace metafuse::fetchers
