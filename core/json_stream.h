#pragma once

// JSON where it is many and short-lived: requests that are read once, and answers that are only written.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <boost/json/monotonic_resource.hpp>

#include "core/json.h"

namespace metafuse {

/// A parsed document whose values lie in a few blocks of memory, which go with it. What points into it must
/// not outlive it.
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

/// Writes JSON as text without making values of it first, in the bytes that to_text() writes. What is opened
/// must be closed, and in an object a key stands before every value.
class JsonWriter {
 public:
  /// in: out - is appended to
  explicit JsonWriter(std::string& out) : out_(out) {}
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void open_object() { open('{'); }
  void close_object() { close('}'); }
  void open_array() { open('['); }
  void close_array() { close(']'); }
  JsonWriter& key(std::string_view name);
  void text(std::string_view value);
  /// Requires a finite number.
  void number(double value);
  void whole(std::uint64_t value);
  void json(const Json& value);

 private:
  void open(char mark) {
    separate();
    out_ += mark;
    needs_comma_ = false;
  }
  void close(char mark) {
    out_ += mark;
    needs_comma_ = true;
  }
  void separate() {
    if (needs_comma_) out_ += ',';
    needs_comma_ = true;
  }

  std::string& out_;
  bool needs_comma_ = false;
};

}  // namespace metafuse
