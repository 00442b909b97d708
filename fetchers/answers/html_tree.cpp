#include "fetchers/answers/html_tree.h"

#include <algorithm>

#include "core/text.h"
#include "fetchers/answers/answer_text.h"

namespace metafuse::fetchers {
namespace {

std::string charset_of_page(std::string_view body, std::string_view content_type) {
  if (std::string charset = charset_of(content_type); !charset.empty()) return charset;
  const std::string head = ascii_lower(body.substr(0, 1024));
  const std::size_t at = head.find("charset=");
  if (at == std::string::npos) return "windows-1252";
  std::string_view value = std::string_view(head).substr(at + std::string_view("charset=").size());
  if (value.starts_with('"') || value.starts_with('\'')) value.remove_prefix(1);
  return std::string(value.substr(0, std::min<std::size_t>(value.find_first_of("\"'/>; \t\r\n"), 40)));
}

}  // namespace

HtmlDocument parse_html(std::string_view body, std::string_view content_type) {
  std::string text;
  // always pass UTF-8 to libxml2: its own conversion prints messages about invalid bytes
  if (first_invalid_utf8(body) != std::string_view::npos)
    body = text = as_utf8(body, charset_of_page(body, content_type)).value_or(to_valid_utf8(body));
  const int options =
      HTML_PARSE_NONET | HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_COMPACT;
  return HtmlDocument(htmlReadMemory(body.data(), static_cast<int>(body.size()), nullptr, "utf-8", options));
}

std::string owned_text(xmlChar* text) {
  if (text == nullptr) return {};
  std::string out(reinterpret_cast<const char*>(text));
  xmlFree(text);
  return out;
}

std::string_view tag_name(const xmlNode& node) {
  return node.type == XML_ELEMENT_NODE && node.name != nullptr ? reinterpret_cast<const char*>(node.name)
                                                               : std::string_view();
}

std::string attribute_of(const xmlNode& node, const char* name) {
  return owned_text(xmlGetProp(&node, reinterpret_cast<const xmlChar*>(name)));
}

bool is_heading(const xmlNode& node) {
  const std::string_view name = tag_name(node);
  return name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6';
}

bool is_script(const xmlNode& element) {
  const std::string_view name = tag_name(element);
  return name == "script" || name == "style" || name == "noscript";
}

const xmlNode* next_node(const xmlNode* root, const xmlNode* node, bool enters) {
  if (enters && node->type == XML_ELEMENT_NODE && node->children != nullptr) return node->children;
  while (node != root && node->next == nullptr) node = node->parent;
  return node == root ? nullptr : node->next;
}

}  // namespace metafuse::fetchers
