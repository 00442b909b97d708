#pragma once

#include <span>
#include <string_view>

#include "service/router.h"

namespace metafuse::service {

/// A body that a route takes: its media type and its JSON schema.
struct BodySchema {
  std::string_view media_type;
  std::string_view schema;
};

/// What a route's body may be; empty where it takes none.
std::span<const BodySchema> request_bodies(const Route& route);

/// The media types of a route's answers with status 200.
std::span<const std::string_view> answer_types(const Route& route);

}  // namespace metafuse::service
