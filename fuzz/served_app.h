#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "core/contract.h"
#include "core/digest.h"
#include "core/json.h"
#include "core/text.h"
#include "service/app.h"
#include "service/http/message.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/temporary_folder.h"

// A whole server behind its request handler, for the fuzzers that send it requests. Each process makes one;
// its files are in memory.

namespace metafuse::service {

/// An engine whose answers are hard to write out: markup, quotes, control characters.
inline fetchers::FetchedList hard_list(const ExpandedQuery& query) {
  fetchers::FetchedList list = test::list_of({"a.example", "b.example"});
  list.list.hits[0].title = "<script>\"'&" + query.text;
  list.list.hits[1].snippet = "=1+1\r\n]]>\x01";
  list.list.hits[1].url = "javascript:alert(1)";
  list.list.suggestions = {query.text + "\""};
  return list;
}

/// The whole server, with a key that has every role, no rate limits, and the guard against wrong keys off.
inline std::unique_ptr<App> make_app(const test::TemporaryFolder& folder) {
  folder.write("t.yaml",
               "version: 1\ndomain: pages\nslots: {NAME: {required: true}, PLACE: {}}\ntemplates:\n"
               "  - {id: plain, engine: [one, two], query: '{NAME|phrase} [{PLACE}]'}\n");
  folder.write("models/.keep", "");
  folder.write("serve.yaml",
               "version: 1\ntemplates: [t.yaml]\nmodels: models\nstore: store.db\nmetrics: open\n"
               "cors_origins: ['*']\nlimits: {failed_keys_per_minute: 0}\ncache: {entries: 16}\n"
               "keys: [{name: all, roles: [search, judge, admin, raw], sha256: " +
                   sha256_hex("key") + "}]\n");
  const Clock& clock = machine_clock();
  AppOptions options;
  options.config = read_config(folder.path("serve.yaml")).value();
  options.load_engines = [](const ServerConfig&) -> Result<LoadedEngines> {
    return LoadedEngines{{"one", "two"}, std::make_shared<test::FakeFetcher>(hard_list), {}, {}};
  };
  options.clock = &clock;
  return std::move(App::create(options).value());
}

/// Keeps an answer, whole or in pieces, for the thread that waits for it.
class Keeper final : public Responder {
 public:
  void send(HttpResponse response) override { keep(std::move(response), true); }
  void begin(HttpResponse head) override { keep(std::move(head), false); }
  void write(std::string) override {}
  void end() override {
    const std::lock_guard lock(mutex_);
    is_whole_ = true;
    changed_.notify_all();
  }
  HttpResponse wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_whole_; });
    return std::move(response_);
  }

 private:
  void keep(HttpResponse response, bool is_whole) {
    const std::lock_guard lock(mutex_);
    response_ = std::move(response);
    is_whole_ = is_whole;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  HttpResponse response_;
  bool is_whole_ = false;
};

inline std::string body_of(const HttpResponse& response) {
  if (response.frame == nullptr) return response.body;
  std::string body = response.frame->parts.front();
  for (std::size_t i = 0; i < response.frame->gaps.size(); ++i)
    body += response.fillings.at(response.frame->gaps[i]) + response.frame->parts.at(i + 1);
  return body;
}

/// Whatever the request was, the answer must not be an internal error, and must be valid for its type.
inline void check(const HttpResponse& response) {
  require(response.status >= 200 && response.status < 600 && response.status != 500,
          "a status that is meant");
  const std::string head = response_head(response, {});
  require(head.find("\r\n\r\n") == head.size() - 4, "one head");
  const std::string body = body_of(response);
  require(first_invalid_utf8(body) == std::string_view::npos, "text is UTF-8");
  const std::string type = media_type(response.header("Content-Type"));
  if (type.ends_with("json")) require(parse_json(body, "body").has_value(), "JSON is JSON");
  if (type == "text/html") {
    require(body.find("<script>\"") == std::string::npos, "markup of engines is escaped");
    require(body.find("javascript:alert") == std::string::npos ||
                body.find("href=\"javascript:") == std::string::npos,
            "no link runs a script");
  }
}

/// Processor time of the whole process.
inline double processor_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Sends one request and checks its answer. While fuzzing, more than 100 ms of processor time and 5 us per
/// byte of the body count as a finding; the sanitizers make everything about ten times as slow.
///
/// in: most_bytes - the longest answer allowed
inline HttpResponse served(HttpRequest request, std::size_t most_bytes = std::size_t{64} << 20) {
  static const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  static const std::unique_ptr<App> app = make_app(folder);
  request.peer = "127.0.0.1";
  const auto keeper = std::make_shared<Keeper>();
  [[maybe_unused]] const double begin = processor_seconds();
  [[maybe_unused]] const double most_seconds = 0.1 + 5e-6 * static_cast<double>(request.body.size());
  app->handle(std::move(request), keeper);
  HttpResponse response = keeper->wait();
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  require(processor_seconds() - begin < most_seconds, "no request takes long");
#endif
  check(response);
  require(response.body_bytes() <= most_bytes, "an answer has a bound");
  return response;
}

/// A POST request with the key that has every role.
inline HttpRequest posted(std::string path, std::string_view type, std::string body) {
  HttpRequest request;
  request.method = "POST";
  request.target = request.path = std::move(path);
  request.headers = {
      {"Host", "localhost"}, {"Content-Type", std::string(type)}, {"Authorization", "Bearer key"}};
  request.body = std::move(body);
  return request;
}

}  // namespace metafuse::service
