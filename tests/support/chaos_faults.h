#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fetchers/calling/fetcher.h"

namespace metafuse::test {

/// A connection whose request was read, as the faults use it.
class ChaosClient {
 public:
  virtual ~ChaosClient() = default;
  /// False when the server stops or the client has gone.
  virtual bool send(std::string_view bytes) = 0;
  /// Waits that long; false when the server stops or the client has gone.
  virtual bool waits(int milliseconds) = 0;
  /// Waits until the server stops or the client has gone.
  virtual void hang() = 0;
  /// Closing this connection will send a reset.
  virtual void reset() = 0;
  virtual void half_close() = 0;
  virtual std::string origin() const = 0;
  virtual std::uint16_t closed_port() const = 0;
  virtual std::string last_request() const = 0;
};

/// One way in which an engine can fail.
struct Fault {
  std::string_view name;  ///< the path that requests it
  /// The failures that the fetch layer may report; none: the answer is valid.
  std::vector<fetchers::Failure> outcomes;
  /// Sends the answer; nullptr: fails before a request can be read.
  void (*play)(ChaosClient&);
};

/// All faults; the valid answers come first.
std::span<const Fault> faults();

/// The three results of every valid answer.
std::string_view chaos_results();

/// Answers a request for a fault. There are two more names: "redirect-to" redirects to the target,
/// "description" describes an engine at the target; targets are percent-encoded.
void play_fault(ChaosClient& client, std::string_view name, std::string_view target);

}  // namespace metafuse::test
