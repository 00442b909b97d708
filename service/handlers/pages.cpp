#include "service/answers/page.h"
#include "service/base/digest.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"

namespace metafuse::service {
namespace {

std::string_view type_of(std::string_view file) {
  if (file.ends_with(".css")) return "text/css; charset=utf-8";
  if (file.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (file.ends_with(".svg")) return "image/svg+xml; charset=utf-8";
  return {};
}

}  // namespace

HttpResponse handle_home(const Exchange& exchange) {
  return make_response(200, "text/html; charset=utf-8", home_page(*exchange.snapshot));
}

HttpResponse handle_static(const Exchange& exchange) {
  const std::string& name = exchange.path_values.front();
  const std::string_view type = type_of(name);
  const std::string_view content = page_file(name);
  if (type.empty() || content.empty()) return error_response(Dialect::plain, 404, "no such file");
  const std::string etag = '"' + sha256_hex(content).substr(0, 16) + '"';
  HttpResponse response = make_response(200, type, std::string(content));
  if (exchange.request.header("If-None-Match") == etag) {
    response.status = 304;
    response.body.clear();
  }
  response.set("ETag", etag);
  response.set("Cache-Control", "public, max-age=3600");
  return response;
}

}  // namespace metafuse::service
