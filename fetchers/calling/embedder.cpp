#include "fetchers/calling/embedder.h"

#include <algorithm>
#include <cmath>
#include <future>

#include <fmt/format.h>

#include "core/json.h"
#include "core/json_members.h"
#include "core/text.h"
#include "fetchers/calling/read_answer.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxKept = 4096;
constexpr std::size_t kMaxAnswerBytes = std::size_t{16} << 20;
constexpr int kTriesForDocuments = 3;

Engine engine_of(const Embedding& embedding) {
  Engine engine;
  engine.name = "embedding " + embedding.model + " " + embedding.access.url;
  engine.timeout_seconds = embedding.timeout_seconds;
  engine.max_bytes = kMaxAnswerBytes;
  engine.access = embedding.access;
  return engine;
}

EngineRequest request_for(const Engine& engine, const ReadyAccess& ready, const Embedding& embedding,
                          std::span<const std::string> texts, const FetchOptions& options) {
  EngineRequest request = build_request(engine, ready, "", options, 1);
  request.body = embedding_body(embedding, texts);
  request.record_body = request.body;
  return request;
}

/// The list of vectors in an answer: `data`, a list of objects with `embedding`; `embeddings`; or the
/// answer itself.
std::vector<const Json*> vectors_in(const Embedding& embedding, const Json& answer) {
  const bool is_openai = embedding.api == Embedding::Api::openai;
  const JsonArray* array = is_openai                                 ? JsonMembers(answer).array("data")
                           : embedding.api == Embedding::Api::ollama ? JsonMembers(answer).array("embeddings")
                                                                     : answer.if_array();
  std::vector<const Json*> vectors;
  if (array == nullptr) return vectors;
  vectors.resize(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    const Json& item = (*array)[i];
    // OpenAI's API gives the index of each vector.
    const auto* index = is_openai ? JsonMembers(item).integer("index") : nullptr;
    const bool has_index =
        index != nullptr && *index >= 0 && *index < static_cast<std::int64_t>(array->size());
    vectors[has_index ? static_cast<std::size_t>(*index) : i] =
        is_openai ? JsonMembers(item).find("embedding") : &item;
  }
  return vectors;
}

Result<std::vector<float>> floats_of(const Json* json) {
  const JsonArray* array = json == nullptr ? nullptr : json->if_array();
  if (array == nullptr || array->empty() || array->size() > kMaxDimensions)
    return fail(Code::bad_data, fmt::format("expected a vector: a list of 1 to {} numbers", kMaxDimensions));
  std::vector<float> vector;
  for (const Json& number : *array) {
    const auto value = number.is_number() ? static_cast<float>(number.to_number<double>()) : NAN;
    if (!std::isfinite(value)) return fail(Code::bad_data, "a vector contains something other than numbers");
    vector.push_back(value);
  }
  return vector;
}

std::string key_of(const Embedding& embedding, std::string_view text) {
  return fmt::format("{}\n{}\n{}\n{}", embedding.access.url, embedding.model,
                     embedding.requests_dimensions ? embedding.dimensions : 0, text);
}

}  // namespace

Result<ReadyAccess> ready_endpoint(const Embedding& embedding, const SecretLookup& secret_of) {
  return ready_access(engine_of(embedding), secret_of);
}

std::string embedding_body(const Embedding& embedding, std::span<const std::string> texts) {
  JsonArray input;
  for (const std::string& text : texts) input.push_back(Json(to_valid_utf8(text)));
  JsonObject body;
  switch (embedding.api) {
    case Embedding::Api::openai:
      body = {{"model", embedding.model}, {"input", std::move(input)}, {"encoding_format", "float"}};
      break;
    case Embedding::Api::ollama:
      body = {{"model", embedding.model}, {"input", std::move(input)}, {"truncate", true}};
      break;
    case Embedding::Api::tei:
      body = {{"inputs", std::move(input)}, {"normalize", true}, {"truncate", true}};
      break;
  }
  if (embedding.requests_dimensions) body["dimensions"] = embedding.dimensions;
  return to_text(body);
}

Result<Vectors> read_embedding_answer(const Embedding& embedding, std::string_view body, std::size_t texts) {
  TRY(const auto json, parse_json(body, "the embedding's answer"));
  const auto found = vectors_in(embedding, json);
  if (found.size() != texts)
    return fail(Code::bad_data,
                fmt::format("received {} vectors for {} texts; check api and model", found.size(), texts));
  Vectors vectors;
  for (const Json* one : found) {
    TRY(auto vector, floats_of(one));
    const std::size_t wanted = embedding.dimensions > 0 ? embedding.dimensions
                               : vectors.empty()        ? vector.size()
                                                        : vectors.front().size();
    if (vector.size() != wanted)
      return fail(Code::bad_data,
                  fmt::format("received a vector of {} dimensions, expected {}; check `dimensions`",
                              vector.size(), wanted));
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

Result<std::unique_ptr<Embedder>> Embedder::make(
    std::span<const Engine> engines, const SecretLookup& secret_of,
    const std::function<std::shared_ptr<const OwnHost>(const std::string& origin)>& own_host_of) {
  auto embedder = std::make_unique<Embedder>();
  for (const Engine& engine : engines) {
    if (!engine.embedding || engine.is_disabled || embedder->find(*engine.embedding) != nullptr) continue;
    auto endpoint = std::make_unique<Endpoint>(Endpoint{*engine.embedding, engine_of(*engine.embedding), {}});
    TRY(endpoint->ready, ready_endpoint(endpoint->embedding, secret_of));
    if (own_host_of && !endpoint->ready.own_origin.empty() && endpoint->ready.access.proxy.empty())
      endpoint->ready.own_host = own_host_of(endpoint->ready.own_origin);
    embedder->endpoints_.push_back(std::move(endpoint));
  }
  return embedder;
}

Embedder::Endpoint* Embedder::find(const Embedding& embedding) {
  const auto found = std::find_if(endpoints_.begin(), endpoints_.end(),
                                  [&](const auto& endpoint) { return endpoint->embedding == embedding; });
  return found == endpoints_.end() ? nullptr : found->get();
}

void Embedder::embed(const Embedding& embedding, std::string_view query, const FetchOptions& options,
                     TimePoint now, Transport& transport, Done done) {
  const std::vector<std::string> texts = {embedding.query_prefix + std::string(query)};
  const std::string key = key_of(embedding, texts.front());
  EmbeddedText known;
  Endpoint* endpoint = nullptr;
  auto verdict = Breaker::Verdict::go;
  {
    const std::lock_guard lock(mutex_);
    endpoint = find(embedding);
    if (const SharedVector* kept = kept_.use(key)) {
      known.vector = *kept;
    } else if (const auto others = waiting_.find(key); others != waiting_.end()) {
      others->second.push_back(std::move(done));
      return;
    } else if (verdict = endpoint->breaker.ask(now); verdict == Breaker::Verdict::stay) {
      known.failure = Failure::breaker_open;
      known.message = "the embedding endpoint failed several times; it is not asked for a while";
    } else {
      waiting_[key].push_back(done);
    }
  }
  if (known.vector || known.failure != Failure::none) return done(known);
  transport.send(request_for(endpoint->engine, endpoint->ready, embedding, texts, options),
                 [this, asked = Asked{*endpoint, key, now, verdict == Breaker::Verdict::probe}](
                     const HttpAnswer& answer) { take(asked, answer); });
}

void Embedder::take(const Asked& asked, const HttpAnswer& answer) {
  Endpoint& endpoint = asked.endpoint;
  EmbeddedText text{nullptr, answer.failure, "embedding: " + answer.message};
  if (answer.failure == Failure::none && answer.status != 200) {
    text.failure = answer.status == 429 ? Failure::rate_limited : Failure::http_status;
    text.message = fmt::format("embedding: HTTP {}{}", answer.status, said(endpoint.ready.access, answer));
  } else if (answer.failure == Failure::none) {
    auto vectors = read_embedding_answer(endpoint.embedding, answer.body, 1);
    if (vectors)
      text = {std::make_shared<const std::vector<float>>(std::move(vectors->front())), Failure::none, ""};
    else
      text = {nullptr, Failure::bad_answer, "embedding: " + vectors.error().text};
  }
  hide_secrets(text.message, endpoint.ready.access);
  std::vector<Done> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (blame_for(answer) == Blame::engine) {
      endpoint.breaker.failed(asked.at + answer.elapsed, asked.is_probe, wished_pause(answer));
    } else if (answer.was_kept_back()) {
      if (asked.is_probe) endpoint.breaker.forget_probe();
    } else if (text.vector || asked.is_probe) {  // a probe that was refused was answered all the same
      endpoint.breaker.succeeded();
    }
    if (text.vector) {
      kept_.put(asked.key, text.vector);
      if (kept_.size() > kMaxKept) kept_.remove_oldest();
    }
    if (const auto found = waiting_.find(asked.key); found != waiting_.end()) {
      waiting = std::move(found->second);
      waiting_.erase(found);
    }
  }
  for (const Done& done : waiting) done(text);
}

void Embedder::take_over(Embedder& from) {
  const std::lock_guard lock(from.mutex_);
  std::vector<std::string> beginnings;  // of the keys of vectors
  for (const auto& endpoint : endpoints_) {
    const Endpoint* const known = from.find(endpoint->embedding);
    if (known == nullptr) continue;
    endpoint->breaker = known->breaker;
    endpoint->breaker.forget_probe();  // its outcome is reported to the earlier embedder
    beginnings.push_back(key_of(endpoint->embedding, ""));
  }
  for (auto at = from.kept_.end(); at != from.kept_.begin();) {
    const auto& [key, vector] = *--at;
    if (std::any_of(beginnings.begin(), beginnings.end(),
                    [&](const std::string& beginning) { return key.starts_with(beginning); }))
      kept_.put(key, vector);
  }
}

void Embedder::forget_waiting() {
  std::map<std::string, std::vector<Done>> waiting;
  const std::lock_guard lock(mutex_);
  waiting.swap(waiting_);
}

Result<EmbedTexts> make_embed_texts(const Embedding& embedding, const SecretLookup& secret_of,
                                    const std::vector<std::string>& allow_private) {
  const Engine engine = engine_of(embedding);
  TRY(auto ready, ready_endpoint(embedding, secret_of));
  TRY(auto guard, AddressGuard::make(allow_private));
  if (!ready.own_origin.empty() && ready.access.proxy.empty())
    ready.own_host = OwnHost::find(ready.own_origin.substr(0, ready.own_origin.rfind(':')));
  std::shared_ptr<Transport> transport = make_curl_transport(std::move(guard));
  return [=](std::span<const std::string> texts) -> Result<Vectors> {
    const Clock& clock = machine_clock();
    std::vector<std::string> prefixed;
    for (const std::string& text : texts) prefixed.push_back(embedding.document_prefix + text);
    HttpAnswer answer;
    for (int attempt = 0; attempt < kTriesForDocuments; ++attempt) {
      std::promise<HttpAnswer> promise;
      const Deadline deadline(clock, engine_timeout(engine));
      transport->send(request_for(engine, ready, embedding, prefixed, {.deadline = deadline}),
                      [&](HttpAnswer came) { promise.set_value(std::move(came)); });
      answer = promise.get_future().get();
      if (answer.failure == Failure::none && answer.status == 200)
        return read_embedding_answer(embedding, answer.body, texts.size());
      if (answer.failure == Failure::none && answer.status < 500 && answer.status != 429) break;
    }
    std::string why = answer.failure == Failure::none
                          ? fmt::format("HTTP {}{}", answer.status, said(ready.access, answer))
                          : answer.message;
    hide_secrets(why, ready.access);
    return fail(Code::unavailable, fmt::format("{}: {}", embedding.access.url, why));
  };
}

}  // namespace metafuse::fetchers
