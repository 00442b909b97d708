#pragma once

#include <memory>

#include "fetchers/calling/blocking_workers.h"
#include "fetchers/calling/engine_state.h"
#include "fetchers/calling/fetcher.h"
#include "fetchers/http/transport.h"
#include "fetchers/recording/har_archive.h"

namespace metafuse::fetchers {

/// What answers requests, and the recording that it writes or reads.
struct Wires {
  std::unique_ptr<HarWriter> writer;
  std::unique_ptr<HarArchive> archive;
  /// Destroyed before the members above, so that no answer comes later.
  std::unique_ptr<Transport> transport;
  /// For tokens, and the fetchers' that follow one another: a token that is renewed when the configuration is
  /// loaded again must not be lost with the fetcher that asked for it. nullptr if no engine has tokens.
  std::shared_ptr<Transport> token_transport;
};

/// Sends each expanded query to the engine that it names, and waits for the lists. See make_fetcher().
class EngineFetcher final : public Fetcher {
 public:
  EngineFetcher(std::shared_ptr<FetcherState> shared, Wires wires)
      : shared_(std::move(shared)), wires_(std::move(wires)) {}
  ~EngineFetcher() override;

  std::vector<FetchedList> fetch(std::span<const ExpandedQuery> queries, const FetchOptions& options,
                                 const std::function<void(const FetchedList&)>& on_list) override;
  std::vector<Passage> passages(std::string_view engine, std::string_view words,
                                std::span<const Hit* const> hits, const Deadline& deadline) override;
  void prepare(std::string_view engine) override;

 private:
  class Round;

  std::shared_ptr<FetcherState> shared_;
  Wires wires_;
  std::unique_ptr<BlockingWorkers> workers_ = std::make_unique<BlockingWorkers>();
};

}  // namespace metafuse::fetchers
