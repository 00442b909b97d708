#pragma once

#include <map>
#include <mutex>
#include <string>

#include "core/deadline.h"

namespace metafuse::service {

/// Lets an event of one kind through once a minute, so that what fails with every search does not fill the
/// log.
class RareEvents {
 public:
  /// Whether the event should be told now. in: kind - one of few: each is kept
  bool is_due(std::string kind, TimePoint now);

 private:
  std::mutex mutex_;
  std::map<std::string, TimePoint> told_;
};

}  // namespace metafuse::service
