#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse::fetchers {

/// The values that replace the placeholders of a request.
struct RequestValues {
  std::string query;
  std::string pageno;
  std::string lang;
  std::string locale;       ///< the whole tag of the language
  std::string time_range;   ///< already a piece of a URL
  std::string safe_search;  ///< already a piece of a URL
  std::string offset;       ///< number of results before this page
  std::string start;        ///< offset + 1
  std::string count;
  std::string query_field;                ///< of "field:value"
  std::string query_value;                ///< of "field:value", or the whole query
  std::string query_values;               ///< the comma-separated parts of the value, as JSON strings
  std::string cursor;                     ///< handed out by the previous page
  std::string ids;                        ///< identifiers of an earlier step, joined
  std::string id_values;                  ///< the same as JSON strings
  std::string id;                         ///< one of them
  std::string vector;                     ///< of the query: "[0.25,-0.5]"
  std::string callers_token;              ///< of the searching client, without "Bearer "
  std::string query_1, query_2, query_3;  ///< the groups of the engine's query_pattern
};

/// How a value is quoted, depending on where it is inserted.
enum class Quoting {
  url_path,   ///< percent-encoded
  url_query,  ///< percent-encoded, blanks as plus signs
  form,       ///< as url_query
  json,       ///< inside a JSON string
  xml,        ///< special characters as entities
  none,
};

/// A piece of a template: literal characters, or the name of a placeholder.
struct TemplatePiece {
  std::string text;
  bool is_placeholder = false;
};

/// Splits "...{name}..." into pieces. `{{` and `}}` stand for the braces themselves, as in SearXNG.
///
/// errors: bad_config: an unmatched brace, or a placeholder that RequestValues does not have
Result<std::vector<TemplatePiece>> parse_request_template(std::string_view text);

/// A body as a definition writes it, as a request template. Braces are doubled in it as in SearXNG, or not:
/// if it is no template as it stands, only the placeholders that RequestValues has are placeholders, and
/// other braces stand for themselves, as in JSON and GraphQL.
///
/// errors: bad_config: an unknown placeholder that resembles a known one, or that stands among doubled braces
Result<std::string> body_template(std::string_view text);

/// Replaces every placeholder. time_range, safe_search and vector are inserted without quoting. Requires a
/// template that parses.
std::string fill_request_template(std::string_view text, const RequestValues& values, Quoting quoting);

/// Fills in a URL: values are quoted for a path before the first `?`, for a query after it.
std::string fill_url_template(std::string_view url, const RequestValues& values);

/// How placeholders of a body are quoted: decided by its content type, in any case of letters; without one,
/// or if it is text/plain, by the body's first character.
Quoting body_quoting(std::string_view body, std::string_view content_type);

/// Doubles the braces of a text, so that a template contains it literally.
std::string with_doubled_braces(std::string_view text);

/// Checks the URL of a definition.
///
/// errors: bad_config: not an http or https URL; a placeholder in the scheme, host, port or user (except that
///         {lang} and {language} may be part of the host); no {query} although `needs_query`
Result<void> check_url_template(std::string_view url, bool needs_query);

}  // namespace metafuse::fetchers
