#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/http/address_guard.h"
#include "fetchers/model/engine.h"

// The secrets of an engine's definition: filled in for requests, replaced by markers for recordings.

namespace metafuse::fetchers {

using SecretLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// An HTTP engine with its secrets filled in (`access`), and with markers in their place, for
/// recordings (`redacted`).
struct ReadyAccess {
  HttpAccess access;
  HttpAccess redacted;
  std::string own_origin;  ///< "host:port" as in the definition; empty if the host contains a placeholder
  std::shared_ptr<const OwnHost> own_host{};
};

/// Fills in the secrets.
///
/// in:     secret_of - nullptr: no secrets are needed (replay), and markers take their place
/// errors: bad_config, naming the engine and the secret that is not set
Result<ReadyAccess> ready_access(const Engine& engine, const SecretLookup& secret_of);

/// The engine with one of its `instances` as the host of all its addresses. It has a name of its own, so that
/// each instance has limits of its own.
///
/// in:     number - less than the number of instances
Engine engine_at(const Engine& engine, std::size_t number);

/// Replaces every secret in the text, as it is or percent-encoded, by "REDACTED".
void redact(std::string& text, const std::vector<std::string>& secrets);

/// Adds a value to the secrets that are hidden, unless it is so short that it occurs in texts by chance.
void add_secret(HttpAccess& access, const std::string& value);

/// Replaces every "${NAME}" in the text by its secret.
///
/// errors: bad_config, naming the engine and the secret that is not set
Result<std::string> with_secrets(std::string text, const Engine& engine, const SecretLookup& secret_of);

/// The URL with the values of those parameters masked whose names mark them as secrets.
std::string without_secret_parameters(std::string url);

}  // namespace metafuse::fetchers
