#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fetchers/calling/make_fetcher.h"
#include "fetchers/http/transport.h"

namespace metafuse::test {

/// Engines without a network: a function answers each request in the caller's thread, and the requests
/// are kept.
struct Script {
  std::function<fetchers::HttpAnswer(const fetchers::EngineRequest&)> answer;
  std::vector<fetchers::EngineRequest> requests;
};

class ScriptedTransport final : public fetchers::Transport {
 public:
  explicit ScriptedTransport(Script& script) : script_(script) {}
  void send(fetchers::EngineRequest request, Done done) override {
    fetchers::HttpAnswer answer = script_.answer(request);
    if (answer.url.empty()) answer.url = request.url;
    script_.requests.push_back(std::move(request));
    done(std::move(answer));
  }

 private:
  Script& script_;
};

/// Holds requests until the test answers them.
class HoldingTransport final : public fetchers::Transport {
 public:
  using Held = std::vector<std::pair<fetchers::EngineRequest, Done>>;
  explicit HoldingTransport(Held& held) : held_(held) {}
  void send(fetchers::EngineRequest request, Done done) override {
    held_.emplace_back(std::move(request), std::move(done));
  }

 private:
  Held& held_;
};

inline fetchers::HttpAnswer answer_of(std::string body, int status = 200) {
  fetchers::HttpAnswer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

inline fetchers::HttpAnswer status_answer(int status, fetchers::StringPairs headers,
                                          std::string body = "no") {
  fetchers::HttpAnswer answer = answer_of(std::move(body), status);
  answer.headers = std::move(headers);
  return answer;
}

inline fetchers::HttpAnswer failed_answer(fetchers::Failure failure) {
  fetchers::HttpAnswer answer;
  answer.failure = failure;
  answer.message = "as scripted";
  return answer;
}

/// The answer with one result of the engines of `block()` (tests/fetchers/calling/chaos_engines.h).
inline const std::string kOneResult = R"({"results":[{"url":"http://a.example/1","title":"One"}]})";

/// For FetcherOptions::run_late, so that a test sees at once what a late answer changes.
inline void run_at_once(const std::function<void()>& work) {
  work();
}

inline fetchers::FetcherOptions scripted_options(Script& script) {
  fetchers::FetcherOptions options;
  options.wrap_transport = [&](std::unique_ptr<fetchers::Transport>) {
    return std::make_unique<ScriptedTransport>(script);
  };
  options.run_late = run_at_once;
  options.reach_of_name = [](const std::string&) { return fetchers::Reach::everyone; };
  return options;
}

}  // namespace metafuse::test
