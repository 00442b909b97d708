#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/app.h"
#include "service/http/server.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/raw_client.h"
#include "tests/support/temporary_folder.h"

namespace metafuse::test {

inline const std::string kTwoTemplates =
    "version: 1\ndomain: pages\ndescription: Home pages\ndepth: 10\nslots:\n  NAME: {required: true, "
    "description: "
    "a name}\n  PLACE: {}\ntemplates:\n  - {id: plain, engine: [one, two], query: '{NAME}'}\n"
    "  - {id: placed, engine: one, query: '{NAME} [{PLACE}]'}\n";

/// A whole server on a free port, with engines that answer from memory.
class TestServer {
 public:
  explicit TestServer(FakeFetcher::Answer answer = default_answer, const std::string& more_config = "",
                      const std::string& templates = kTwoTemplates, const Clock* clock = nullptr,
                      const std::vector<std::string>& forwarded = {},
                      const std::map<std::string, std::vector<std::string>>& private_engines = {})
      : fetcher_(std::make_shared<FakeFetcher>(std::move(answer))) {
    folder_.write("templates/pages.yaml", templates);
    folder_.write("models/.keep", "");
    folder_.write("metafuse.yaml",
                  "version: 1\nlisten: 127.0.0.1:0\ndefault_domain: pages\ntemplates: "
                  "[templates/*.yaml]\nmodels: models\n" +
                      more_config);
    service::AppOptions options;
    options.config = service::read_config(config_path()).value();
    options.load_engines = [fetcher = fetcher_, forwarded,
                            private_engines](const service::ServerConfig&) -> Result<service::LoadedEngines> {
      service::LoadedEngines engines{{"one", "two"}, fetcher, {}, {}};
      engines.forwarded = forwarded;
      engines.private_engines = private_engines;
      engines.watched = {{"one", "1"}, {"two", "2"}};
      engines.traits["one"].shortcut = "on";
      engines.traits["two"].shortcut = "tw";
      engines.traits["two"].categories = {"images"};
      engines.traits["one"].price = 0.25;
      engines.traits["two"].price = 0.5;
      return engines;
    };
    options.reread = [path = config_path()] { return service::read_config(path); };
    options.clock = clock == nullptr ? &steady_ : clock;
    app_ = std::move(service::App::create(options).value());
    service::HttpServerOptions http;
    http.limits = options.config.limits;
    http.refuse = [app = app_.get()](service::HttpRequest request, const service::Refusal& refusal) {
      return app->refused(std::move(request), refusal);
    };
    server_ = std::move(
        service::HttpServer::start(http, [app = app_.get()](service::HttpRequest request,
                                                            std::shared_ptr<service::Responder> responder) {
          app->handle(std::move(request), std::move(responder));
        }).value());
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() {
    server_->stop(std::chrono::seconds(5));
    app_->stop();
  }

  static fetchers::FetchedList default_answer(const ExpandedQuery& query) {
    if (query.engine == "two") return list_of({"b.example", "c.example"});
    return list_of({"a.example", "b.example", "d.example"});
  }

  std::uint16_t port() const { return server_->port(); }
  service::App& app() { return *app_; }
  service::HttpServer& server() { return *server_; }
  FakeFetcher& fetcher() { return *fetcher_; }
  const TemporaryFolder& folder() const { return folder_; }
  std::string config_path() const { return folder_.path("metafuse.yaml"); }

  /// The whole response to a GET request.
  std::string get(const std::string& target, const std::string& headers = "") {
    RawClient client(port());
    client.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n");
    return client.read_all();
  }
  std::string post(const std::string& target, const std::string& type, const std::string& body,
                   const std::string& headers = "", const std::string& method = "POST") {
    RawClient client(port());
    client.send(method + " " + target +
                " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: " + type +
                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body);
    return client.read_all();
  }

 private:
  TemporaryFolder folder_;
  const Clock& steady_ = machine_clock();
  std::shared_ptr<FakeFetcher> fetcher_;
  std::unique_ptr<service::App> app_;
  std::unique_ptr<service::HttpServer> server_;
};

}  // namespace metafuse::test
