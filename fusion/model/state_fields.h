#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/portable_math.h"
#include "core/result.h"

namespace metafuse::fusion {

/// Whether quotients by such a length overflow. 0 and below mean that nothing is divided.
inline bool is_too_short(double length) {
  return length > 0.0 && !is_moderate(1.0 / length);
}

/// A number of a file as a count: the nearest one from 0 to 2^53, or 0 if it is none.
inline std::uint64_t count_of(double number) {
  constexpr double kMost = 9007199254740992.0;
  return number > 0.0 ? static_cast<std::uint64_t>(std::min(number, kMost)) : 0;
}

/// Reads the fields of a model's body one by one. The first field that is missing or of the wrong type sets
/// the error; from then on every read returns an empty value.
class StateFields {
 public:
  explicit StateFields(const JsonObject& object, std::string prefix = "body.")
      : object_(object), prefix_(std::move(prefix)) {}

  bool failed() const { return !error_.text.empty(); }
  /// Requires failed().
  Error error() const { return error_; }

  std::string text(std::string_view name) {
    const Json* field = find(name);
    if (field == nullptr) return {};
    if (field->is_string()) return std::string(field->get_string());
    return refuse<std::string>(name, "a string");
  }
  double number(std::string_view name) {
    const Json* field = find(name);
    return field == nullptr ? 0.0 : as_number(name, *field);
  }
  /// What is added to scores, or is a factor in them.
  double weight(std::string_view name) { return as_weight(name, number(name)); }
  bool flag(std::string_view name) {
    const Json* field = find(name);
    if (field == nullptr) return false;
    if (field->is_bool()) return field->get_bool();
    return refuse<bool>(name, "true or false");
  }
  std::uint64_t count(std::string_view name, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    const Json* field = find(name);
    const std::uint64_t value = field == nullptr ? 0 : as_count(name, *field);
    return value <= most ? value : refuse<std::uint64_t>(name, "at most " + std::to_string(most));
  }
  const JsonArray* array(std::string_view name) {
    const Json* field = find(name);
    if (field == nullptr) return nullptr;
    return field->is_array() ? &field->get_array() : refuse<const JsonArray*>(name, "an array");
  }
  const JsonObject* object(std::string_view name) {
    const Json* field = find(name);
    if (field == nullptr) return nullptr;
    return field->is_object() ? &field->get_object() : refuse<const JsonObject*>(name, "an object");
  }
  std::vector<double> numbers(std::string_view name) {
    std::vector<double> values;
    if (const JsonArray* items = array(name))
      for (const Json& item : *items) values.push_back(as_number(name, item));
    return values;
  }
  /// The same of what is added to scores, or is a factor in them.
  std::vector<double> weights(std::string_view name) {
    std::vector<double> values = numbers(name);
    for (double& value : values) value = as_weight(name, value);
    return values;
  }
  std::vector<std::uint64_t> counts(std::string_view name) {
    std::vector<std::uint64_t> values;
    if (const JsonArray* items = array(name))
      for (const Json& item : *items) values.push_back(as_count(name, item));
    return values;
  }

 private:
  template <class T>
  T refuse(std::string_view name, const std::string& what) {
    if (!failed()) error_ = fail(Code::bad_data, prefix_ + std::string(name) + ": must be " + what);
    return T{};
  }
  const Json* find(std::string_view name) {
    const Json* field = failed() ? nullptr : object_.if_contains(name);
    if (field == nullptr) refuse<int>(name, "there");
    return field;
  }
  double as_number(std::string_view name, const Json& item) {
    if (item.is_double() && std::isfinite(item.get_double())) return item.get_double();
    if (item.is_int64()) return static_cast<double>(item.get_int64());
    if (item.is_uint64()) return static_cast<double>(item.get_uint64());
    return refuse<double>(name, "finite numbers");
  }
  double as_weight(std::string_view name, double value) {
    return is_moderate(value) ? value : refuse<double>(name, "from -1e100 to 1e100");
  }
  std::uint64_t as_count(std::string_view name, const Json& item) {
    if (item.is_uint64()) return item.get_uint64();
    if (item.is_int64() && item.get_int64() >= 0) return static_cast<std::uint64_t>(item.get_int64());
    return refuse<std::uint64_t>(name, "whole numbers, 0 or more");
  }

  const JsonObject& object_;
  std::string prefix_;
  Error error_;
};

/// Numbers as a JSON array.
template <class Numbers>
JsonArray to_array(const Numbers& numbers) {
  JsonArray array;
  array.reserve(numbers.size());
  for (const auto& number : numbers) array.emplace_back(number);
  return array;
}

}  // namespace metafuse::fusion
