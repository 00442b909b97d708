#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/json.h"
#include "service/access/route_rules.h"

namespace metafuse::service {

/// A route as the description needs it.
struct DescribedRoute {
  std::string_view method;
  std::string_view pattern;
  std::string_view summary;
  const RouteRules* rules = nullptr;
};

/// A file of service/api/.
struct ApiFile {
  std::string_view name;
  std::string_view content;
};

/// openapi.json alone: what the operations take and answer. The body is written by cmake/EmbedFiles.cmake.
std::span<const ApiFile> api_files();

/// The OpenAPI description (3.1): an operation for each route, named by its method and path so that the name
/// stays when routes are added, with the schemas and examples of service/api/openapi.json. Without `servers`.
JsonObject api_description(std::span<const DescribedRoute> routes);

/// The description as a page: each operation with its parameters, members and examples.
std::string api_page(const JsonObject& description);

}  // namespace metafuse::service
