#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "service/base/addresses.h"
#include "service/base/log.h"
#include "service/base/metrics.h"
#include "service/base/traces.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"
#include "service/http/message.h"

namespace metafuse::service {

/// Why a request is turned away.
struct AccessRefusal {
  int status = 403;
  std::string_view reason;  ///< a label for metrics and the log; empty when it is the request's own mistake
  std::string text;
  std::optional<double> retry_after_seconds = {};  ///< with 429
};

/// One request with everything a handler may look at.
struct Exchange {
  HttpRequest request;
  std::vector<std::string> path_values;  ///< what stood for {name} in the route's pattern
  std::string client;                    ///< the client's address, behind trusted proxies too
  std::shared_ptr<const Snapshot> snapshot;
  const KeyConfig* key = nullptr;  ///< of the snapshot's configuration; nullptr without a key
  std::string_view route;          ///< the route's name, for metrics
  std::string traceparent;         ///< of the answer
  TimePoint arrived;
  bool is_https = false;                        ///< between the client and a trusted proxy
  Fields form;                                  ///< the body of a form
  std::optional<AccessRefusal> refused_action;  ///< why the form's action may not be done
  std::string_view refused;                     ///< why it was turned away, for the log

  /// "https://HOST" as the client knows this server.
  std::string origin() const {
    const std::string_view host = request.header("Host");
    return (is_https ? "https://" : "http://") +
           (host.empty() ? std::string("localhost") : std::string(host));
  }
  bool may(Role role) const { return key != nullptr && key->has(role); }
  /// The domains that whoever asks may use, by name.
  std::vector<const LoadedDomain*> domains() const { return snapshot->domains_for(key); }
  /// The named one of them, the default one for an empty name, or nullptr.
  const LoadedDomain* find_domain(std::string_view name) const {
    return snapshot->find_domain_for(key, name);
  }
};

/// Whose request it is: the last address of X-Forwarded-For that is no trusted proxy's, when the peer is one.
/// A proxy may add a line of its own below what the client sent, so all lines count, in their order.
std::string client_address(std::span<const AddressRange> trusted_proxies, const HttpRequest& request);

/// Whether a trusted proxy says that the client came by HTTPS.
bool came_by_https(std::span<const AddressRange> trusted_proxies, const HttpRequest& request);

/// Security headers, CORS and traceparent; the same for every answer.
void add_common_headers(const Exchange& exchange, HttpResponse& response);

/// The answer to a browser's question whether another origin's page may send a request (CORS preflight);
/// nothing when the request is none.
std::optional<HttpResponse> preflight_answer(const Exchange& exchange);

/// A W3C trace context: the trace id of `incoming` when it is well formed, and whether its caller records the
/// trace; else a new one, which is recorded for a share of them. Always a new span id.
std::string next_traceparent(std::string_view incoming, double share = 1);

/// The one answer to a request: sent whole, or begun and continued in pieces; with the headers that all
/// answers have; counted and logged once.
class Reply {
 public:
  /// in: traces - nullptr where none are made
  Reply(const Exchange& exchange, Responder& responder, const Clock& clock, Metrics& metrics, Log& log,
        Traces* traces)
      : exchange_(exchange),
        responder_(responder),
        clock_(clock),
        metrics_(metrics),
        log_(log),
        traces_(traces) {}
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  /// Sends the whole answer; nothing once one was sent or begun.
  void send(HttpResponse response);
  void begin(HttpResponse head);
  void write(std::string piece);
  /// Ends an answer that came in pieces; nothing when none was begun.
  void end();
  bool has_begun() const { return has_begun_; }

 private:
  void count(int status);
  void trace(int status) const;

  const Exchange& exchange_;
  Responder& responder_;
  const Clock& clock_;
  Metrics& metrics_;
  Log& log_;
  Traces* traces_;
  std::size_t bytes_ = 0;
  int status_ = 0;
  bool has_begun_ = false;
  bool has_ended_ = false;
};

}  // namespace metafuse::service
