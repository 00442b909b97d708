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
/// out:    nullptr for an empty page; the tree has at most 1000 elements inside of each other
HtmlDocument parse_html(std::string_view body, std::string_view content_type);

/// Where the text of a parsed page ends though the page goes on: "1000 nested elements"; empty if it has all.
std::string_view end_of(const xmlDoc& page);

/// The charset that a page declares near its beginning, in a <meta> or an XML declaration, in lower case;
/// empty if there is none.
std::string declared_charset(std::string_view body);

/// Copies and frees a text of libxml2; empty for nullptr.
std::string owned_text(xmlChar* text);

/// The name of an element; empty for any other kind of node.
std::string_view tag_name(const xmlNode& node);

/// What text_below() takes of each text.
struct TextBelow {
  std::size_t most = std::string::npos;  ///< bytes; the text ends with the node that exceeds them
  std::string_view separator{};          ///< behind each text node's text
};

/// The text of the nodes below a node and of itself, without scripts and style sheets.
///
/// in:     steps_left - how many more nodes may be looked at; the text ends with them
std::string text_below(const xmlNode& root, const TextBelow& taken, std::size_t& steps_left);

/// An attribute of an element; empty if the element does not have it.
std::string attribute_of(const xmlNode& node, const char* name);

/// Whether an element is a heading, from h1 to h6.
bool is_heading(const xmlNode& node);

/// Whether an element holds text for browsers rather than readers: a script, a style sheet or the fallback of
/// a script.
bool is_script(const xmlNode& element);

/// The next node below the root in document order. Deep nesting is harmless, as there is no recursion.
///
/// in:     enters - whether the children of `node` come next, if it is an element; else they are skipped
/// out:    nullptr after the last node
const xmlNode* next_node(const xmlNode* root, const xmlNode* node, bool enters = true);

}  // namespace metafuse::fetchers
