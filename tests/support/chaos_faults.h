#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fetchers/fetcher.h"

namespace metafuse::test {

/// A connection whose request is in, as the faults see it.
class ChaosClient {
 public:
  virtual ~ChaosClient() = default;
  /// False when the server ends or the client has gone.
  virtual bool send(std::string_view bytes) = 0;
  /// Waits that long; false when the server ends or the client has gone.
  virtual bool waits(int milliseconds) = 0;
  /// Until the server ends or the client has gone.
  virtual void hang() = 0;
  /// The end of this connection will be a reset.
  virtual void reset() = 0;
  virtual void half_close() = 0;
  virtual std::string origin() const = 0;
  virtual std::uint16_t closed_port() const = 0;
};

/// One way in which an engine goes wrong.
struct Fault {
  std::string_view name;  ///< the path that asks for it
  /// What the fetch layer may call it; none: an answer that is in order.
  std::vector<fetchers::Failure> outcomes;
  /// What is sent; nullptr: goes wrong before a request can be read.
  void (*play)(ChaosClient&);
};

/// Every fault, and healthy answers first.
std::span<const Fault> faults();

/// The three results of every answer that is in order.
std::string_view chaos_results();

/// Answers a request for a fault. Beside the faults: "redirect-to" sends to the target, "description"
/// describes an engine at the target; both percent-encoded.
void play_fault(ChaosClient& client, std::string_view name, std::string_view target);

}  // namespace metafuse::test
