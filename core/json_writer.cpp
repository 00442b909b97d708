#include "core/json_writer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "core/contract.h"
#include "core/shortest_decimal.h"
#include "core/simd.h"

namespace metafuse {
namespace {

constexpr double kWholeLimit = 9007199254740992.0;  // 2^53: whole doubles up to here are written as integers

/// Nonzero in each byte that must be escaped inside a string.
auto escaped_bytes(ByteBlock bytes) {
  return (bytes < 0x20) | (bytes == '"') | (bytes == '\\');
}

/// Copies a text of sizeof(Part) to 2 sizeof(Part) bytes as its two ends, which may overlap; returns true if
/// nothing in it needs escaping.
template <class Part>
bool copy_both_ends(char* to, std::string_view text) {
  constexpr std::size_t kBytes = sizeof(Part);
  std::array<Part, sizeof(ByteBlock) / kBytes> parts;
  std::memset(&parts, 'x', sizeof parts);
  std::memcpy(&parts[0], text.data(), kBytes);
  std::memcpy(&parts[1], text.data() + text.size() - kBytes, kBytes);
  std::memcpy(to, &parts[0], kBytes);
  std::memcpy(to + text.size() - kBytes, &parts[1], kBytes);
  ByteBlock block;
  std::memcpy(&block, &parts, sizeof block);
  return !has_any(escaped_bytes(block));
}

/// Copies a text that needs no escaping. Returns false if it does; the destination is then undefined.
bool copy_plain(char* to, std::string_view text) {
  const std::size_t size = text.size();
  if (size >= sizeof(ByteBlock)) {
    auto escaped = escaped_bytes(ByteBlock{} + 'x');
    const auto copy = [&](std::size_t at) {
      const ByteBlock block = block_at(text.data() + at);
      std::memcpy(to + at, &block, sizeof block);
      escaped |= escaped_bytes(block);
    };
    for (std::size_t at = 0; at + sizeof(ByteBlock) <= size; at += sizeof(ByteBlock)) copy(at);
    copy(size - sizeof(ByteBlock));
    return !has_any(escaped);
  }
  if (size >= 8) return copy_both_ends<std::uint64_t>(to, text);
  if (size >= 4) return copy_both_ends<std::uint32_t>(to, text);
  for (std::size_t at = 0; at < size; ++at) {
    if (static_cast<unsigned char>(text[at]) < 0x20 || text[at] == '"' || text[at] == '\\') return false;
    to[at] = text[at];
  }
  return true;
}

/// Copies a text and escapes it; it grows at most sixfold. Returns the end of the copy.
char* copy_escaped(char* to, std::string_view text) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";  // after the backslash
  constexpr char kHex[] = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && c != '"' && c != '\\') {
      *to++ = c;
    } else if (const std::size_t at = kEscaped.find(c); at != std::string_view::npos) {
      *to++ = '\\';
      *to++ = kLetters[at];
    } else {
      for (const char part : {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]}) *to++ = part;
    }
  }
  return to;
}

bool is_scalar_list(const Json& value) {
  const auto is_scalar = [](const Json& item) { return !item.is_array() && !item.is_object(); };
  if (const auto* array = value.if_array()) return std::all_of(array->begin(), array->end(), is_scalar);
  const auto* object = value.if_object();
  return object == nullptr || std::all_of(object->begin(), object->end(),
                                          [&](const auto& item) { return is_scalar(item.value()); });
}

void indent(std::string& out, std::size_t depth) {
  out.append(2 * depth, ' ');
}

void append_pretty(std::string& out, const Json& value, std::size_t depth) {
  if (is_scalar_list(value)) {
    out += to_text(value);
    return;
  }
  const auto* object = value.if_object();
  out += object != nullptr ? "{\n" : "[\n";
  std::size_t left = object != nullptr ? object->size() : value.get_array().size();
  const auto append_item = [&](const Json& item) {
    append_pretty(out, item, depth + 1);
    out += --left > 0 ? ",\n" : "\n";
  };
  if (object != nullptr) {
    for (const auto& item : *object) {
      indent(out, depth + 1);
      out += to_text(Json(item.key()));
      out += ": ";
      append_item(item.value());
    }
  } else {
    for (const Json& item : value.get_array()) {
      indent(out, depth + 1);
      append_item(item);
    }
  }
  indent(out, depth);
  out += object != nullptr ? '}' : ']';
}

}  // namespace

JsonWriter::JsonWriter(std::size_t expected_bytes)
    : bytes_(std::make_unique_for_overwrite<char[]>(expected_bytes)),
      end_(bytes_.get()),
      limit_(end_ + expected_bytes) {}

void JsonWriter::grow(std::size_t bytes) {
  const std::size_t used = this->size();
  const std::size_t room = std::max(2 * (used + bytes), std::size_t{256});
  auto larger = std::make_unique_for_overwrite<char[]>(room);
  if (used > 0) std::memcpy(larger.get(), bytes_.get(), used);
  bytes_ = std::move(larger);
  end_ = bytes_.get() + used;
  limit_ = bytes_.get() + room;
}

std::string JsonWriter::take() {
  std::string out(bytes_.get(), end_);
  end_ = bytes_.get();
  needs_comma_ = false;
  return out;
}

void JsonWriter::text(std::string_view value) {
  char* at = separated(value.size() + 2);
  *at = '"';
  if (copy_plain(at + 1, value)) {
    end_ = at + 1 + value.size();
  } else {
    at = room(6 * value.size() + 2);
    *at = '"';
    end_ = copy_escaped(at + 1, value);
  }
  *end_++ = '"';
}

/// Writes a double so that it reads back as itself: 1, 0.5, 1e-300. Only -0.0 and whole numbers beyond 2^53
/// need a ".0" or an exponent, to mark them as doubles.
void JsonWriter::number(double value) {
  require(std::isfinite(value), "JSON holds finite numbers only");
  const bool is_large = std::abs(value) > kWholeLimit;
  if (!is_large && !(value == 0.0 && std::signbit(value))) {
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<double>(whole) == value) return digits(whole);
  }
  char* const at = separated(kMostDecimalBytes + 2);
  end_ = write_shortest(at, value);
  if ((is_large || value == 0.0) && std::find(at, end_, 'e') == end_) {
    *end_++ = '.';
    *end_++ = '0';
  }
}

void JsonWriter::json(const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return word("null");
    case boost::json::kind::bool_:
      return word(value.get_bool() ? "true" : "false");
    case boost::json::kind::int64:
      return digits(value.get_int64());
    case boost::json::kind::uint64:
      return whole(value.get_uint64());
    case boost::json::kind::double_:
      return number(value.get_double());
    case boost::json::kind::string:
      return text(value.get_string());
    case boost::json::kind::array:
      open_array();
      for (const Json& item : value.get_array()) json(item);
      return close_array();
    case boost::json::kind::object:
      open_object();
      for (const auto& item : value.get_object()) {
        text(item.key());
        *room(1) = ':';
        ++end_;
        needs_comma_ = false;
        json(item.value());
      }
      return close_object();
  }
}

void JsonWriter::word(std::string_view word) {
  char* const at = separated(word.size());
  std::memcpy(at, word.data(), word.size());
  end_ = at + word.size();
}

std::string to_text(const Json& value) {
  JsonWriter writer(256);
  writer.json(value);
  return writer.take();
}

std::string to_pretty_text(const Json& value) {
  std::string out;
  append_pretty(out, value, 0);
  out += '\n';
  return out;
}

}  // namespace metafuse
