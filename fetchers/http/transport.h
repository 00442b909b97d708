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

  // A thread that has nothing to do but to wait for answers may do the transport's work meanwhile, which
  // spares the hand-over of every answer from one thread to another. TransportWait pairs the calls.

  /// Announces a thread that will send and then wait. False: another thread does the work; else the caller
  /// must come to work() soon after it sent, again whenever it has done what an answer asked for, and to
  /// end_wait().
  virtual bool begin_wait(bool /*may_work*/) { return false; }
  /// Sends and receives until `has_news()`, or `until`. False: the work has gone to another thread.
  ///
  /// in: has_news - becomes true by what `done` of some request does, and by nothing else
  virtual bool work(TimePoint /*until*/, const std::function<bool()>& /*has_news*/) { return false; }
  virtual void end_wait(bool /*is_working*/) {}
};

/// One thread's wait for answers of a transport.
class TransportWait {
 public:
  /// in: may_work - the thread does nothing that takes long, and nothing but this transport has news for it
  TransportWait(Transport& transport, bool may_work)
      : transport_(transport), is_working_(transport.begin_wait(may_work)) {}
  TransportWait(const TransportWait&) = delete;
  TransportWait& operator=(const TransportWait&) = delete;
  ~TransportWait() { transport_.end_wait(is_working_); }

  /// False when this thread does not do the transport's work, now or any more: it waits in its own way.
  bool work(TimePoint until, const std::function<bool()>& has_news) {
    is_working_ = is_working_ && transport_.work(until, has_news);
    return is_working_;
  }

 private:
  Transport& transport_;
  bool is_working_;
};

/// HTTP by libcurl: one multi handle, which keeps connections, names and TLS sessions for later requests. A
/// thread that waits alone for answers works it, else a thread of the transport's own. Every hop of a
/// redirect and every socket is checked against the guard; headers, bodies (after decompression), redirects
/// and times are bounded; proxies of the environment are not used.
///
/// cost: one thread, and one connection for each request under way
std::unique_ptr<Transport> make_curl_transport(AddressGuard guard);

}  // namespace metafuse::fetchers
