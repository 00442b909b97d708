#pragma once

// Texts become vectors at an endpoint that an engine file names: OpenAI's API and those that speak it,
// Ollama, and text embeddings inference. A text is sent once, however many engines wait for its vector, and
// what came back is kept.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/recently_used.h"
#include "core/result.h"
#include "fetchers/definition/engine.h"
#include "fetchers/definition/engine_request.h"
#include "fetchers/engine_state.h"
#include "fetchers/fetcher.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

using SharedVector = std::shared_ptr<const std::vector<float>>;

/// What became of a text.
struct EmbeddedText {
  SharedVector vector;  ///< nullptr when it failed
  Failure failure = Failure::none;
  std::string message;
};

/// The endpoints of a set of engines. Safe to use from several threads.
class Embedder {
 public:
  using Done = std::function<void(const EmbeddedText&)>;

  /// in:     secret_of, own_host_of - as for engines; nullptr for a replay
  /// errors: bad_config: a secret that is not set
  static Result<std::unique_ptr<Embedder>> make(
      std::span<const Engine> engines, const SecretLookup& secret_of,
      const std::function<std::shared_ptr<const OwnHost>(const std::string& origin)>& own_host_of);

  /// Asks for the vector of a query. `done` is called once, at once where the vector is known; from any
  /// thread. The endpoint has the definition's time; whoever waits may leave sooner, and the next search
  /// finds the vector.
  void embed(const Embedding& embedding, std::string_view query, const FetchOptions& options, TimePoint now,
             Transport& transport, Done done);

  /// Lets go of everybody who waits; for when the transport is gone.
  void forget_waiting();

 private:
  struct Endpoint {
    Embedding embedding;
    Engine engine;  ///< whose limits the requests share
    ReadyAccess ready;
    Breaker breaker{BreakerOptions()};
  };

  Endpoint* find(const Embedding& embedding);
  void take(Endpoint& endpoint, const std::string& key, const HttpAnswer& answer, TimePoint now);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::map<std::string, std::vector<Done>> waiting_;  ///< by endpoint and text
  RecentlyUsed<SharedVector> kept_;
};

/// The body of a request for the vectors of texts.
std::string embedding_body(const Embedding& embedding, std::span<const std::string> texts);

/// The vectors in an answer, in the order of the texts.
///
/// errors: bad_data: no JSON of the API's form, another number of vectors than texts, vectors of different
///         sizes or of another size than the definition says, numbers that no float holds
Result<std::vector<std::vector<float>>> read_embedding_answer(const Embedding& embedding,
                                                              std::string_view body, std::size_t texts);

/// Vectors of documents, for `metafuse index`: sends the texts with the definition's document_prefix and
/// waits; a request that fails for the endpoint's sake is repeated twice.
///
/// errors: bad_config: a secret that is not set, a bad allow_private; unavailable: no answer, or a status
///         other than 200; bad_data: as read_embedding_answer
Result<std::function<Result<std::vector<std::vector<float>>>(std::span<const std::string> texts)>>
make_embed_texts(const Embedding& embedding, const SecretLookup& secret_of,
                 const std::vector<std::string>& allow_private);

}  // namespace metafuse::fetchers
