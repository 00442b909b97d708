#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/progress.h"
#include "core/result.h"
#include "fetchers/http/transport.h"

namespace metafuse::service {

/// A language model behind OpenAI's chat interface: llama.cpp, vLLM, Ollama, or a hosted one.
struct ChatModel {
  std::string url;    ///< of the server, or whole: .../v1/chat/completions, also with a query
  std::string model;  ///< its name there
  std::string key;    ///< sent as a bearer token; empty: none
  double timeout_seconds = 120;
  std::size_t answer_tokens = 0;  ///< that an answer may have; 0: what the grades need
};

/// One exchange with a model.
struct ChatAnswer {
  std::optional<std::string> content;  ///< what the model said; nothing if the answer had another form
  bool is_cut = false;                 ///< it ended at the limit of its tokens
  std::uint64_t input_tokens = 0;      ///< as the server counted them, else estimated
  std::uint64_t output_tokens = 0;
};

/// What became of a request that was sent once.
enum class ChatOutcome {
  answered,
  failed,   ///< as others, or the same, may again: a status of 5xx, no answer in time, a dropped connection
  busy,     ///< 429: it may be sent again after a pause
  refused,  ///< this request gets no answer, however often it is sent: 400, 413, 422, an answer without end,
            ///< and 403 of a server that has answered others
};

struct ChatTry {
  ChatOutcome outcome = ChatOutcome::answered;
  std::optional<ChatAnswer> answer;
  std::string trouble;          ///< why there is no answer
  int retry_after_seconds = 0;  ///< as the server wishes; 0: it says nothing
  bool may_have_cost = false;   ///< no answer came, but the model may have worked on one
};

/// Tokens that a text has at most, as a rule: one for three bytes.
constexpr std::uint64_t most_tokens(std::size_t bytes) {
  return bytes / 3 + 8;
}

/// Sends requests to one model.
class ChatEndpoint {
 public:
  /// errors: usage: the URL is not one of http or https
  static Result<ChatEndpoint> make(fetchers::Transport& transport, ChatModel model, unsigned connections);

  const std::string& url() const { return url_; }
  const ChatModel& model() const { return model_; }

  /// Sends a request once, at temperature 0, and waits. A server that refuses max_tokens or a temperature, as
  /// it says by "param" of its error, is from then on asked with max_completion_tokens, or without it.
  ///
  /// in:     answer_tokens - the answer's limit; is_interrupted - asked ten times per second
  /// errors: those that no other request would mend, in one sentence that says what to do: unavailable:
  ///         cannot be reached, no such model, a key that is not accepted; try_again: interrupted
  Result<ChatTry> ask(const std::string& prompt, std::size_t answer_tokens,
                      const IsInterrupted& is_interrupted) const;

 private:
  ChatEndpoint(fetchers::Transport& transport, ChatModel model)
      : transport_(&transport), model_(std::move(model)) {}
  /// The form of requests that the server accepts.
  struct Form {
    bool has_old_limit = true;
    bool has_temperature = true;

    Form without(std::string_view parameter) const;
    friend bool operator==(const Form&, const Form&) = default;
  };
  fetchers::EngineRequest request(const std::string& prompt, std::size_t answer_tokens, Form form) const;
  ChatTry failed(const fetchers::HttpAnswer& answer, Form form) const;
  Error hopeless(const fetchers::HttpAnswer& answer) const;

  fetchers::Transport* transport_;
  ChatModel model_;
  std::string url_;
  std::string origin_;
  std::shared_ptr<const fetchers::OwnHost> own_host_;
  int connections_ = 1;
  std::shared_ptr<std::atomic<Form>> form_ = std::make_shared<std::atomic<Form>>();
  std::shared_ptr<std::atomic<bool>> has_answered_ = std::make_shared<std::atomic<bool>>();
};

}  // namespace metafuse::service
