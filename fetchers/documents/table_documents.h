#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/json.h"
#include "core/result.h"
#include "fetchers/documents/source_document.h"

namespace metafuse::fetchers {

/// Why a document is left out, which costs no other.
struct Refusal {
  std::string why;
};

/// nullopt if a document was taken.
using Taken = std::optional<Refusal>;

/// errors: no other document can be taken either, such as into a damaged index
using TakeDocument = std::function<Result<Taken>(SourceDocument document)>;

/// Is told of a row that is no document: its place and why.
using LeaveOutRow = std::function<void(const std::string& why)>;

/// Reads one document per row of a CSV file (RFC 4180). The first row names the columns, one of which is url.
/// Cells are separated by commas, semicolons or tabs, as in the first row. Rows that are malformed, or that
/// `take` refuses, are left out.
///
/// errors: those of `take`; no_input; bad_data: there is no column url
Result<void> read_csv(const std::string& path, const TakeDocument& take, const LeaveOutRow& leave_out);

/// Reads one document per line, a JSON object each; "-" is standard input. Lines that are malformed or too
/// long, or that `take` refuses, are left out.
///
/// errors: those of `take`; no_input; bad_data: damaged compression
Result<void> read_json_lines(const std::string& path, const TakeDocument& take, const LeaveOutRow& leave_out);

/// Reads a document of a JSON object: its url, its texts and its numbers. A list becomes one text of its
/// texts and numbers, and true and false are texts; objects and null are passed over.
///
/// in:     place - of the object, for errors
/// errors: bad_data: the url is not a text
Result<SourceDocument> json_document(const JsonObject& object, const std::string& place);

}  // namespace metafuse::fetchers
