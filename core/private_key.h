#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

// Private keys in PEM, without a passphrase: the only place that reads them.

namespace metafuse {

/// The signature of RSASSA-PKCS1-v1_5 with SHA-256, as bytes.
///
/// errors: bad_config: not a private RSA key of 2048 bits or more
/// source: RFC 8017, 8.2
Result<std::string> rsa_sha256_signature(std::string_view private_key, std::string_view text);

/// Checks that a private key is that of a certificate; both in PEM.
///
/// errors: bad_config: no certificate, no private key, or that of another certificate
Result<void> check_key_of_certificate(std::string_view certificate, std::string_view private_key);

}  // namespace metafuse
