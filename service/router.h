#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "service/http/exchange.h"
#include "service/http/message.h"

namespace metafuse::service {

class App;

/// Whose error shape a path answers with.
enum class Dialect { plain, page, searxng, tavily, mcp, native };

/// Who may use a route.
enum class Access { open, search, metrics, admin };

/// Where a handler runs: on the I/O thread when it only formats what is in memory, else on a worker.
enum class Where { inline_thread, worker };

/// A row of the table of routes.
struct Route {
  std::string_view method;
  std::string_view pattern;  ///< "/v1/templates/{domain}": a {name} stands for one segment
  std::string_view name;     ///< in metrics and logs
  Dialect dialect;
  Access access;
  Where where;
  HttpResponse (*handle)(App& app, const Exchange& exchange) = nullptr;
  /// Instead of `handle` for answers that come in pieces.
  void (*stream)(App& app, const Exchange& exchange, Responder& responder) = nullptr;
  std::string_view summary;  ///< one line for /openapi.json and docs
};

std::span<const Route> routes();

/// What the table says of a method and path.
struct Match {
  const Route* route = nullptr;  ///< nullptr: 404, or 405 when `allowed` is not empty
  std::vector<std::string> values;
  std::string allowed;  ///< "GET, HEAD"
};

/// HEAD matches the row of GET.
Match match_route(std::string_view method, std::string_view path);

}  // namespace metafuse::service
