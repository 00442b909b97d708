#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "service/http/server.h"

namespace metafuse::test {

/// A web site on a free loopback port that serves the pages put into it.
class TestSite {
 public:
  TestSite() {
    server_ = std::move(
        service::HttpServer::start({}, [this](service::HttpRequest request,
                                              std::shared_ptr<service::Responder> responder) {
          const std::lock_guard lock(mutex_);
          asked_.push_back(request.target);
          const auto at = pages_.find(request.path);
          responder->send(at == pages_.end() ? service::make_response(404, "text/html", "none") : at->second);
        }).value());
  }
  TestSite(const TestSite&) = delete;
  TestSite& operator=(const TestSite&) = delete;
  ~TestSite() { server_->stop(std::chrono::seconds(5)); }

  void put(const std::string& path, service::HttpResponse response) {
    const std::lock_guard lock(mutex_);
    pages_[path] = std::move(response);
  }
  void put(const std::string& path, const std::string& html) {
    put(path, service::make_response(200, "text/html", html));
  }
  void redirect(const std::string& path, const std::string& target) {
    service::HttpResponse response;
    response.status = 302;
    response.set("Location", target);
    put(path, std::move(response));
  }
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  std::string origin() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  std::string url(const std::string& path) const { return "http://" + origin() + path; }

 private:
  std::mutex mutex_;
  std::map<std::string, service::HttpResponse> pages_;
  std::vector<std::string> asked_;
  std::unique_ptr<service::HttpServer> server_;
};

}  // namespace metafuse::test
