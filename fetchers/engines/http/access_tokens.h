#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/recently_used.h"
#include "core/result.h"
#include "fetchers/http/breaker.h"
#include "fetchers/http/transport.h"
#include "fetchers/model/engine.h"

// Fetches the access tokens of engines with `auth: {type: oauth2}`.

namespace metafuse::fetchers {

/// What a request for a token contains besides the definition's keys.
struct TokenGrant {
  std::string refresh_token;   ///< the latest one; empty: there is none
  std::string callers_token;   ///< the token to exchange; empty: the engine acts for itself
  std::int64_t unix_time = 0;  ///< of a signed assertion
};

/// The request for a token: by the caller's token if one is exchanged, else by the private key, the refresh
/// token, the user's password, or the client's secret. It is neither recorded nor logged.
///
/// source: RFC 6749 (4.3, 4.4, 6), RFC 7523 (2.1) and RFC 8693 (2.1); Microsoft's on-behalf-of flow
EngineRequest build_token_request(const Authorization& auth, const std::string& engine,
                                  const TokenGrant& grant);

/// A token that says who asks, signed with the definition's private key; valid for five minutes.
///
/// errors: bad_config: not a private RSA key in PEM
/// source: RFC 7519, RFC 7523 (3)
Result<std::string> signed_assertion(const Authorization& auth, std::int64_t unix_time);

/// Fills `auth` from the key file of a service account at Google (JSON).
///
/// errors: bad_config: a member is missing
Result<void> read_service_account(Authorization& auth, std::string_view text);

/// The token of one engine, or of one engine and one caller, shared by all its requests. It is fetched when
/// there is none, and renewed before it expires while the old one is still in use. Thread-safe.
class TokenKeeper {
 public:
  /// token - nullopt if it could not be obtained; `why` then gives the reason
  using Take = std::function<void(std::optional<std::string> token, const std::string& why)>;
  /// Sends a request; `done` may be called from any thread, or dropped if the sender ends first.
  using Send = std::function<void(EngineRequest request, std::function<void(HttpAnswer)> done)>;

  TokenKeeper(Authorization auth, std::string engine, std::string callers_token)
      : auth_(std::move(auth)),
        engine_(std::move(engine)),
        callers_token_(std::move(callers_token)),
        refresh_token_(auth_.refresh_token) {}

  /// Calls `take` exactly once; immediately if a token is available, or if the server has just refused one:
  /// it is then asked again only after a pause, longer after each failure and at least as long as it wishes.
  static void get(const std::shared_ptr<TokenKeeper>& keeper, const Clock& clock, std::int64_t unix_time,
                  const Send& send, Take take);
  /// Discards a token that the engine rejected.
  void forget(const std::string& token);

 private:
  class Asked;

  void take_answer(const HttpAnswer& answer, const Clock& clock);

  const Authorization auth_;
  const std::string engine_;
  const std::string callers_token_;
  std::mutex mutex_;
  std::string token_;
  std::string refresh_token_;  ///< the latest: some servers issue a new one with each token
  TimePoint renew_at_{}, end_{};
  Breaker breaker_;            ///< open after each failure
  std::string why_;            ///< of the last failure
  bool is_under_way_ = false;  ///< a request
  std::vector<Take> waiting_;
};

/// The tokens of one engine: one, or one for each of the latest callers whose tokens are exchanged.
/// Thread-safe.
class TokenKeepers {
 public:
  TokenKeepers(Authorization auth, std::string engine) : auth_(std::move(auth)), engine_(std::move(engine)) {}

  /// in:     callers_token - to exchange; empty: the engine acts for itself
  std::shared_ptr<TokenKeeper> find(const std::string& callers_token);

 private:
  const Authorization auth_;
  const std::string engine_;
  std::mutex mutex_;
  RecentlyUsed<std::shared_ptr<TokenKeeper>> keepers_;  ///< by digests of the callers' tokens
};

}  // namespace metafuse::fetchers
