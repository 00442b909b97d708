#include "service/http/same_origin.h"

namespace metafuse::service {

bool is_same_origin(const HttpRequest& request) {
  const std::string_view fetch_site = request.header("Sec-Fetch-Site");
  if (!fetch_site.empty()) return fetch_site == "same-origin" || fetch_site == "none";
  const std::string_view origin = request.header("Origin");
  const std::size_t scheme = origin.find("://");
  return origin.empty() ||
         (scheme != std::string_view::npos && origin.substr(scheme + 3) == request.header("Host"));
}

}  // namespace metafuse::service
