#pragma once

#include <functional>
#include <string>

#include "core/json.h"
#include "core/result.h"
#include "fetchers/documents/source_document.h"

namespace metafuse::fetchers {

using TakeDocument = std::function<Result<void>(SourceDocument document)>;

/// Reads one document per row of a CSV file (RFC 4180). The first row names the columns, one of which is url.
///
/// errors: those of `take`; no_input; bad_data, with the place
Result<void> read_csv(const std::string& path, const TakeDocument& take);

/// Reads one document per line, a JSON object each; "-" is standard input. Values are texts or numbers.
///
/// errors: those of `take`; no_input; bad_data, with the place
Result<void> read_json_lines(const std::string& path, const TakeDocument& take);

/// Reads a document of a JSON object: its url, its texts and its numbers.
///
/// in:     place - of the object, for errors
/// errors: bad_data: a member that is neither a text nor a number
Result<SourceDocument> json_document(const JsonObject& object, const std::string& place);

}  // namespace metafuse::fetchers
