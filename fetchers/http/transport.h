#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "fetchers/http/address_guard.h"
#include "fetchers/model/engine.h"
#include "fetchers/model/fetched_list.h"
#include "fetchers/model/secrets.h"

namespace metafuse::fetchers {

/// One HTTP request with all its limits.
struct EngineRequest {
  std::string engine;    ///< all requests of one engine share its limits
  std::string sender{};  ///< for whom: senders have an engine's connections in turn
  std::string method = "GET";
  std::string url;
  StringPairs headers;
  std::string body;
  std::string record_url;  ///< URL and body with secrets replaced, for recordings
  std::string record_body;
  HiddenTexts secrets{};         ///< that recordings must not hold
  bool is_confidential = false;  ///< concerns a token: neither recorded nor shown
  /// "host:port" of the definition. Only this origin receives headers and credentials, and only it may be
  /// private. Empty if the definition's host contains a placeholder.
  std::string own_origin;
  std::shared_ptr<const OwnHost> own_host;  ///< whether own_origin is private; nullptr: it may be
  std::string username, password;
  std::string ca_file;
  std::string certificate_file, key_file;  ///< with which we identify ourselves; empty: not
  std::string proxy;                       ///< as HttpAccess::proxy
  bool verifies_certificates = true;
  Duration timeout = std::chrono::seconds(3);  ///< counted from send(), waiting for a connection included
  Duration connect_timeout{};                  ///< zero: the timeout
  Duration first_byte_timeout{};               ///< zero: the timeout
  std::size_t max_bytes = std::size_t{1} << 20;
  int max_redirects = 3;
  int max_connections = 8;
  double requests_per_second = 0;
};

/// The result of a request: an answer with any status, or the reason why there is none.
struct HttpAnswer {
  Failure failure = Failure::none;
  std::string message;  ///< of the failure
  int status = 0;
  std::string url;      ///< after redirects
  StringPairs headers;  ///< names in lower case
  std::string body;
  Duration elapsed{};
  bool was_connected = false;  ///< a server was reached, whatever came of it

  /// The value of the first header with that lower-case name, or empty.
  std::string_view header(std::string_view name) const;
  /// Whether our own limits kept the request back, so that no server has seen it.
  bool was_kept_back() const { return is_kept_back(failure, status); }
};

/// Sends HTTP requests, through libcurl or to a recording.
class Transport {
 public:
  using Done = std::function<void(HttpAnswer)>;

  virtual ~Transport() = default;
  /// Returns immediately. `done` is called exactly once, from any thread, no later than request.timeout,
  /// unless the transport is destroyed first.
  virtual void send(EngineRequest request, Done done) = 0;

  // A thread that only waits for answers may do the transport's work in the meantime. This saves handing
  // every answer from one thread to another. TransportWait pairs the calls.

  /// Announces a thread that will send and then wait. If this returns false, another thread does the
  /// work. If true, the caller must call work() soon after sending, again after handling each answer, and
  /// finally end_wait().
  virtual bool begin_wait(bool /*may_work*/) { return false; }
  /// Sends and receives until `has_news()` is true or `until` has passed. False: another thread has taken
  /// over the work.
  ///
  /// in:     has_news - must only become true through a `done` callback of some request
  virtual bool work(TimePoint /*until*/, const std::function<bool()>& /*has_news*/) { return false; }
  virtual void end_wait(bool /*is_working*/) {}
};

/// One thread's wait for answers of a transport.
class TransportWait {
 public:
  /// in:     may_work - this thread does nothing that takes long, and only this transport brings it news
  TransportWait(Transport& transport, bool may_work)
      : transport_(transport), is_working_(transport.begin_wait(may_work)) {}
  TransportWait(const TransportWait&) = delete;
  TransportWait& operator=(const TransportWait&) = delete;
  ~TransportWait() { transport_.end_wait(is_working_); }

  /// False if this thread does not do the transport's work, or no longer does; it must then wait in its
  /// own way.
  bool work(TimePoint until, const std::function<bool()>& has_news) {
    is_working_ = is_working_ && transport_.work(until, has_news);
    return is_working_;
  }

 private:
  Transport& transport_;
  bool is_working_;
};

/// HTTP through libcurl: one multi handle, which keeps connections, name look-ups and TLS sessions for later
/// requests. A thread that only waits for answers drives it, or else a thread of the transport's own. Every
/// redirect hop and every socket is checked against the guard. Headers, bodies (after decompression),
/// redirects and times are bounded. Proxy settings in the environment are ignored.
///
/// cost:   one thread, and one connection per concurrent request
std::unique_ptr<Transport> make_curl_transport(AddressGuard guard);

}  // namespace metafuse::fetchers
