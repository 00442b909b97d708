#pragma once

namespace metafuse::service {

/// During its lifetime it calls back, from a thread of its own, whenever somebody has changed what it
/// listens for.
class Listener {
 public:
  virtual ~Listener() = default;

  /// Whether changes are reported at this moment. While they are not, the owner must look for them.
  virtual bool is_listening() const = 0;
};

}  // namespace metafuse::service
