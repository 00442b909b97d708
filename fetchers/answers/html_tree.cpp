#include "fetchers/answers/html_tree.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <libxml/SAX2.h>

#include "core/keyed_hash.h"
#include "core/text.h"
#include "fetchers/answers/answer_text.h"

namespace metafuse::fetchers {
namespace {

/// The value that follows `name` in a page's head, in lower case; empty if it does not occur.
std::string value_after(std::string_view name, std::string_view head) {
  const std::size_t at = head.find(name);
  if (at == std::string_view::npos) return {};
  std::string_view value = head.substr(at + name.size());
  if (value.starts_with('"') || value.starts_with('\'')) value.remove_prefix(1);
  return std::string(value.substr(0, std::min<std::size_t>(value.find_first_of("\"'/>; \t\r\n"), 40)));
}

std::string charset_of_page(std::string_view body, std::string_view content_type) {
  if (std::string charset = charset_of(content_type); !charset.empty()) return charset;
  const std::string declared = declared_charset(body);
  return declared.empty() ? "windows-1252" : declared;
}

// libxml2 compares each attribute of an element with all before it, so their number is limited here.
constexpr std::size_t kMostAttributes = 300;
constexpr std::size_t kMaxTagBytes = std::size_t{64} << 10;

// A tag with its text takes some 400 bytes in libxml2's tree. Pages have one tag or attribute per 20 to 100
// bytes, so a page ends where it has had more than one per 20 bytes of its whole.
constexpr std::size_t kBytesPerMark = 20;
constexpr std::size_t kMarksOfAnyPage = 20'000;

// At each end tag libxml2 looks through the open elements, and readers of a tree may descend once for each.
constexpr int kMostOpenElements = 1000;

/// Reads a page's text only as far as tags are concerned: where each begins and ends, and its attributes. An
/// end tag without an element to end counts as a tag, others with the one that begins theirs.
class TagScanner {
 public:
  explicit TagScanner(std::string_view text)
      : text_(text), most_marks_(std::max(kMarksOfAnyPage, text.size() / kBytesPerMark)) {}

  /// The text without what tags have beyond the limits; nothing if all tags keep them.
  std::optional<std::string> cut() {
    std::string out;
    std::size_t copied = 0;
    while (const auto excess = next_excess()) {
      out += text_.substr(copied, excess->first - copied);
      copied = excess->second;
    }
    if (copied == 0) return std::nullopt;
    return out.append(text_.substr(copied));
  }

  /// Whether the text was cut because it has too many tags.
  bool has_ended_early() const { return has_ended_early_; }

 private:
  using Excess = std::pair<std::size_t, std::size_t>;  ///< from its first byte to behind its last

  char at(std::size_t place) const { return place < text_.size() ? text_[place] : '\0'; }
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

  std::optional<Excess> next_excess() {
    while ((at_ = text_.find('<', at_)) != std::string_view::npos) {
      has_ended_early_ = marks_ >= most_marks_;
      if (has_ended_early_) return Excess{std::exchange(at_, text_.size()), text_.size()};
      if (text_.substr(at_).starts_with("<!--")) {
        at_ += 4;
        ++marks_;
        skip_comment();
      } else if (is_ascii_letter(at(at_ + 1))) {
        if (const auto excess = skip_tag()) return excess;
      } else if (at(at_ + 1) == '/' && is_ascii_letter(at(at_ + 2))) {
        skip_end_tag();
      } else {
        ++at_;
      }
    }
    return std::nullopt;
  }

  void skip_comment() {
    while (at_ < text_.size() && !text_.substr(at_).starts_with("-->") &&
           !text_.substr(at_).starts_with("--!>"))
      at_ = std::min(text_.find("--", at_ + 1), text_.size());
  }

  std::string take_name() {
    const std::size_t name = at_;
    while (is_ascii_letter_or_digit(at(at_))) ++at_;
    return ascii_lower(text_.substr(name, std::min<std::size_t>(at_ - name, 16)));
  }

  void skip_end_tag() {
    at_ += 2;
    std::size_t& begun = begun_[take_name()];
    if (begun == 0)
      ++marks_;
    else
      --begun;
  }

  std::optional<Excess> skip_tag() {
    const std::size_t begin = at_++;
    const std::string tag = take_name();
    ++begun_[tag];
    std::size_t attributes = 0;
    std::optional<std::size_t> cut_from;
    bool follows_separator = false;
    while (at_ < text_.size() && text_[at_] != '>') {
      const char c = text_[at_];
      if (!cut_from && (attributes > kMostAttributes || at_ - begin > kMaxTagBytes)) cut_from = at_;
      if (c == '=') {
        skip_value();
        follows_separator = true;
        continue;
      }
      const bool is_separator = is_blank(c) || c == '/';
      attributes += follows_separator && !is_separator ? 1 : 0;
      follows_separator = is_separator;
      ++at_;
    }
    const std::size_t end = at_;
    marks_ += 1 + std::min(attributes, kMostAttributes);
    if (tag == "script" || tag == "style") skip_raw_text(tag);
    if (!cut_from) return std::nullopt;
    return Excess{*cut_from, end};
  }

  void skip_value() {
    ++at_;
    while (is_blank(at(at_))) ++at_;
    const char quote = at(at_);
    if (quote != '"' && quote != '\'') return;
    at_ = std::min(text_.find(quote, at_ + 1), text_.size());
    at_ = std::min(at_ + 1, text_.size());
  }

  /// What a script contains ends with "</script".
  void skip_raw_text(std::string_view tag) {
    while ((at_ = std::min(text_.find("</", at_), text_.size())) < text_.size()) {
      if (ascii_lower(text_.substr(at_ + 2, tag.size())) == tag) return;
      at_ += 2;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t most_marks_;
  std::size_t marks_ = 0;       ///< tags, attributes and comments so far
  TextMap<std::size_t> begun_;  ///< how often each element has begun without an end tag since
  bool has_ended_early_ = false;
};

void start_element(void* data, const xmlChar* name, const xmlChar** attributes) {
  auto* const parser = static_cast<htmlParserCtxt*>(data);
  if (parser->nameNr > kMostOpenElements) return xmlStopParser(parser);
  xmlSAX2StartElement(data, name, attributes);
}

struct ParserFree {
  void operator()(htmlParserCtxt* parser) const { htmlFreeParserCtxt(parser); }
};

constexpr const char* kTooDense = "a tag per 20 bytes";
constexpr const char* kTooDeep = "1000 nested elements";

}  // namespace

std::string declared_charset(std::string_view body) {
  constexpr std::size_t kHeadBytes = 4096;
  const std::string head = ascii_lower(body.substr(0, kHeadBytes));
  if (std::string charset = value_after("charset=", head); !charset.empty()) return charset;
  if (!head.starts_with("<?xml")) return {};
  return value_after("encoding=", std::string_view(head).substr(0, head.find("?>")));
}

HtmlDocument parse_html(std::string_view body, std::string_view content_type) {
  std::string text;
  // always pass UTF-8 to libxml2: its own conversion prints messages about invalid bytes
  if (auto utf8 = as_valid_utf8(body, charset_of_page(body, content_type))) body = text = std::move(*utf8);
  std::string shortened;
  TagScanner scanner(body);
  if (auto cut = scanner.cut()) body = shortened = std::move(*cut);
  const std::unique_ptr<htmlParserCtxt, ParserFree> parser(htmlNewParserCtxt());
  if (!parser) return nullptr;
  parser->sax->startElement = start_element;
  parser->options |= XML_PARSE_HUGE;  // otherwise the page would end at 256 open elements
  const int options =
      HTML_PARSE_NONET | HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_COMPACT;
  HtmlDocument page(htmlCtxtReadMemory(parser.get(), body.data(), static_cast<int>(body.size()), nullptr,
                                       "utf-8", options));
  if (page && parser->errNo == XML_ERR_USER_STOP)
    page->_private = const_cast<char*>(kTooDeep);
  else if (page && scanner.has_ended_early())
    page->_private = const_cast<char*>(kTooDense);
  return page;
}

std::string_view end_of(const xmlDoc& page) {
  return page._private == nullptr ? std::string_view() : static_cast<const char*>(page._private);
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

std::string text_below(const xmlNode& root, const TextBelow& taken, std::size_t& steps_left) {
  std::string out;
  for (const xmlNode* node = &root; node != nullptr && out.size() < taken.most && steps_left > 0;
       node = next_node(&root, node, !is_script(*node))) {
    --steps_left;
    if ((node->type != XML_TEXT_NODE && node->type != XML_CDATA_SECTION_NODE) || node->content == nullptr)
      continue;
    out += reinterpret_cast<const char*>(node->content);
    out += taken.separator;
  }
  return out;
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
