#include <charconv>
#include <cmath>

#include "core/contract.h"
#include "core/json.h"
#include "core/number.h"

namespace metafuse {
namespace {

constexpr double kWholeLimit = 9007199254740992.0;  // 2^53: up to here whole doubles are written as integers

/// An escape for the characters that may not stand in a string, else nothing.
const char* short_escape(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return nullptr;
  }
}

void append_string(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, begin, i - begin);
    begin = i + 1;
    if (const char* escape = short_escape(c)) {
      out += escape;
    } else {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  out.append(text, begin, text.size() - begin);
  out += '"';
}

/// A double that reads back as itself: 1, 0.5, 1e-300; -0.0 and whole numbers beyond 2^53 say by ".0" or an
/// exponent that they are doubles.
void append_double(std::string& out, double number) {
  require(std::isfinite(number), "JSON holds finite numbers only");
  const bool is_whole = number == std::trunc(number);
  if (is_whole && std::abs(number) <= kWholeLimit && !(number == 0.0 && std::signbit(number))) {
    append_number(out, static_cast<std::int64_t>(number));
    return;
  }
  const std::size_t begin = out.size();
  append_number(out, number);
  if (is_whole && out.find('e', begin) == std::string::npos) out += ".0";
}

void append_flat(std::string& out, const Json& value);

void append_members(std::string& out, const JsonObject& object) {
  char before = '{';
  if (object.empty()) out += before;
  for (const auto& item : object) {
    out += before;
    append_string(out, item.key());
    out += ':';
    append_flat(out, item.value());
    before = ',';
  }
  out += '}';
}

void append_items(std::string& out, const JsonArray& array) {
  char before = '[';
  if (array.empty()) out += before;
  for (const Json& item : array) {
    out += before;
    append_flat(out, item);
    before = ',';
  }
  out += ']';
}

void append_flat(std::string& out, const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      out += "null";
      return;
    case boost::json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      return;
    case boost::json::kind::int64:
      append_number(out, value.get_int64());
      return;
    case boost::json::kind::uint64:
      out += std::to_string(value.get_uint64());
      return;
    case boost::json::kind::double_:
      append_double(out, value.get_double());
      return;
    case boost::json::kind::string:
      append_string(out, value.get_string());
      return;
    case boost::json::kind::array:
      append_items(out, value.get_array());
      return;
    case boost::json::kind::object:
      append_members(out, value.get_object());
      return;
  }
}

bool is_scalar_list(const Json& value) {
  const auto is_scalar = [](const Json& item) { return !item.is_array() && !item.is_object(); };
  if (const auto* array = value.if_array()) {
    for (const Json& item : *array)
      if (!is_scalar(item)) return false;
  } else if (const auto* object = value.if_object()) {
    for (const auto& item : *object)
      if (!is_scalar(item.value())) return false;
  }
  return true;
}

void indent(std::string& out, std::size_t depth) {
  out.append(2 * depth, ' ');
}

void append_pretty(std::string& out, const Json& value, std::size_t depth) {
  if (is_scalar_list(value)) {
    append_flat(out, value);
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
      append_string(out, item.key());
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

std::string to_text(const Json& value) {
  std::string out;
  append_flat(out, value);
  return out;
}

std::string to_pretty_text(const Json& value) {
  std::string out;
  append_pretty(out, value, 0);
  out += '\n';
  return out;
}

}  // namespace metafuse
