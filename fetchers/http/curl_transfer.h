#pragma once

#include <memory>
#include <optional>
#include <string>

#include <curl/curl.h>

#include "core/url.h"
#include "fetchers/http/address_guard.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

/// One request on one easy handle, including its redirects. Used only by the thread that runs the transport.
class CurlTransfer {
 public:
  CurlTransfer(EngineRequest request, Transport::Done done, const AddressGuard& guard, TimePoint start);
  ~CurlTransfer();
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  /// Sets the options that every request has: allowed protocols, no proxy, no netrc, and no redirects by
  /// libcurl itself.
  static void set_common_options(CURL* handle);
  /// Prepares a handle that has the common options for the next hop. False when the URL must not be fetched;
  /// finish() then reports why.
  bool prepare(CURL* handle, TimePoint now);
  /// If the answer is a redirect to follow, stores its target and returns true: call prepare() again.
  bool take_redirect();
  /// Notes how a proxy answered, before the handle is given to another transfer.
  void note_proxy();
  /// Ends the request; `status` is libcurl's result.
  void finish(CURLcode status, TimePoint now);
  void finish(Failure failure, std::string message, TimePoint now);
  /// The next time limit: for the first byte while none has arrived, else for the whole request.
  TimePoint next_limit() const;
  bool is_overdue(TimePoint now) const { return now >= next_limit(); }

  const EngineRequest& request() const { return request_; }
  /// True when the next request would not overwrite all options of this one, so that the handle must
  /// be reset.
  bool leaves_traces() const;
  CURL* handle() const { return handle_; }

 private:
  bool set_method();
  void set_limits(TimePoint now);
  void set_tls();
  bool set_proxy(const UrlParts& parts);
  /// True if this hop goes elsewhere than to the definition's own origin.
  bool is_crossing() const {
    return origin_ != (request_.own_origin.empty() ? first_origin_ : request_.own_origin);
  }
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static curl_socket_t on_open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int on_connected(void* self, char* remote, char* local, int remote_port, int local_port);
  bool may_connect(Reach reach);
  /// Stores why the transfer is aborted.
  void refuse(Failure failure, std::string message) { refused_ = {failure, std::move(message)}; }
  std::size_t announced_bytes() const;

  EngineRequest request_;
  Transport::Done done_;
  const AddressGuard& guard_;
  TimePoint start_;
  CURL* handle_ = nullptr;
  curl_slist* headers_ = nullptr;
  HttpAnswer answer_;
  StringPairs cookies_;  ///< set by redirects of our own origin
  std::string origin_, first_origin_;
  std::size_t header_bytes_ = 0;
  int redirects_ = 0;
  long connect_status_ = 0;  ///< of the proxy's answer to CONNECT; 0: none
  bool has_first_byte_ = false;
  struct Refusal {
    Failure failure = Failure::none;
    std::string message;
  };
  Refusal refused_;  ///< why the transfer was aborted
};

}  // namespace metafuse::fetchers
