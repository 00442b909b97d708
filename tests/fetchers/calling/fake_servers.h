#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/calling/earlier_fetchers.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"

// Endpoints that compute vectors, and servers that are searched with them, without a network.
namespace metafuse::test {

inline const std::string kEndpoint =
    "embedding: {api: openai, base_url: 'http://127.0.0.1:9999', model: small, dimensions: 2, api_key: "
    "'${KEY}', "
    "query_prefix: 'query: '}\n";

inline std::optional<std::string> secret_for_test(std::string_view name) {
  return name == "KEY" ? std::optional<std::string>("s3cret") : std::nullopt;
}

/// Answers in place of the network and keeps the requests.
struct FakeServers {
  std::mutex mutex;
  std::vector<fetchers::EngineRequest> requests;
  std::map<std::string, std::function<fetchers::HttpAnswer(const fetchers::EngineRequest&)>>
      answer_of;  ///< by a part of its URL
  std::vector<std::function<void()>> held;
  bool holds = false;  ///< answers are held until release()

  void answer(const std::string& url_part, const std::string& body, int status = 200) {
    answer_of[url_part] = [=](const fetchers::EngineRequest& request) {
      fetchers::HttpAnswer out;
      out.status = status;
      out.url = request.url;
      out.headers = {{"content-type", "application/json"}};
      out.body = body;
      return out;
    };
  }

  std::size_t asked(const std::string& url_part) {
    const std::lock_guard lock(mutex);
    return static_cast<std::size_t>(
        std::count_if(requests.begin(), requests.end(), [&](const fetchers::EngineRequest& request) {
          return request.url.find(url_part) != std::string::npos;
        }));
  }
};

class FakeTransport final : public fetchers::Transport {
 public:
  /// in: inner - asked if no fake server answers
  explicit FakeTransport(FakeServers& servers, std::unique_ptr<fetchers::Transport> inner = {})
      : servers_(servers), inner_(std::move(inner)) {}
  void send(fetchers::EngineRequest request, Done done) override {
    fetchers::HttpAnswer answer;
    answer.failure = fetchers::Failure::refused;
    answer.message = "no such server";
    {
      const std::lock_guard lock(servers_.mutex);
      servers_.requests.push_back(request);
      bool is_known = false;
      for (const auto& [part, make] : servers_.answer_of)
        if (request.url.find(part) != std::string::npos) {
          answer = make(request);
          is_known = true;
        }
      if (!is_known && inner_) return inner_->send(std::move(request), std::move(done));
      if (servers_.holds) return servers_.held.push_back([done = std::move(done), answer] { done(answer); });
    }
    done(std::move(answer));
  }

 private:
  FakeServers& servers_;
  std::unique_ptr<fetchers::Transport> inner_;
};

inline std::shared_ptr<fetchers::Fetcher> fetcher_with(
    FakeServers& servers, const std::string& yaml, const Clock* clock = nullptr,
    std::shared_ptr<fetchers::EarlierFetchers> earlier = {}) {
  const auto file = fetchers::parse_engine_file(yaml, "test.yaml");
  if (!file) FAIL(file.error().text);
  fetchers::FetcherOptions options;
  options.secret_of = secret_for_test;
  options.learned_wait.is_on = false;
  if (clock != nullptr) options.clock = clock;
  options.earlier = std::move(earlier);
  options.wrap_transport = [&](std::unique_ptr<fetchers::Transport>) {
    return std::make_unique<FakeTransport>(servers);
  };
  auto fetcher = fetchers::make_fetcher(file->engines, std::move(options));
  if (!fetcher) FAIL(fetcher.error().text);
  return *fetcher;
}

inline std::vector<fetchers::FetchedList> ask_engines(fetchers::Fetcher& fetcher,
                                                      const std::vector<std::string>& engines, int page = 1,
                                                      const std::string& text = "open \"door\"") {
  const Clock& clock = machine_clock();
  std::vector<ExpandedQuery> queries;
  for (const std::string& engine : engines) queries.push_back({"t", engine, text});
  return fetcher.fetch(queries,
                       {.depth = 7, .deadline = Deadline(clock, std::chrono::seconds(5)), .page = page}, {});
}

inline const std::string kVectorAnswer =
    R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.25,-0.5]}]})";

}  // namespace metafuse::test
