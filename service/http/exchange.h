#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/system/result.hpp>

#include "core/deadline.h"
#include "core/result.h"
#include "service/base/addresses.h"
#include "service/base/traces.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"
#include "service/http/message.h"
#include "service/http/preferences.h"

namespace metafuse::service {

/// Why a request is refused.
struct AccessRefusal {
  int status = 403;
  std::string_view reason;  ///< a label for metrics and the log; empty if the request itself is malformed
  std::string text;
  std::optional<double> retry_after_seconds = {};  ///< with 429
};

inline AccessRefusal refusal(int status, std::string text) {
  return {status, {}, std::move(text)};
}

/// The HTTP status of an expected failure.
int status_of(Code code);

inline AccessRefusal refusal(const Error& error) {
  return {status_of(error.code), {}, error.text};
}

/// A value, or why the request for it is refused.
template <class T>
using OrRefusal = boost::system::result<T, AccessRefusal>;

/// A handler's answer, or why there is none: the request is refused, or something failed. The dialect of the
/// route decides how that is told.
using Answered = boost::system::result<HttpResponse, std::variant<AccessRefusal, Error>>;

/// One request with everything that a handler may use.
struct Exchange {
  HttpRequest request;
  std::vector<std::string> path_values;  ///< the values of {name} in the route's pattern
  std::string client;                    ///< the client's address, also behind trusted proxies
  std::shared_ptr<const Snapshot> snapshot;
  const KeyConfig* key = nullptr;  ///< of the snapshot's configuration; nullptr without a key
  bool awaits_key = false;         ///< the key may stand in the body, where a worker looks for it
  std::string_view route;          ///< the route's name, for metrics
  std::string traceparent;         ///< the one that the answer carries
  TimePoint arrived;
  bool is_https = false;                        ///< a trusted proxy says that the client used HTTPS
  Preferences preferences;                      ///< of the reader's browser
  std::optional<Json> json;                     ///< the body, if it was read as JSON already
  std::string repeat_key;                       ///< what shapes the answer; "" if it is not sent again
  Fields form;                                  ///< the fields of a form in the body
  std::optional<AccessRefusal> refused_action;  ///< why the form's action is not allowed
  std::string_view refused;                     ///< label of the refusal, for the log; empty if there is none

  /// "https://HOST" as the client knows this server.
  std::string origin() const {
    const std::string_view host = request.header("Host");
    return (is_https ? "https://" : "http://") +
           (host.empty() ? std::string("localhost") : std::string(host));
  }
  /// Whoever sent the request, for limits per sender: its key, or else the prefix of its address.
  std::string sender() const { return key != nullptr ? "key " + key->name : address_prefix(client); }
  bool may(Role role) const { return key != nullptr && key->has(role); }
  /// The domains that this request's key may use, sorted by name.
  std::vector<const LoadedDomain*> domains() const { return snapshot->domains_for(key); }
  /// The named domain among them, the default one for an empty name, or nullptr.
  const LoadedDomain* find_domain(std::string_view name) const {
    return snapshot->find_domain_for(key, name);
  }
  /// The exchange as it would be if no domain had a model, so that RRF fuses the lists. This one must outlive
  /// it, because its key is this one's.
  Exchange without_models() const {
    Exchange out = *this;
    out.snapshot = snapshot->without_models();
    return out;
  }
  /// The domain that the path names first.
  OrRefusal<const LoadedDomain*> domain_in_path() const;
};

/// The address of the client. If the peer is a trusted proxy, that is the last address in X-Forwarded-For
/// that is not a trusted proxy's. All lines of that header count, in their order, because a proxy may add its
/// own line below the client's.
std::string client_address(std::span<const AddressRange> trusted_proxies, const HttpRequest& request);

/// Whether a trusted proxy says that the client used HTTPS.
bool came_by_https(std::span<const AddressRange> trusted_proxies, const HttpRequest& request);

/// Sets what headers and trusted proxies say about a request's sender: client, is_https and traceparent.
void note_sender(Exchange& exchange);

/// Whether a search may be stored and learned from: not with Do Not Track or Global Privacy Control.
bool may_be_stored(const HttpRequest& request);

/// Adds the headers of every answer: security headers, CORS and traceparent.
void add_common_headers(const Exchange& exchange, HttpResponse& response);

/// The answer to a CORS preflight, in which a browser asks whether another origin's page may send a request;
/// nothing if the request is not a preflight.
std::optional<HttpResponse> preflight_answer(const Exchange& exchange);

/// Whether the other end of the request's connection is a trusted proxy.
bool is_trusted_peer(std::span<const AddressRange> trusted_proxies, const HttpRequest& request);

/// The W3C trace context of a request, with a new span id. If `incoming` is well formed, it keeps the trace
/// id. A trusted caller also chooses whether the trace is recorded. Of the others' traces the given share is
/// recorded, except those that the caller does not want recorded.
std::string next_traceparent(std::string_view incoming, double share = 1, bool is_trusted = false);

/// Sends the one answer to a request, whole or in pieces. It adds the common headers, and counts and logs the
/// answer once.
class Reply {
 public:
  Reply(const Exchange& exchange, Responder& responder, const Clock& clock, Telemetry& telemetry)
      : exchange_(exchange), responder_(responder), clock_(clock), telemetry_(telemetry) {}
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  /// Sends the whole answer. Does nothing if an answer was already sent or begun.
  void send(HttpResponse response);
  void begin(HttpResponse head);
  void write(std::string piece);
  /// Ends an answer that is sent in pieces. Does nothing if none was begun.
  void end();
  bool has_begun() const { return has_begun_; }

 private:
  void count(int status);
  void trace(int status) const;

  const Exchange& exchange_;
  Responder& responder_;
  const Clock& clock_;
  Telemetry& telemetry_;
  std::size_t bytes_ = 0;
  int status_ = 0;
  bool has_begun_ = false;
  bool has_ended_ = false;
};

}  // namespace metafuse::service
