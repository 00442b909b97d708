#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse::fetchers {

/// What the placeholders of a request stand for.
struct RequestValues {
  std::string query;
  std::string pageno;
  std::string lang;
  std::string time_range;   ///< already a piece of a URL
  std::string safe_search;  ///< already a piece of a URL
  std::string offset;       ///< results before this page
  std::string start;        ///< offset + 1
  std::string count;
  std::string query_field;   ///< of "field:value"
  std::string query_value;   ///< of "field:value", or the whole query
  std::string query_values;  ///< the value's parts between commas, as JSON strings
  std::string cursor;        ///< what the page before handed out
  std::string ids;           ///< identifiers of an earlier step, joined
  std::string id_values;     ///< the same as JSON strings
  std::string id;            ///< one of them
  std::string vector;        ///< of the query, "[0.25,-0.5]"
};

/// How a value is written where it stands.
enum class Quoting {
  url_path,   ///< percent-encoded
  url_query,  ///< percent-encoded, blanks as plus signs
  form,       ///< as url_query
  json,       ///< inside a JSON string
  xml,        ///< entities
  none,
};

/// A piece of a template: characters, or the name of a placeholder.
struct TemplatePiece {
  std::string text;
  bool is_placeholder = false;
};

/// Splits "...{name}..." into pieces; `{{` and `}}` are the characters themselves, as in SearXNG.
///
/// errors: bad_config: a brace without its partner, a placeholder that is not in RequestValues
Result<std::vector<TemplatePiece>> parse_request_template(std::string_view text);

/// The text with every placeholder replaced; time_range, safe_search and vector are put in as they are.
/// Requires a template that parses.
std::string fill_request_template(std::string_view text, const RequestValues& values, Quoting quoting);

/// A URL: path before the first `?`, query behind it.
std::string fill_url_template(std::string_view url, const RequestValues& values);

/// How placeholders of a body are written: by its content type, else by its first character.
Quoting body_quoting(std::string_view body, std::string_view content_type);

/// Writes the braces of a text twice, so that it stands for itself in a template.
std::string with_doubled_braces(std::string_view text);

/// errors: bad_config: no http or https URL, a placeholder in the scheme, host, port or user ({lang} and
///         {language} may be a part of the host), no {query} where `needs_query`
Result<void> check_url_template(std::string_view url, bool needs_query);

}  // namespace metafuse::fetchers
