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
#include "fetchers/model/secrets.h"

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

/// How a secret is written at its place, between the text before it, whose secrets are filled in, and the
/// text after it.
using WriteSecret =
    std::function<std::string(std::string_view before, std::string_view after, const std::string& secret)>;

/// Replaces every "${NAME}" in the text by its secret, which is hidden from now on.
///
/// in:     write - empty: secrets are written as they are
/// errors: bad_config, naming the engine and the secret that is not set
Result<std::string> with_secrets(std::string text, const Engine& engine, const SecretLookup& secret_of,
                                 HiddenTexts& hidden, const WriteSecret& write = {});

/// The URL with the values of those parameters masked whose names mark them as secrets.
std::string without_secret_parameters(std::string url);

}  // namespace metafuse::fetchers
