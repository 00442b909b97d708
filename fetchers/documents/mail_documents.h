#pragma once

#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/documents/source_document.h"

namespace metafuse::fetchers {

/// Reads one mail (RFC 5322, MIME): the subject is the title; sender, receivers, all texts and pages, and the
/// names of attachments are the text. Of multipart/alternative the first form that has words is read; a
/// forwarded mail is text with its subject, sender and receivers.
///
/// errors: bad_data: not a mail
Result<std::vector<SourceDocument>> read_mail(std::string_view bytes);

/// Reads every mail of a mailbox (mbox). The N-th has the URL "#/N". A mail begins behind a line "From ..."
/// that a field of its header follows.
///
/// errors: bad_data: not a mailbox, or more than a million mails
Result<std::vector<SourceDocument>> read_mailbox(std::string_view bytes);

}  // namespace metafuse::fetchers
