#pragma once

// Documents that are ZIP archives of XML parts: Office Open XML (ECMA-376), OpenDocument (ISO 26300), EPUB
// (W3C EPUB 3). Nothing is written to a disk, and no reference that leads out of the archive is followed.

#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/documents/source_document.h"

namespace metafuse::fetchers {

/// Reads title, language, date and text of any of these formats, which the archive's own parts tell apart.
/// The text has the notes and text boxes of Word, and of a book the pages that its spine names.
///
/// errors: bad_data: damaged, encrypted, no document of these formats, no text, more than 10,000 parts, a
///         part larger than 32 MiB, or more than 64 MiB of parts in all
/// cost:   O(unpacked bytes of the parts that hold text)
Result<std::vector<SourceDocument>> read_office_file(std::string_view bytes);

}  // namespace metafuse::fetchers
