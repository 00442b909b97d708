#pragma once

#include <memory>

#include "core/deadline.h"
#include "fetchers/http/address_guard.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

/// HTTP by libcurl: one multi handle on a thread of its own, which keeps connections, names and TLS sessions
/// for later requests. Every hop of a redirect and every socket is checked against the guard; headers, bodies
/// (after decompression), redirects and times are bounded; proxies of the environment are not used.
///
/// cost: one thread, and one connection for each request under way
std::unique_ptr<Transport> make_curl_transport(AddressGuard guard);

}  // namespace metafuse::fetchers
