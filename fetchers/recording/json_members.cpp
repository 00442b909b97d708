#include "fetchers/recording/json_members.h"

namespace metafuse::fetchers {

const JsonObject* object_in(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

std::string text_in(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

double number_in(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  if (value == nullptr || !value->is_number()) return 0;
  return value->to_number<double>();
}

}  // namespace metafuse::fetchers
