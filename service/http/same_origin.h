#pragma once

#include "service/http/message.h"

namespace metafuse::service {

/// Whether a page of this server sent the request, or no page at all: not a form or a script of another
/// site, which a browser would send with what it keeps for us. Clients other than browsers say neither
/// `Sec-Fetch-Site` nor `Origin` and pass.
bool is_same_origin(const HttpRequest& request);

}  // namespace metafuse::service
