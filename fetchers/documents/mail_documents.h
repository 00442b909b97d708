#pragma once

#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/documents/source_document.h"

namespace metafuse::fetchers {

/// Reads one mail (RFC 5322, MIME): the subject is the title; sender, receivers, the text or else the HTML,
/// and the names of attachments are the text.
///
/// errors: bad_data: not a mail
Result<std::vector<SourceDocument>> read_mail(std::string_view bytes);

/// Reads every mail of a mailbox (mbox). The N-th has the URL "#/N".
///
/// errors: bad_data: not a mailbox
Result<std::vector<SourceDocument>> read_mailbox(std::string_view bytes);

}  // namespace metafuse::fetchers
