#include "service/http/json_fields.h"

#include <algorithm>
#include <cmath>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "core/text.h"

namespace metafuse::service {
namespace {

std::optional<double> as_double(const Json& value) {
  if (value.is_int64()) return static_cast<double>(value.as_int64());
  if (value.is_uint64()) return static_cast<double>(value.as_uint64());
  if (value.is_double()) return value.as_double();
  return std::nullopt;
}

std::string quoted(std::string_view name) {
  return '"' + std::string(name) + '"';
}

}  // namespace

void JsonFields::set_mistake(std::string text) {
  if (mistake_.empty()) mistake_ = std::move(text);
}

const Json* JsonFields::find(std::string_view name) const {
  const Json* value = object_->if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<std::string> JsonFields::text(std::string_view name, std::size_t max_bytes) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string() || value->as_string().size() > max_bytes) {
    set_mistake(quoted(name) + " must be a string of at most " + std::to_string(max_bytes) + " bytes");
    return std::nullopt;
  }
  return std::string(value->as_string());
}

std::optional<bool> JsonFields::flag(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_bool()) return value->as_bool();
  set_mistake(quoted(name) + " must be true or false");
  return std::nullopt;
}

std::optional<double> JsonFields::number(std::string_view name, double low, double high) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = as_double(*value);
  if (number && *number >= low && *number <= high) return number;
  set_mistake(quoted(name) + " must be a number from " + to_text(Json(low)) + " to " + to_text(Json(high)));
  return std::nullopt;
}

std::optional<int> JsonFields::integer(std::string_view name, int low, int high) {
  const auto value = number(name, low, high);
  if (!value) return std::nullopt;
  if (std::floor(*value) == *value) return static_cast<int>(*value);
  set_mistake(quoted(name) + " must be a whole number");
  return std::nullopt;
}

std::vector<std::string> JsonFields::texts(std::string_view name, std::size_t max_items,
                                           std::size_t max_bytes) {
  std::vector<std::string> out;
  const JsonArray* items = array(name);
  if (items == nullptr) return out;
  for (const Json& item : *items) {
    if (!item.is_string() || item.as_string().size() > max_bytes || out.size() >= max_items) {
      set_mistake(quoted(name) + " must be a list of at most " + std::to_string(max_items) +
                  " strings of at most " + std::to_string(max_bytes) + " bytes");
      return {};
    }
    out.emplace_back(item.as_string());
  }
  return out;
}

std::map<std::string, std::string> JsonFields::text_map(std::string_view name) {
  std::map<std::string, std::string> out;
  const JsonObject* members = object(name);
  if (members == nullptr) return out;
  JsonFields values(*members);
  for (const auto& member : *members)
    if (auto value = values.text(member.key())) out[std::string(member.key())] = std::move(*value);
  if (values.has_failed()) set_mistake(std::string(name) + ": " + values.mistake_);
  return out;
}

const JsonObject* JsonFields::object(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return nullptr;
  if (value->is_object()) return &value->as_object();
  set_mistake(quoted(name) + " must be an object");
  return nullptr;
}

const JsonArray* JsonFields::array(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return nullptr;
  if (value->is_array()) return &value->as_array();
  set_mistake(quoted(name) + " must be a list");
  return nullptr;
}

void JsonFields::refuse_others(std::initializer_list<std::string_view> known) {
  for (const auto& member : *object_)
    if (std::find(known.begin(), known.end(), std::string_view(member.key())) == known.end())
      set_mistake("unknown member " + quoted(member.key()) +
                  did_you_mean(member.key(), {known.begin(), known.end()}));
}

Result<std::optional<Json>> JsonLines::next() {
  while (!rest_.empty()) {
    const std::string_view line = take_until(rest_, '\n');
    ++number_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    JsonLimits limits;
    limits.first_line = number_;
    TRY(auto json, parse_json(line, "lines", Code::bad_data, limits));
    return std::optional<Json>(std::move(json));
  }
  return std::optional<Json>();
}

std::string JsonLines::place() const {
  return "lines:" + std::to_string(number_);
}

}  // namespace metafuse::service
