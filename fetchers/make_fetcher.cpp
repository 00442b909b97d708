#include "fetchers/make_fetcher.h"

#include "fetchers/engine_fetcher.h"
#include "fetchers/http/curl_transport.h"
#include "fetchers/recording/recorded_transport.h"

namespace metafuse::fetchers {
namespace {

using Recording = FetcherOptions::Recording;

Result<std::unique_ptr<EngineState>> make_state(Engine engine, const FetcherOptions& options) {
  auto state = std::make_unique<EngineState>();
  const bool is_replay = options.recording == Recording::replay;
  if (std::holds_alternative<HttpAccess>(engine.access)) {
    const SecretLookup nothing_set = [](std::string_view) { return std::optional<std::string>(); };
    TRY(auto ready, ready_access(engine, is_replay           ? SecretLookup()
                                         : options.secret_of ? options.secret_of
                                                             : nothing_set));
    state->http = std::make_shared<const ReadyAccess>(std::move(ready));
  } else if (!is_replay) {
    state->embedded = std::make_unique<EmbeddedEngine>(engine);
  }
  state->engine = std::move(engine);
  return state;
}

/// What answers requests, and what is read or written for it.
struct Wires {
  std::unique_ptr<HarWriter> writer;
  std::unique_ptr<HarArchive> archive;
  std::unique_ptr<Transport> transport;
};

Result<Wires> make_wires(const FetcherOptions& options) {
  Wires wires;
  TRY(auto guard, AddressGuard::make(options.allow_private));
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
  if (options.wrap_transport) wires.transport = options.wrap_transport(std::move(wires.transport));
  return wires;
}

}  // namespace

Result<std::shared_ptr<Fetcher>> make_fetcher(std::vector<Engine> engines, FetcherOptions options) {
  static const SteadyClock steady;
  auto shared = std::make_shared<SharedState>();
  shared->clock = options.clock == nullptr ? &steady : options.clock;
  if (options.recording != Recording::off) options.learned_wait.is_on = false;
  if (options.recording == Recording::replay) options.uses_breaker = false;
  for (Engine& engine : engines) {
    TRY(auto state, make_state(std::move(engine), options));
    shared->engines.push_back(std::move(state));
  }
  TRY(auto wires, make_wires(options));
  shared->options = std::move(options);
  return std::shared_ptr<Fetcher>(std::make_shared<EngineFetcher>(
      std::move(shared), std::move(wires.writer), std::move(wires.archive), std::move(wires.transport)));
}

}  // namespace metafuse::fetchers
