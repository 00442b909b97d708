#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "service/http/server.h"

namespace metafuse::test {

/// A document in a request for grades: its id and all of its text.
struct AskedDocument {
  std::string id;
  std::string text;
};

/// The documents of a request, as a model would find them.
inline std::vector<AskedDocument> documents_in(const std::string& prompt) {
  std::vector<AskedDocument> out;
  const std::string begin = "<document-";
  for (std::size_t at = prompt.find(begin); at != std::string::npos; at = prompt.find(begin, at + 1)) {
    const std::size_t id = prompt.find(" id=\"", at);
    const std::size_t id_end = prompt.find('"', id + 5);
    const std::size_t end = prompt.find("</document-", at);
    if (id == std::string::npos || end == std::string::npos || id > end) break;
    out.push_back({prompt.substr(id + 5, id_end - id - 5), prompt.substr(id_end, end - id_end)});
  }
  return out;
}

/// What a model says: its text, or another HTTP answer.
struct Said {
  std::string content;
  int status = 200;
  std::string body{};  ///< instead of a chat with the content
  bool is_silent = false;
};

/// The answer of a model that grades each document by a function.
inline Said graded(const std::string& prompt, const std::function<int(const std::string& text)>& grade) {
  JsonObject grades;
  for (const AskedDocument& document : documents_in(prompt)) grades[document.id] = grade(document.text);
  return {to_text(grades)};
}

/// A server with OpenAI's chat interface on a free loopback port, whose model is a function of the prompt.
class ChatServer {
 public:
  using Model = std::function<Said(const std::string& prompt)>;

  explicit ChatServer(Model model) : model_(std::move(model)) {
    server_ = std::move(service::HttpServer::start({}, [this](service::HttpRequest request,
                                                              std::shared_ptr<service::Responder> responder) {
                          answer(request, std::move(responder));
                        }).value());
  }
  ChatServer(const ChatServer&) = delete;
  ChatServer& operator=(const ChatServer&) = delete;
  ~ChatServer() {
    held_.clear();
    server_->stop(std::chrono::seconds(1));
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  std::vector<std::string> prompts() const {
    const std::lock_guard lock(mutex_);
    return prompts_;
  }
  std::vector<service::HttpRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void answer(const service::HttpRequest& request, std::shared_ptr<service::Responder> responder) {
    const auto json = parse_json(request.body, "request").value();
    const std::string prompt(json.at("messages").as_array().at(0).as_object().at("content").as_string());
    Said said;
    {
      const std::lock_guard lock(mutex_);
      prompts_.push_back(prompt);
      requests_.push_back(request);
      said = model_(prompt);
      if (said.is_silent) held_.push_back(responder);
    }
    if (said.is_silent) return;
    if (said.body.empty() && said.status == 200)
      said.body = to_text(
          JsonObject{{"choices", JsonArray{JsonObject{{"message", JsonObject{{"content", said.content}}}}}},
                     {"usage", JsonObject{{"prompt_tokens", 100}, {"completion_tokens", 10}}}});
    responder->send(service::make_response(said.status, "application/json", said.body));
  }

  Model model_;
  mutable std::mutex mutex_;
  std::vector<std::string> prompts_;
  std::vector<service::HttpRequest> requests_;
  std::vector<std::shared_ptr<service::Responder>> held_;
  std::unique_ptr<service::HttpServer> server_;
};

}  // namespace metafuse::test
