#pragma once

#include <string>
#include <string_view>

#include "core/json.h"

namespace metafuse::fetchers {

// Members of a JSON object; what is absent or of another type is null, "" or 0.

const JsonObject* object_in(const JsonObject& object, std::string_view key);
std::string text_in(const JsonObject& object, std::string_view key);
double number_in(const JsonObject& object, std::string_view key);

}  // namespace metafuse::fetchers
