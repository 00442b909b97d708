#pragma once

#include <string_view>

#include "core/result.h"
#include "fetchers/engines/http/ready_access.h"

namespace metafuse::fetchers {

/// Fills in the access's URL from an OpenSearch description document.
///
/// errors: bad_data: not such a document, none of its URLs gives RSS, Atom or JSON answers, or the URL needs
///         more than a query
Result<void> apply_description(ReadyAccess& ready, std::string_view document);

}  // namespace metafuse::fetchers
