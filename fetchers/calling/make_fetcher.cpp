#include "fetchers/calling/make_fetcher.h"

#include <algorithm>

#include "fetchers/calling/earlier_fetchers.h"
#include "fetchers/calling/embedded_search.h"
#include "fetchers/calling/embedder.h"
#include "fetchers/calling/engine_fetcher.h"
#include "fetchers/engines/sql/connection_text.h"

namespace metafuse::fetchers {
namespace {

using Recording = FetcherOptions::Recording;

/// in: origin - "host:port"
std::shared_ptr<const OwnHost> own_host_of(const std::string& origin, const FetcherOptions& options) {
  return OwnHost::find(origin.substr(0, origin.rfind(':')), options.reach_of_name);
}

/// Whether an engine cannot be asked because a secret is not set.
bool lacks_secret(const Engine& engine, const SecretLookup& secret_of) {
  if (engine.embedding && !ready_endpoint(*engine.embedding, secret_of)) return true;
  if (std::holds_alternative<HttpAccess>(engine.access)) return !ready_access(engine, secret_of);
  const auto* access = std::get_if<DatabaseAccess>(&engine.access);
  if (access == nullptr) return false;
  DatabaseAccess filled = *access;
  return !fill_secrets(filled, engine, secret_of);
}

Result<std::unique_ptr<EngineState>> make_state(Engine engine, const FetcherOptions& options) {
  auto state = std::make_unique<EngineState>();
  const bool is_replay = options.recording == Recording::replay;
  if (std::holds_alternative<HttpAccess>(engine.access)) {
    TRY(auto ready,
        ready_access(engine, is_replay || engine.is_disabled ? SecretLookup() : options.secret_of));
    // A proxy looks names up; only then do they leave by its way alone.
    if (!is_replay && !ready.own_origin.empty() && ready.access.proxy.empty())
      ready.own_host = own_host_of(ready.own_origin, options);
    if (!is_replay && ready.access.auth.kind == Authorization::Kind::oauth2)
      state->tokens = std::make_shared<TokenKeepers>(ready.access.auth, engine.name);
    state->http = std::make_shared<const ReadyAccess>(std::move(ready));
  } else if (!is_replay) {
    const auto* vectors = std::get_if<VectorAccess>(&engine.access);
    if (vectors != nullptr && engine.embedding && is_lsi_index(vectors->database)) engine.embedding.reset();
    if (auto* database = std::get_if<DatabaseAccess>(&engine.access))
      TRY_VOID(fill_secrets(*database, engine, engine.is_disabled ? SecretLookup() : options.secret_of));
    state->embedded = std::make_unique<EmbeddedEngine>(engine, options.tracking);
  }
  state->engine = std::move(engine);
  if (!state->http || options.recording != Recording::off) return state;  // recordings know one address
  for (std::size_t i = 0; i < state->http->access.instances.size(); ++i) {
    TRY(auto other, make_state(engine_at(state->engine, i), options));
    other->tokens = state->tokens;  // a refresh token may be used once
    const auto& own = options.own_addresses;
    if (other->http->access.is_federation &&
        std::find(own.begin(), own.end(), other->http->own_origin) != own.end())
      continue;  // this server itself
    state->others.push_back(std::move(other));
  }
  return state;
}

Result<std::unique_ptr<Embedder>> make_embedder(std::span<const Engine> engines,
                                                const FetcherOptions& options) {
  if (options.recording == Recording::replay) return Embedder::make(engines, nullptr, {});
  return Embedder::make(engines, options.secret_of,
                        [&](const std::string& origin) { return own_host_of(origin, options); });
}

std::unique_ptr<Transport> wrapped(std::unique_ptr<Transport> transport, const FetcherOptions& options) {
  return options.wrap_transport ? options.wrap_transport(std::move(transport)) : std::move(transport);
}

/// Without tokens there is no transport for them.
std::shared_ptr<Transport> make_token_transport(const FetcherState& state, AddressGuard guard,
                                                const FetcherOptions& options) {
  if (std::none_of(state.engines.begin(), state.engines.end(),
                   [](const auto& engine) { return engine->tokens != nullptr; }))
    return nullptr;
  auto earlier = options.earlier ? options.earlier->token_transport() : nullptr;
  return earlier ? earlier : wrapped(make_curl_transport(std::move(guard)), options);
}

Result<Wires> make_wires(const FetcherState& state, const FetcherOptions& options) {
  Wires wires;
  TRY(auto guard, AddressGuard::make(options.allow_private));
  wires.token_transport = make_token_transport(state, guard, options);
  if (options.recording == Recording::replay) {
    TRY(auto read, HarArchive::read(options.recording_file));
    wires.archive = std::make_unique<HarArchive>(std::move(read));
    wires.transport = make_replay_transport(*wires.archive);
  } else {
    wires.transport = make_curl_transport(std::move(guard));
  }
  if (options.recording == Recording::record) {
    TRY(auto opened, HarWriter::open(options.recording_file));
    wires.writer = std::move(opened);
    wires.transport = make_recording_transport(std::move(wires.transport), *wires.writer);
  }
  wires.transport = wrapped(std::move(wires.transport), options);
  return wires;
}

}  // namespace

Result<std::shared_ptr<Fetcher>> make_fetcher(std::vector<Engine> engines, FetcherOptions options) {
  const Clock& steady = machine_clock();
  auto shared = std::make_shared<FetcherState>();
  shared->clock = options.clock == nullptr ? &steady : options.clock;
  if (options.recording != Recording::off) options.learned_wait.is_on = false;
  if (options.recording == Recording::replay) options.uses_breaker = false;
  if (!options.secret_of) options.secret_of = [](std::string_view) { return std::optional<std::string>(); };
  for (Engine& engine : engines)
    if (engine.is_optional && options.recording != Recording::replay)
      engine.is_disabled = engine.is_disabled || lacks_secret(engine, options.secret_of);
  TRY(shared->embedder, make_embedder(engines, options));
  for (Engine& engine : engines) {
    TRY(auto state, make_state(std::move(engine), options));
    shared->engines.push_back(std::move(state));
  }
  TRY(auto wires, make_wires(*shared, options));
  shared->token_transport = wires.token_transport;
  if (options.earlier) options.earlier->hand_on(shared);
  shared->options = std::move(options);
  return std::shared_ptr<Fetcher>(std::make_shared<EngineFetcher>(std::move(shared), std::move(wires)));
}

}  // namespace metafuse::fetchers
