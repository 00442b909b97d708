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

// `auth:` of a definition: how each request shows who asks, where a fixed header is not enough.

namespace metafuse::fetchers {

struct HttpRequest;
struct HttpAnswer;

struct Authorization {
  enum class Kind { none, oauth2, hmac, aws, forward };

  Kind kind = Kind::none;

  // oauth2: a token by client credentials, or by a refresh token where there is one (RFC 6749)
  std::string token_url;
  std::string client_id, client_secret, refresh_token, scope, audience;
  bool is_basic = false;  ///< the client shows itself by basic authentication instead of in the body

  // hmac: `message` signed by `secret`; `headers` may hold {signature}
  std::string algorithm = "sha256";
  bool is_base64 = false;
  std::string secret, message;
  std::vector<std::pair<std::string, std::string>> headers;

  // aws: Signature Version 4 by `client_id`, the access key, and `secret`
  std::string region, service, session_token;
  bool signs_content = false;  ///< the body's digest stands in a header of its own, as some services want it

  // forward: what whoever searches sends under these names
  std::vector<std::string> forwarded;

  friend bool operator==(const Authorization&, const Authorization&) = default;
};

/// Fills in the names between braces in `message` or in one of `headers`. They are {method}, {path}, {query},
/// {host}, {timestamp} (seconds since 1970), {date} (RFC 7231), {body}, {body_sha256} and {signature}.
///
/// errors: bad_config: another name between braces
Result<std::string> filled_signature_text(std::string_view text, const HttpRequest& request,
                                          std::int64_t unix_time, bool is_base64, std::string_view signature);

/// Adds the signed headers.
void sign_request(HttpRequest& request, const Authorization& auth, std::int64_t unix_time);

/// Adds the headers of Amazon's Signature Version 4; blanks in the URL's query become %20.
///
/// source: AWS, "Signing AWS API requests", the canonical request and the string to sign
void sign_aws_request(HttpRequest& request, const Authorization& auth, std::int64_t unix_time);

/// The request for a token. It is neither recorded nor logged.
///
/// in: refresh_token - the newest; empty: by client credentials
HttpRequest build_token_request(const Authorization& auth, const std::string& engine,
                                const std::string& refresh_token);

/// The token of one engine, for all its requests. It is asked for when there is none, and again before it
/// ends, while the old one still serves. From any thread.
class TokenKeeper {
 public:
  /// nothing: the token could not be had; `why` says it
  using Take = std::function<void(std::optional<std::string> token, const std::string& why)>;
  /// Sends a request; answers come from any thread.
  using Send = std::function<void(HttpRequest request, std::function<void(HttpAnswer)> done)>;

  TokenKeeper(Authorization auth, std::string engine)
      : auth_(std::move(auth)), engine_(std::move(engine)), refresh_token_(auth_.refresh_token) {}

  /// Calls `take` once; immediately where a token is at hand.
  static void get(const std::shared_ptr<TokenKeeper>& keeper, TimePoint now, const Clock& clock,
                  const Send& send, Take take);
  /// The engine did not accept this token.
  void forget(const std::string& token);

 private:
  void take_answer(const HttpAnswer& answer, const Clock& clock);

  const Authorization auth_;
  const std::string engine_;
  std::mutex mutex_;
  std::string token_;
  std::string refresh_token_;  ///< the newest: some servers hand out another with each token
  TimePoint renew_at_{}, end_{};
  bool is_under_way_ = false;
  std::vector<Take> waiting_;
};

}  // namespace metafuse::fetchers
