#pragma once

// Documents that a program of the machine converts: PDF by pdftotext (poppler-utils), RTF by unrtf.
// The programs get the bytes on their standard input, and limits (ChildLimits): no network, no file written,
// half a GiB of memory, 20 seconds.

#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/documents/source_document.h"

namespace metafuse::fetchers {

/// errors: unavailable: the program is not installed; bad_data: it cannot read the file within its limits, or
///         finds no text in a PDF
Result<std::vector<SourceDocument>> read_pdf(std::string_view bytes);
Result<std::vector<SourceDocument>> read_rtf(std::string_view bytes);

}  // namespace metafuse::fetchers
