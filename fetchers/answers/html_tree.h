#pragma once

// HTML as a libxml2 tree, for the files of this folder that walk it.

#include <memory>
#include <string>
#include <string_view>

#include <libxml/HTMLparser.h>

namespace metafuse::fetchers {

struct HtmlFree {
  void operator()(xmlDoc* document) const { xmlFreeDoc(document); }
};
using HtmlDocument = std::unique_ptr<xmlDoc, HtmlFree>;

/// Parses a page. Any bytes are accepted; malformed HTML is repaired. Bytes that are valid UTF-8 are read as
/// UTF-8. Otherwise the charset is that of the header, else what the page declares near its beginning, else
/// the browsers' default.
///
/// out:    nullptr for an empty page
HtmlDocument parse_html(std::string_view body, std::string_view content_type);

}  // namespace metafuse::fetchers
