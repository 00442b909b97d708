#pragma once

// HTML as libxml2's tree, for the files of this folder that walk it.

#include <memory>
#include <string>
#include <string_view>

#include <libxml/HTMLparser.h>

namespace metafuse::fetchers {

struct HtmlFree {
  void operator()(xmlDoc* document) const { xmlFreeDoc(document); }
};
using HtmlDocument = std::unique_ptr<xmlDoc, HtmlFree>;

/// Any bytes are a page: what is malformed is mended. The charset is what the header says, else what the page
/// says of itself near its begin, else what browsers assume; bytes that are UTF-8 are UTF-8 whatever
/// anybody says.
///
/// out: nullptr for an empty page
HtmlDocument parse_html(std::string_view body, std::string_view content_type);

}  // namespace metafuse::fetchers
