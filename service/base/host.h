#pragma once

#include <string>
#include <string_view>

namespace metafuse::service {

/// A host and an optional port: "[::1]:80" is {"::1"}, "a:80" is {"a"}, in lower case.
std::string host_without_port(std::string_view host);

/// The host of a URL in lower case, without port; "" when there is none.
std::string host_of(std::string_view url);

}  // namespace metafuse::service
