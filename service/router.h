#pragma once

#include <optional>
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

class DocumentKeeper;
class Finder;
class Gate;
class Operations;
class PageReader;
class PictureReader;
class Reloader;
class Suggester;
struct Records;

/// The server's parts for one request; a handler gets those whose types its parameters have.
using Parts =
    std::tuple<const Exchange&, Reply&, Finder&, const Suggester&, Reloader&, Gate&, Records&, Operations&,
               Metrics&, Log&, const Clock&, PageReader&, PictureReader&, DocumentKeeper&>;

/// Where a handler runs: on the I/O thread if it only formats data in memory, on one of the few store threads
/// if it waits for the store, else on a worker.
enum class Where { inline_thread, store_worker, worker };

/// A row of the table of routes. The table alone says which requests the server answers, what the gate checks
/// for each, and which handler runs on which threads.
struct Route {
  std::string_view method;
  std::string_view pattern;  ///< "/v1/templates/{domain}": a {name} stands for one segment
  std::string_view name;     ///< its name in metrics and logs
  RouteRules rules;          ///< what the gate checks
  Where where;
  /// The handler. Its return value is not sent if it has begun a reply in pieces.
  Answered (*handle)(const Parts& parts);
  std::string_view summary;  ///< one line for /openapi.json and docs
  /// Answers a request on the I/O thread if that takes a fraction of a millisecond, which is less than
  /// passing it to another thread costs; nothing: the handler answers. nullptr: this is never so.
  std::optional<HttpResponse> (*handle_small)(const Parts& parts) = nullptr;
};

std::span<const Route> routes();

/// The result of looking up a method and path.
struct Match {
  const Route* route = nullptr;  ///< nullptr: 404, or 405 if `allowed` is not empty
  std::vector<std::string> values;
  std::string allowed;  ///< "GET, HEAD"
};

/// Finds the route of a method and path. HEAD matches the row of GET.
Match match_route(std::string_view method, std::string_view path);

/// The dialect of an error that occurs before a handler runs. It is the route's, with two exceptions:
/// Tavily's for a POST of JSON to /search, and a page for a search by a browser.
///
/// in: route - nullptr for a path that does not exist
Dialect error_dialect(const Route* route, const HttpRequest& request);

}  // namespace metafuse::service
