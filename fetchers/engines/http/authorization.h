#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "fetchers/http/transport.h"
#include "fetchers/model/engine.h"

// Carries out `auth:` of a definition: signs requests, and fetches tokens.

namespace metafuse::fetchers {

/// Replaces the names in braces in `message` or in one of `headers`: {method}, {path}, {query}, {host},
/// {timestamp} (seconds since 1970), {date} (RFC 7231), {body}, {body_sha256} and {signature}.
///
/// errors: bad_config: an unknown name in braces
Result<std::string> filled_signature_text(std::string_view text, const EngineRequest& request,
                                          std::int64_t unix_time, bool is_base64, std::string_view signature);

/// Adds the signed headers.
void sign_request(EngineRequest& request, const Authorization& auth, std::int64_t unix_time);

/// Adds the headers of Amazon's Signature Version 4; blanks in the URL's query become %20.
///
/// source: AWS, "Signing AWS API requests", the canonical request and the string to sign
void sign_aws_request(EngineRequest& request, const Authorization& auth, std::int64_t unix_time);

/// The request for a token. It is neither recorded nor logged.
///
/// in:     refresh_token - the latest one; empty: use the client credentials
EngineRequest build_token_request(const Authorization& auth, const std::string& engine,
                                  const std::string& refresh_token);

/// The token of one engine, shared by all its requests. It is fetched when there is none, and renewed before
/// it expires while the old one is still in use. Thread-safe.
class TokenKeeper {
 public:
  /// token - nullopt if it could not be obtained; `why` then gives the reason
  using Take = std::function<void(std::optional<std::string> token, const std::string& why)>;
  /// Sends a request; `done` may be called from any thread.
  using Send = std::function<void(EngineRequest request, std::function<void(HttpAnswer)> done)>;

  TokenKeeper(Authorization auth, std::string engine)
      : auth_(std::move(auth)), engine_(std::move(engine)), refresh_token_(auth_.refresh_token) {}

  /// Calls `take` exactly once; immediately if a token is available.
  static void get(const std::shared_ptr<TokenKeeper>& keeper, const Clock& clock, const Send& send,
                  Take take);
  /// Discards a token that the engine rejected.
  void forget(const std::string& token);

 private:
  void take_answer(const HttpAnswer& answer, const Clock& clock);

  const Authorization auth_;
  const std::string engine_;
  std::mutex mutex_;
  std::string token_;
  std::string refresh_token_;  ///< the latest: some servers issue a new one with each token
  TimePoint renew_at_{}, end_{};
  bool is_under_way_ = false;
  std::vector<Take> waiting_;
};

}  // namespace metafuse::fetchers
