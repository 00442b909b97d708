#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace metafuse::cli {

/// The value of "${name}" in an engine file: the file of that name in $CREDENTIALS_DIRECTORY (as systemd sets
/// it), else the environment variable; nothing when neither is there.
std::optional<std::string> environment_secret(std::string_view name);

}  // namespace metafuse::cli
