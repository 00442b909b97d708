#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/deadline.h"

namespace metafuse::service {

/// Looks up the addresses of one host without waiting longer than its caller wants to. The system's resolver
/// knows no deadline, so it runs on a thread of its own, which is left behind when it takes too long; the
/// next call waits for that same lookup instead of starting another. From any thread.
class NameLookup {
 public:
  explicit NameLookup(std::string host);

  /// out:  numeric addresses in the resolver's order; a numeric host is its own address. Empty when there are
  ///       none or none came in time.
  std::vector<std::string> addresses(Duration patience);

 private:
  struct Pending;
  std::string host_;
  std::shared_ptr<Pending> pending_;
};

}  // namespace metafuse::service
