#pragma once

// Writes JSON answers directly as text, without building a tree of values first: the server writes many of
// them, and nobody reads them back.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "core/json.h"

namespace metafuse {

/// The name of an object's member, given as a literal. The compiler checks that it needs no escaping.
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

/// Writes JSON, byte for byte as to_text() would. Every object and array that is opened must be closed, and
/// inside an object a key must precede every value.
class JsonWriter {
 public:
  /// in:     expected_bytes - memory allocated at once; the text grows beyond it as needed
  explicit JsonWriter(std::size_t expected_bytes = 1024);
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void open_object() { open('{'); }
  void close_object() { close('}'); }
  void open_array() { open('['); }
  void close_array() { close(']'); }
  JsonWriter& key(JsonKey key) { return plain_key(key.name()); }
  /// A key that is no literal. Requires a name without quotation marks, backslashes and control characters.
  JsonWriter& plain_key(std::string_view name) {
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
  /// Appends a value that the caller writes. Faster than many short values, because the place where the text
  /// ends stays in a register.
  ///
  /// in: bytes - most bytes of the value; write - char*(char* at), writes it and returns its end
  template <class Write>
  void value_by(std::size_t bytes, const Write& write) {
    end_ = write(separated(bytes));
  }

  /// Appends again the members of an object that were written from one size() to another.
  void members_again(std::size_t begin, std::size_t end) {
    char* const at = room(end - begin);
    std::memcpy(at, bytes_.get() + begin, end - begin);
    end_ = at + (end - begin);
    needs_comma_ = true;
  }

  std::size_t size() const { return static_cast<std::size_t>(end_ - bytes_.get()); }
  /// A place in the text to which the writer can return, between two values.
  struct Place {
    std::size_t size;
    bool needs_comma;
  };
  Place place() const { return {size(), needs_comma_}; }
  /// Discards what has been written since a place.
  void return_to(Place place) {
    end_ = bytes_.get() + place.size;
    needs_comma_ = place.needs_comma;
  }
  /// Returns what has been written and leaves the writer empty.
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
  /// Makes room for the next value, writes a comma if one is due, and returns where the value starts.
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
    constexpr std::size_t kMost = 20;  // enough for any 64-bit integer, sign included
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
