#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "fetchers/definition/engine.h"
#include "fetchers/fetcher.h"
#include "fetchers/http/address_guard.h"

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
  bool is_confidential = false;  ///< neither recorded nor shown: it is about a token
  /// "host:port" of the definition: the only one that gets headers and credentials, and the private address
  /// that may be reached; empty where the definition's host has a placeholder.
  std::string own_origin;
  std::shared_ptr<const OwnHost> own_host;  ///< whether that is a private host; nullptr: it may be one
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

/// HTTP by libcurl: one multi handle on a thread of its own, which keeps connections, names and TLS sessions
/// for later requests. Every hop of a redirect and every socket is checked against the guard; headers, bodies
/// (after decompression), redirects and times are bounded; proxies of the environment are not used.
///
/// cost: one thread, and one connection for each request under way
std::unique_ptr<Transport> make_curl_transport(AddressGuard guard);

}  // namespace metafuse::fetchers
