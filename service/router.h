#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/deadline.h"
#include "service/access/route_rules.h"
#include "service/http/exchange.h"
#include "service/http/message.h"

namespace metafuse::service {

class Gate;
class Log;
class Metrics;
class Operations;
class PageReader;
class PictureReader;
class Reloader;
class Reply;
class Searcher;
struct Records;

/// The server's parts for one request; a handler gets those that its parameters name.
using Parts = std::tuple<const Exchange&, Reply&, Searcher&, Reloader&, Gate&, Records&, Operations&,
                         Metrics&, Log&, const Clock&, PageReader&, PictureReader&>;

/// Where a handler runs: on the I/O thread when it only formats what is in memory, on one of the few threads
/// that wait for the store, else on a worker.
enum class Where { inline_thread, store_worker, worker };

/// A row of the table of routes.
struct Route {
  std::string_view method;
  std::string_view pattern;  ///< "/v1/templates/{domain}": a {name} stands for one segment
  std::string_view name;     ///< in metrics and logs
  RouteRules rules;          ///< what the gate checks
  Where where;
  /// What it returns is not sent when it began a reply in pieces.
  HttpResponse (*handle)(const Parts& parts);
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
