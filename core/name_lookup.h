#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/deadline.h"

namespace metafuse {

/// The numeric addresses of a host in the resolver's order; empty if there are none. May take seconds.
std::vector<std::string> look_up_addresses(const std::string& host);

/// Looks up the addresses of one host within the caller's time limit. The system's resolver has no time
/// limit, so it runs on a separate thread. If that takes too long, the call returns without it, and the next
/// call waits for the same lookup instead of starting another one. Safe from any thread.
class NameLookup {
 public:
  explicit NameLookup(std::string host);

  /// out: numeric addresses in the resolver's order; a numeric host is its own address. Empty if there are
  ///      none or the lookup did not end in time.
  std::vector<std::string> addresses(Duration patience);

 private:
  struct Pending;
  std::string host_;
  std::shared_ptr<Pending> pending_;
};

}  // namespace metafuse
