#include "core/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>

#include "core/byte_blocks.h"
#include "core/contract.h"
#include "core/diagnostics.h"
#include "core/json_stream.h"
#include "core/number.h"

namespace metafuse {
namespace {

namespace json = boost::json;

/// The keys of the objects that are open, to find one that stands twice. Most objects have few: their keys
/// lie in one text and are compared one by one.
class OpenKeys {
 public:
  void open() { objects_.push_back({keys_.size(), text_.size(), nullptr}); }
  void close() {
    keys_.resize(objects_.back().first_key);
    text_.resize(objects_.back().first_byte);
    objects_.pop_back();
  }
  /// out: false for a key that the innermost object has already
  bool add(std::string_view key) {
    Object& object = objects_.back();
    if (object.many != nullptr) return object.many->emplace(key).second;
    for (std::size_t i = object.first_key; i < keys_.size(); ++i)
      if (std::string_view(text_).substr(keys_[i].begin, keys_[i].size) == key) return false;
    keys_.push_back({text_.size(), key.size()});
    text_ += key;
    if (keys_.size() - object.first_key < kMany) return true;
    object.many = std::make_unique<std::unordered_set<std::string>>();
    for (std::size_t i = object.first_key; i < keys_.size(); ++i)
      object.many->insert(text_.substr(keys_[i].begin, keys_[i].size));
    return true;
  }

 private:
  static constexpr std::size_t kMany = 24;
  struct Key {
    std::size_t begin, size;
  };
  struct Object {
    std::size_t first_key, first_byte;
    std::unique_ptr<std::unordered_set<std::string>> many;  ///< instead of the text, for many keys
  };
  std::vector<Object> objects_;
  std::vector<Key> keys_;
  std::string text_;
};

/// Takes the parser's events. Doubles are read again from their digits, because the library's own conversion
/// is not exact in 1.81; a refused document leaves its reason in `problem`.
class Handler {
 public:
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t{1} << 20;
  static constexpr std::size_t max_string_size = std::size_t(-1);

  std::string problem;

  Json release() { return stack_.release(); }
  void prepare(json::storage_ptr storage) { stack_.reset(std::move(storage)); }

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) {
    keys_.open();
    return true;
  }
  bool on_object_end(std::size_t n, json::error_code&) {
    keys_.close();
    stack_.push_object(n);
    return true;
  }
  bool on_array_begin(json::error_code&) { return true; }
  bool on_array_end(std::size_t n, json::error_code&) {
    stack_.push_array(n);
    return true;
  }
  bool on_key_part(std::string_view part, std::size_t, json::error_code&) {
    key_ += part;
    stack_.push_chars(part);
    return true;
  }
  bool on_key(std::string_view part, std::size_t, json::error_code& error) {
    key_ += part;
    stack_.push_key(part);
    if (!keys_.add(key_)) return refuse("the key \"" + key_ + "\" stands twice", error);
    key_.clear();
    return true;
  }
  bool on_string_part(std::string_view part, std::size_t, json::error_code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(std::string_view part, std::size_t, json::error_code&) {
    stack_.push_string(part);
    return true;
  }
  bool on_number_part(std::string_view part, json::error_code&) {
    digits_ += part;
    return true;
  }
  bool on_int64(std::int64_t number, std::string_view, json::error_code&) {
    digits_.clear();
    stack_.push_int64(number);
    return true;
  }
  bool on_uint64(std::uint64_t number, std::string_view, json::error_code&) {
    digits_.clear();
    stack_.push_uint64(number);
    return true;
  }
  bool on_double(double rough, std::string_view part, json::error_code& error) {
    digits_ += part;
    double exact = 0.0;
    const auto [end, status] = std::from_chars(digits_.data(), digits_.data() + digits_.size(), exact);
    if (status == std::errc::result_out_of_range) {
      if (!(std::abs(rough) < 1.0)) return refuse("the number " + digits_ + " is out of range", error);
      exact = 0.0;
    }
    digits_.clear();
    stack_.push_double(exact);
    return true;
  }
  bool on_bool(bool value, json::error_code&) {
    stack_.push_bool(value);
    return true;
  }
  bool on_null(json::error_code&) {
    stack_.push_null();
    return true;
  }
  bool on_comment_part(std::string_view, json::error_code&) { return true; }
  bool on_comment(std::string_view, json::error_code&) { return true; }

 private:
  bool refuse(std::string why, json::error_code& error) {
    problem = std::move(why);
    error = json::error::syntax;
    return false;
  }

  json::value_stack stack_;
  OpenKeys keys_;
  std::string key_;
  std::string digits_;
};

Place place_of(std::string_view text, std::size_t offset) {
  Place place{1, 1};
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++place.line;
      place.column = 1;
    } else {
      ++place.column;
    }
  }
  return place;
}

Result<Json> parse_into(json::storage_ptr storage, std::string_view text, std::string_view name, Code code,
                        const JsonLimits& limits) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (text.size() > limits.max_bytes)
    return fail(code, std::string(name) + ": larger than " + std::to_string(limits.max_bytes) + " bytes");
  json::parse_options options;
  options.max_depth = limits.max_depth;
  json::basic_parser<Handler> parser(options);
  parser.handler().prepare(std::move(storage));
  json::error_code error;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (!error && text.find_first_not_of(" \t\r\n", used) != std::string_view::npos)
    error = json::error::extra_data;
  if (error) {
    const std::string why = parser.handler().problem.empty() ? error.message() : parser.handler().problem;
    const std::string shown = text.find_first_not_of(" \t\r\n") == std::string_view::npos
                                  ? "empty; a JSON document is expected"
                                  : "not valid JSON: " + why;
    Place place = place_of(text, used);
    place.line += limits.first_line - 1;
    return fail(code, located(name, place, shown));
  }
  return parser.handler().release();
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name, Code code, const JsonLimits& limits) {
  return parse_into({}, text, name, code, limits);
}

Result<std::unique_ptr<const JsonDocument>> JsonDocument::parse(std::string_view text, std::string_view name,
                                                                Code code, const JsonLimits& limits) {
  std::unique_ptr<JsonDocument> document(new JsonDocument(2 * text.size() + 1024));
  TRY(auto root, parse_into(&document->memory_, text, name, code, limits));
  document->root_ = std::move(root);
  return std::unique_ptr<const JsonDocument>(std::move(document));
}

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

/// Not 0 for each byte that a string must escape.
auto escaped_bytes(ByteBlock bytes) {
  return (bytes < 0x20) | (bytes == '"') | (bytes == '\\');
}

/// Where the next character that a string must escape stands, from `at` on.
std::size_t escaped_place(std::string_view text, std::size_t at) {
  for (; at + sizeof(ByteBlock) <= text.size(); at += sizeof(ByteBlock))
    if (has_any(escaped_bytes(block_at(text.data() + at)))) break;
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; };
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

enum class Comma { none, before };
enum class Colon { none, behind };

/// Appends a text in quotation marks with what separates it, all at once; false when it is long or holds what
/// must be escaped.
bool append_short(std::string& out, Comma comma, std::string_view text, Colon colon) {
  constexpr std::size_t kShortBytes = 3 * sizeof(ByteBlock);
  if (text.empty() || text.size() > kShortBytes) return false;
  std::array<char, kShortBytes + 4> made;
  char* const begin = made.data() + 2;
  std::memset(begin, 'x', kShortBytes);
  std::memcpy(begin, text.data(), text.size());
  for (std::size_t at = 0; at < text.size(); at += sizeof(ByteBlock))
    if (has_any(escaped_bytes(block_at(begin + at)))) return false;
  begin[-2] = ',';
  begin[-1] = '"';
  begin[text.size()] = '"';
  begin[text.size() + 1] = ':';
  const char* const first = begin - (comma == Comma::before ? 2 : 1);
  const char* const end = begin + text.size() + (colon == Colon::behind ? 2 : 1);
  out.append(first, end);
  return true;
}

void append_string(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  if (append_short(out, Comma::none, text, Colon::none)) return;
  out += '"';
  for (std::size_t at = 0;; ++at) {
    const std::size_t end = escaped_place(text, at);
    out.append(text, at, end - at);
    at = end;
    if (at == text.size()) break;
    const auto byte = static_cast<unsigned char>(text[at]);
    if (const char* escape = short_escape(text[at])) {
      out += escape;
    } else {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
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

JsonWriter& JsonWriter::key(std::string_view name) {
  if (!append_short(out_, needs_comma_ ? Comma::before : Comma::none, name, Colon::behind)) {
    separate();
    append_string(out_, name);
    out_ += ':';
  }
  needs_comma_ = false;
  return *this;
}

void JsonWriter::text(std::string_view value) {
  separate();
  append_string(out_, value);
}

void JsonWriter::number(double value) {
  separate();
  append_double(out_, value);
}

void JsonWriter::whole(std::uint64_t value) {
  char digits[24] = ",";
  const auto [end, error] = std::to_chars(digits + 1, digits + sizeof digits, value);
  out_.append(digits + (needs_comma_ ? 0 : 1), end);
  needs_comma_ = true;
}

void JsonWriter::json(const Json& value) {
  separate();
  append_flat(out_, value);
}

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
