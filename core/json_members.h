#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "core/json.h"

namespace metafuse {

/// The members of a JSON object by name and type: nullptr for a member that is absent or has another type. A
/// value that is no object has no members.
class JsonMembers {
 public:
  explicit JsonMembers(const Json& value) : object_(value.if_object()) {}
  explicit JsonMembers(const JsonObject& object) : object_(&object) {}
  explicit JsonMembers(Json&&) = delete;  // it refers to the value
  explicit JsonMembers(JsonObject&&) = delete;

  bool is_object() const { return object_ != nullptr; }

  const Json* find(std::string_view name) const {
    return object_ == nullptr ? nullptr : object_->if_contains(name);
  }
  const boost::json::string* text(std::string_view name) const {
    const Json* value = find(name);
    return value == nullptr ? nullptr : value->if_string();
  }
  /// The text; empty for a member that is absent or has another type.
  std::string text_or_empty(std::string_view name) const {
    const boost::json::string* value = text(name);
    return value == nullptr ? std::string() : std::string(*value);
  }
  const std::int64_t* integer(std::string_view name) const {
    const Json* value = find(name);
    return value == nullptr ? nullptr : value->if_int64();
  }
  /// A number of any kind, for Json::to_number().
  const Json* number(std::string_view name) const {
    const Json* value = find(name);
    return value == nullptr || !value->is_number() ? nullptr : value;
  }
  /// The nearest double; `otherwise` for a member that is absent or has another type.
  double number_or(std::string_view name, double otherwise = 0.0) const {
    const Json* value = number(name);
    return value == nullptr ? otherwise : value->to_number<double>();
  }
  const bool* flag(std::string_view name) const {
    const Json* value = find(name);
    return value == nullptr ? nullptr : value->if_bool();
  }
  const JsonArray* array(std::string_view name) const {
    const Json* value = find(name);
    return value == nullptr ? nullptr : value->if_array();
  }
  const JsonObject* object(std::string_view name) const {
    const Json* value = find(name);
    return value == nullptr ? nullptr : value->if_object();
  }
  /// The members of an object inside; none for a member that is absent or has another type.
  JsonMembers inner(std::string_view name) const { return JsonMembers(object(name)); }

 private:
  explicit JsonMembers(const JsonObject* object) : object_(object) {}
  const JsonObject* object_;
};

}  // namespace metafuse
