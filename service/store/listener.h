#pragma once

namespace metafuse::service {

/// While it lives, it calls back from a thread of its own whenever somebody changed what it listens for.
class Listener {
 public:
  virtual ~Listener() = default;

  /// Whether changes are told at this moment. While they are not, look for them.
  virtual bool is_listening() const = 0;
};

}  // namespace metafuse::service
