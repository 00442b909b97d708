#pragma once

// Turns texts into vectors at an endpoint that an engine file names: OpenAI's API and compatible servers,
// Ollama, or Text Embeddings Inference. A text is sent only once, however many engines wait for its vector,
// and vectors are cached.

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
#include "fetchers/calling/fetcher.h"
#include "fetchers/engines/http/engine_request.h"
#include "fetchers/engines/vector/vector_rows.h"
#include "fetchers/http/breaker.h"
#include "fetchers/http/transport.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

using SharedVector = std::shared_ptr<const std::vector<float>>;

/// The outcome for one text.
struct EmbeddedText {
  SharedVector vector;  ///< nullptr on failure
  Failure failure = Failure::none;
  std::string message;
};

/// The endpoints of a set of engines. Thread-safe.
class Embedder {
 public:
  using Done = std::function<void(const EmbeddedText&)>;

  /// in:     secret_of, own_host_of - as for engines; nullptr for a replay
  /// errors: bad_config: a secret that is not set
  static Result<std::unique_ptr<Embedder>> make(
      std::span<const Engine> engines, const SecretLookup& secret_of,
      const std::function<std::shared_ptr<const OwnHost>(const std::string& origin)>& own_host_of);

  /// Asks for the vector of a query. `done` is called once, from any thread, immediately if the vector is
  /// cached. The endpoint gets the time limit of its definition. A caller may stop waiting earlier; the next
  /// search then finds the vector in the cache.
  void embed(const Embedding& embedding, std::string_view query, const FetchOptions& options, TimePoint now,
             Transport& transport, Done done);

  /// Takes over what an earlier embedder knows of endpoints with the same definition: their vectors, and
  /// whether they are left alone. Call it before this one is used.
  void take_over(Embedder& from);

  /// Drops all waiting callbacks. Call it once the transport is gone.
  void forget_waiting();

 private:
  struct Endpoint {
    Embedding embedding;
    Engine engine;  ///< the requests share its limits
    ReadyAccess ready;
    Breaker breaker{};
  };

  /// A request for the vector of one text.
  struct Asked {
    Endpoint& endpoint;
    std::string key;
    TimePoint at;
    bool is_probe;  ///< the breaker waits for its outcome
  };

  Endpoint* find(const Embedding& embedding);
  void take(const Asked& asked, const HttpAnswer& answer);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::map<std::string, std::vector<Done>> waiting_;  ///< key: endpoint and text
  RecentlyUsed<SharedVector> kept_;
};

/// An endpoint with its secrets.
///
/// errors: bad_config: a secret that is not set
Result<ReadyAccess> ready_endpoint(const Embedding& embedding, const SecretLookup& secret_of);

/// The body of a request for the vectors of `texts`.
std::string embedding_body(const Embedding& embedding, std::span<const std::string> texts);

/// Reads the vectors in an answer, in the order of the texts.
///
/// errors: bad_data: not JSON in the API's form, another number of vectors than texts, vectors of different
///         sizes or not of the size in the definition, numbers that do not fit into a float
Result<Vectors> read_embedding_answer(const Embedding& embedding, std::string_view body, std::size_t texts);

/// Returns a function that computes the vectors of documents for `metafuse index`. It sends the texts
/// with the definition's document_prefix and waits; a request that fails because of the endpoint is
/// repeated twice.
///
/// errors: bad_config: a secret that is not set, an invalid allow_private; unavailable: no answer, or a
///         status other than 200; bad_data: as read_embedding_answer
Result<EmbedTexts> make_embed_texts(const Embedding& embedding, const SecretLookup& secret_of,
                                    const std::vector<std::string>& allow_private);

}  // namespace metafuse::fetchers
