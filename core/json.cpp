#include "core/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
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

/// Tracks the keys of all open objects to detect duplicates. Most objects have few keys; these are stored in
/// one text and compared one by one.
class OpenKeys {
 public:
  void open() { objects_.push_back({keys_.size(), text_.size(), nullptr}); }
  void close() {
    keys_.resize(objects_.back().first_key);
    text_.resize(objects_.back().first_byte);
    objects_.pop_back();
  }
  /// out:    false when the innermost object already has this key
  bool add(std::string_view key) {
    Object& object = objects_.back();
    if (object.many != nullptr) return object.many->emplace(key).second;
    for (std::size_t i = object.first_key; i < keys_.size(); ++i)
      if (std::string_view(text_).substr(keys_[i].begin, keys_[i].size) == key) return false;
    keys_.push_back({text_.size(), key.size()});
    text_ += key;
    if (keys_.size() - object.first_key < kMany) return true;
    object.many = std::make_unique<TextSet>();
    for (std::size_t i = object.first_key; i < keys_.size(); ++i)
      object.many->insert(text_.substr(keys_[i].begin, keys_[i].size));
    return true;
  }
  /// The number of keys of the innermost object.
  std::size_t count() const {
    const Object& object = objects_.back();
    return object.many != nullptr ? object.many->size() : keys_.size() - object.first_key;
  }

 private:
  static constexpr std::size_t kMany = 24;
  struct Key {
    std::size_t begin, size;
  };
  struct Object {
    std::size_t first_key, first_byte;
    std::unique_ptr<TextSet> many;  ///< replaces the text when there are many keys
  };
  std::vector<Object> objects_;
  std::vector<Key> keys_;
  std::string text_;
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
  void prepare(const JsonLimits& limits) {
    stack_.reset(limits.memory);
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
    key_ += part;
    stack_.push_key(part);
    if (!keys_.add(key_)) return refuse("the key \"" + key_ + "\" occurs twice", error);
    if (keys_.count() > max_members_)
      return refuse(fmt::format("an object has more than {} members", max_members_), error);
    key_.clear();
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

 private:
  bool refuse(std::string why, json::error_code& error) {
    problem = std::move(why);
    error = json::error::syntax;
    return false;
  }

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
  parser.handler().prepare(limits);
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
