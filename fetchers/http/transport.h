#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "fetchers/definition/engine.h"
#include "fetchers/fetcher.h"

namespace metafuse::fetchers {

/// One HTTP request with everything that bounds it.
struct HttpRequest {
  std::string engine;  ///< requests of one engine share its limits
  std::string method = "GET";
  std::string url;
  StringPairs headers;
  std::string body;
  std::string record_url;  ///< the URL and body with secrets replaced, for recordings
  std::string record_body;
  std::string own_origin;  ///< "host:port" of the definition: the private address that may be reached
  std::string username, password;
  std::string ca_file;
  bool verifies_certificates = true;
  Duration timeout = std::chrono::seconds(3);  ///< from now, waiting for a place included
  Duration connect_timeout{};                  ///< zero: the timeout
  Duration first_byte_timeout{};               ///< zero: the timeout
  std::size_t max_bytes = std::size_t{1} << 20;
  int max_redirects = 3;
  int max_connections = 8;
  double requests_per_second = 0;
};

/// What came back: an answer of any status, or why there is none.
struct HttpAnswer {
  Failure failure = Failure::none;
  std::string message;  ///< of the failure
  int status = 0;
  std::string url;      ///< after redirects
  StringPairs headers;  ///< names in small letters
  std::string body;
  Duration elapsed{};

  /// The first header of that name (small letters), or empty.
  std::string_view header(std::string_view name) const;
};

/// Sends HTTP requests. Real implementations: libcurl, and recordings.
class Transport {
 public:
  using Done = std::function<void(HttpAnswer)>;

  virtual ~Transport() = default;
  /// Returns at once; `done` is called exactly once, from any thread, by request.timeout at the latest,
  /// unless the transport is destroyed before.
  virtual void send(HttpRequest request, Done done) = 0;
};

}  // namespace metafuse::fetchers
