#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "core/result.h"

namespace metafuse {

using Json = boost::json::value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;

struct JsonLimits {
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t max_depth = 64;
  std::size_t max_members = 10'000;  ///< of one object
  std::size_t first_line = 1;        ///< the line of its file at which the text begins, for errors
  /// Where the values lie; the heap unless set. A monotonic_resource suits a document for short-lived use.
  boost::json::storage_ptr memory{};
};

/// Parses one JSON document (RFC 8259).
///
/// in:     text - UTF-8; a BOM and white space around the document are accepted
///         name - the file or request that the text came from, for errors
/// out:    the value. Each number is the nearest double, so that a model written as JSON is read back bit
///         for bit.
/// errors: `code` with "NAME:LINE:COLUMN: ...": a syntax error, invalid UTF-8, text after the document,
///         duplicate keys, a number outside the range of a double, or a document that exceeds the limits
/// cost:   O(bytes)
Result<Json> parse_json(std::string_view text, std::string_view name, Code code = Code::bad_data,
                        const JsonLimits& limits = {});

/// One line of JSON. Doubles get the shortest digits that read back as the same value; 1.0 is written as 1.
/// Requires finite numbers.
std::string to_text(const Json& value);

/// Indented by two spaces; arrays and objects that hold only scalars stay on one line. Ends with a newline.
std::string to_pretty_text(const Json& value);

}  // namespace metafuse
