#pragma once

// JSON answers that are only written, many and short-lived: text at once, without a tree of values.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "core/json.h"

namespace metafuse {

/// A member's name that stands in the program and needs no escape, which the compiler checks.
class JsonKey {
 public:
  template <std::size_t N>
  consteval JsonKey(const char (&literal)[N]) : name_(literal, N - 1) {
    for (const char c : name_)
      if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\') throw "this key needs an escape";
  }
  std::string_view name() const { return name_; }

 private:
  std::string_view name_;
};

/// Writes JSON in the bytes that to_text() writes. What is opened must be closed, and in an object a key
/// stands before every value.
class JsonWriter {
 public:
  /// in: expected_bytes - room that is made at once; the text grows beyond it as needed
  explicit JsonWriter(std::size_t expected_bytes = 1024);
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void open_object() { open('{'); }
  void close_object() { close('}'); }
  void open_array() { open('['); }
  void close_array() { close(']'); }
  JsonWriter& key(JsonKey key) {
    const std::string_view name = key.name();
    char* at = separated(name.size() + 3);
    *at++ = '"';
    std::memcpy(at, name.data(), name.size());
    at += name.size();
    *at++ = '"';
    *at++ = ':';
    end_ = at;
    needs_comma_ = false;
    return *this;
  }
  void text(std::string_view value);
  /// Requires a finite number.
  void number(double value);
  void whole(std::uint64_t value) { digits(value); }
  void json(const Json& value);
  /// The beginning of a value that was written before, up to behind a key: what recurs is escaped once.
  void begin_as(std::string_view beginning) {
    char* const at = separated(beginning.size());
    std::memcpy(at, beginning.data(), beginning.size());
    end_ = at + beginning.size();
    needs_comma_ = false;
  }

  /// What has been written; nothing is left.
  std::string take();

 private:
  void open(char mark) {
    *separated(1) = mark;
    ++end_;
    needs_comma_ = false;
  }
  void close(char mark) {
    *room(1) = mark;
    ++end_;
    needs_comma_ = true;
  }
  /// Where the next value's bytes go, behind a comma where one is due.
  char* separated(std::size_t bytes) {
    char* const at = room(bytes + 1);
    *at = ',';
    end_ = at + (needs_comma_ ? 1 : 0);
    needs_comma_ = true;
    return end_;
  }
  char* room(std::size_t bytes) {
    if (static_cast<std::size_t>(limit_ - end_) < bytes) grow(bytes);
    return end_;
  }
  template <class Whole>
  void digits(Whole value) {
    constexpr std::size_t kMost = 20;  // of any 64 bits, with a sign
    char* const at = separated(kMost);
    end_ = std::to_chars(at, at + kMost, value).ptr;
  }
  void grow(std::size_t bytes);
  void word(std::string_view word);

  std::unique_ptr<char[]> bytes_;
  char* end_;
  char* limit_;
  bool needs_comma_ = false;
};

}  // namespace metafuse
