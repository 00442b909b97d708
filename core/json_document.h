#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <boost/json/monotonic_resource.hpp>

#include "core/json.h"

namespace metafuse {

/// A parsed document for short-lived, read-only use: all its values lie in a few blocks of memory, which are
/// freed together with it. References into the document must not outlive it.
class JsonDocument {
 public:
  /// errors: those of parse_json
  static Result<std::unique_ptr<const JsonDocument>> parse(std::string_view text, std::string_view name,
                                                           Code code, const JsonLimits& limits);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  const Json& root() const { return root_; }

 private:
  explicit JsonDocument(std::size_t bytes) : memory_(bytes), root_(&memory_) {}

  boost::json::monotonic_resource memory_;
  Json root_;
};

}  // namespace metafuse
