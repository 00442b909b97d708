#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "service/http/head.h"

namespace metafuse::service {

/// How many bytes of empty lines stand before a request; at most two lines are passed over (RFC 9112, 2.2).
std::size_t empty_lines_before(std::string_view text);

/// Where a head ends, its empty line included; nothing while it has not all arrived.
std::optional<std::size_t> head_end(std::string_view text);

/// What is wrong with a head that is not all there and that no further byte can mend: 400, 414 or 431.
std::optional<Refusal> hopeless_head(std::string_view text);

}  // namespace metafuse::service
