#pragma once

#include <string_view>

#include "core/result.h"

// Private keys in PEM, without a passphrase: the only place that reads them.

namespace metafuse {

/// Checks that a private key is that of a certificate; both in PEM.
///
/// errors: bad_config: no certificate, no private key, or that of another certificate
Result<void> check_key_of_certificate(std::string_view certificate, std::string_view private_key);

}  // namespace metafuse
