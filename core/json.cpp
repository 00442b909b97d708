#include "core/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <fmt/format.h>

#include "core/diagnostics.h"
#include "core/keyed_hash.h"

namespace metafuse {
namespace {

namespace json = boost::json;

/// Tracks the keys of all open objects to detect duplicates. Most objects have few keys; these are compared
/// one by one. Keys must outlive their object.
class OpenKeys {
 public:
  void open() { objects_.push_back({keys_.size(), nullptr}); }
  void close() {
    keys_.resize(objects_.back().first_key);
    objects_.pop_back();
  }
  /// out:    false when the innermost object already has this key
  bool add(std::string_view key) {
    Object& object = objects_.back();
    if (object.many != nullptr) return object.many->insert(key).second;
    const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(object.first_key);
    if (std::find(first, keys_.end(), key) != keys_.end()) return false;
    keys_.push_back(key);
    if (keys_.size() - object.first_key < kMany) return true;
    object.many = std::make_unique<TextViewSet>(keys_.end() - kMany, keys_.end());
    return true;
  }
  /// The number of keys of the innermost object.
  std::size_t count() const {
    const Object& object = objects_.back();
    return object.many != nullptr ? object.many->size() : keys_.size() - object.first_key;
  }

 private:
  static constexpr std::size_t kMany = 24;
  struct Object {
    std::size_t first_key;
    std::unique_ptr<TextViewSet> many;  ///< replaces `keys_` when there are many keys
  };
  std::vector<Object> objects_;
  std::vector<std::string_view> keys_;
};

/// The parser's events from which a tree is built as it is: everything but keys and numbers.
class TreeBuilder {
 public:
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t{1} << 20;
  static constexpr std::size_t max_string_size = std::size_t(-1);

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_array_begin(json::error_code&) { return true; }
  bool on_array_end(std::size_t n, json::error_code&) {
    stack_.push_array(n);
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

 protected:
  json::value_stack stack_;
};

/// Receives all of the parser's events. Doubles are parsed again from their digits because the conversion in
/// Boost 1.81 is not exact. When a document is refused, `problem` says why.
class Handler : public TreeBuilder {
 public:
  std::string problem;

  Json release() { return stack_.release(); }
  void prepare(std::string_view text, const JsonLimits& limits) {
    stack_.reset(limits.memory);
    text_ = text;
    max_members_ = limits.max_members;
  }

  bool on_object_begin(json::error_code&) {
    keys_.open();
    return true;
  }
  bool on_object_end(std::size_t n, json::error_code&) {
    keys_.close();
    stack_.push_object(n);
    return true;
  }
  bool on_key_part(std::string_view part, std::size_t, json::error_code&) {
    key_ += part;
    stack_.push_chars(part);
    return true;
  }
  bool on_key(std::string_view part, std::size_t, json::error_code& error) {
    stack_.push_key(part);
    const std::string_view key = lasting_key(part);
    if (!keys_.add(key)) return refuse(fmt::format("the key \"{}\" occurs twice", key), error);
    if (keys_.count() > max_members_)
      return refuse(fmt::format("an object has more than {} members", max_members_), error);
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
    if (!digits_.empty()) part = digits_ += part;
    double exact = 0.0;
    const auto [end, status] = std::from_chars(part.data(), part.data() + part.size(), exact);
    if (status == std::errc::result_out_of_range) {
      if (!(std::abs(rough) < 1.0)) return refuse(fmt::format("the number {} is out of range", part), error);
      exact = 0.0;
    }
    digits_.clear();
    stack_.push_double(exact);
    return true;
  }

 private:
  /// The whole key of which the parser gives the last part. A key without escapes is a part of the document;
  /// the others are copied.
  std::string_view lasting_key(std::string_view part) {
    const std::less_equal<const char*> is_up_to;
    const bool is_in_text = is_up_to(text_.data(), part.data()) &&
                            is_up_to(part.data() + part.size(), text_.data() + text_.size());
    if (key_.empty() && is_in_text) return part;
    key_ += part;
    return copied_keys_.emplace_back(std::exchange(key_, {}));
  }
  bool refuse(std::string why, json::error_code& error) {
    problem = std::move(why);
    error = json::error::syntax;
    return false;
  }

  std::string_view text_;
  std::deque<std::string> copied_keys_;
  OpenKeys keys_;
  std::size_t max_members_ = 0;
  std::string key_;
  std::string digits_;
};

Place place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line_ends = std::count(before.begin(), before.end(), '\n');
  return {static_cast<std::size_t>(line_ends) + 1, before.size() - (before.rfind('\n') + 1) + 1};
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name, Code code, const JsonLimits& limits) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (text.size() > limits.max_bytes)
    return fail(code, std::string(name) + ": larger than " + std::to_string(limits.max_bytes) + " bytes");
  json::parse_options options;
  options.max_depth = limits.max_depth;
  json::basic_parser<Handler> parser(options);
  parser.handler().prepare(text, limits);
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

}  // namespace metafuse
