#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"
#include "fetchers/http/transport.h"
#include "fetchers/model/engine.h"

// Carries out `auth:` of a definition where it signs each request; access_tokens.h fetches tokens.

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

}  // namespace metafuse::fetchers
