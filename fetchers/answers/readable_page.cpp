#include "fetchers/answers/readable_page.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/keyed_hash.h"
#include "core/text.h"
#include "core/url.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/html_tree.h"
#include "fetchers/answers/page_style.h"

namespace metafuse::fetchers {
namespace {

// A page has at most 1 MiB, but absolute links are longer.
constexpr std::size_t kMaxReadableBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxTitle = 300;
constexpr std::size_t kMaxLink = 2000;
constexpr std::size_t kMostLinks = 5000;  // resolving one takes time that grows with the page's base
constexpr std::size_t kLeastMain = 200;   // bytes of text below which <main> is regarded as an empty shell

template <std::size_t N>
bool is_page_part(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// elements whose content is not shown as text
constexpr std::array<std::string_view, 13> kUnshown = {"script", "style",  "noscript", "template", "svg",
                                                       "iframe", "canvas", "dialog",   "object",   "audio",
                                                       "video",  "map",    "math"};
// elements beside the text that a person would read
constexpr std::array<std::string_view, 10> kBesideText = {"head",   "nav",   "aside", "footer",   "button",
                                                          "select", "input", "menu",  "textarea", "option"};
constexpr std::array<std::string_view, 15> kBlocks = {"p",      "div",  "section", "article", "main",
                                                      "header", "ul",   "ol",      "dl",      "table",
                                                      "figure", "form", "address", "details", "fieldset"};

bool has_attribute(const xmlNode& node, const char* name) {
  return xmlHasProp(const_cast<xmlNode*>(&node), reinterpret_cast<const xmlChar*>(name)) != nullptr;
}

/// Decides which elements are invisible to viewers of a page. Hidden text is not what people would read, and
/// it is the usual place for text that tries to instruct machines.
class Visibility {
 public:
  explicit Visibility(const xmlNode* root) {
    for (const xmlNode* node = root; node != nullptr; node = next_node(root, node))
      if (tag_name(*node) == "style")
        add_hidden_classes(owned_text(xmlNodeGetContent(const_cast<xmlNode*>(node))), hidden_);
  }

  /// Whether viewers do not see an element.
  bool is_hidden(const xmlNode& node) const {
    return is_page_part(kUnshown, tag_name(node)) || is_unseen(node);
  }

  /// Whether an element is hidden, or no part of the page's text.
  bool is_unread(const xmlNode& node) const {
    const std::string_view name = tag_name(node);
    if (is_page_part(kBesideText, name) || is_hidden(node)) return true;
    return name == "header" && node.parent != nullptr && tag_name(*node.parent) == "body";
  }

 private:
  bool is_unseen(const xmlNode& node) const {
    if (node.properties == nullptr) return false;
    if (has_attribute(node, "hidden") || attribute_of(node, "aria-hidden") == "true") return true;
    if (has_attribute(node, "style") && hides(attribute_of(node, "style"))) return true;
    return !hidden_.empty() && has_attribute(node, "class") && has_hidden_class(attribute_of(node, "class"));
  }

  bool has_hidden_class(std::string_view classes) const {
    while (!classes.empty()) {
      const std::size_t end = std::min(classes.find_first_of(" \t\r\n\f"), classes.size());
      if (hidden_.contains(ascii_lower(classes.substr(0, end)))) return true;
      classes.remove_prefix(std::min(end + 1, classes.size()));
    }
    return false;
  }

  TextSet hidden_;
};

/// The first element for which `is_it` holds; nullptr if there is none.
template <class Is>
const xmlNode* find_element(const xmlNode* root, const Is& is_it) {
  for (const xmlNode* node = root; node != nullptr; node = next_node(root, node))
    if (node->type == XML_ELEMENT_NODE && is_it(*node)) return node;
  return nullptr;
}

const xmlNode* find_named(const xmlNode* root, std::string_view name) {
  return find_element(root, [&](const xmlNode& node) { return tag_name(node) == name; });
}

/// The first element below the root for which `is_it` holds, that is not inside of one to leave out and not
/// such a one itself; nullptr if there is none.
template <class IsLeftOut, class Is>
const xmlNode* find_within(const xmlNode& root, const IsLeftOut& is_left_out, const Is& is_it) {
  bool enters = true;
  for (const xmlNode* node = next_node(&root, &root); node != nullptr;
       node = next_node(&root, node, enters)) {
    enters = node->type != XML_ELEMENT_NODE || !is_left_out(*node);
    if (node->type == XML_ELEMENT_NODE && enters && is_it(*node)) return node;
  }
  return nullptr;
}

/// Whether a table row is data. If a cell holds lists, tables, headings or code, the table only arranges the
/// page's layout.
bool is_data_row(const xmlNode& row) {
  return find_element(row.children == nullptr ? nullptr : &row, [](const xmlNode& node) {
           const std::string_view name = tag_name(node);
           return name == "table" || name == "ul" || name == "ol" || name == "pre" || name == "blockquote" ||
                  is_heading(node);
         }) == nullptr;
}

/// Writes words, line ends and marks in order, with white space as a reader expects it.
class PageWriter {
 public:
  PageWriter(PageForm form, std::string base, const Visibility& visibility, WorkEnd& end)
      : is_markdown_(form == PageForm::markdown),
        base_(std::move(base)),
        visibility_(visibility),
        end_(end) {}

  /// Descends once per level of the tree, which is limited.
  void write(const xmlNode& node) {
    if (is_full() || end_.has_come()) return;
    if (node.type == XML_TEXT_NODE || node.type == XML_CDATA_SECTION_NODE) {
      if (node.content != nullptr) words(reinterpret_cast<const char*>(node.content));
    } else if (node.type == XML_ELEMENT_NODE && !is_unread(node)) {
      write_element(node, tag_name(node));
    }
  }
  void write_children(const xmlNode& node) {
    for (const xmlNode* child = node.children; child != nullptr; child = child->next) write(*child);
  }
  std::string take() { return std::move(out_); }

 private:
  bool is_unread(const xmlNode& node) const { return visibility_.is_unread(node); }
  bool is_full() const { return out_.size() > kMaxReadableBytes; }

  void write_element(const xmlNode& node, std::string_view name) {
    if (is_heading(node))
      return in_block(node,
                      is_markdown_ ? std::string(static_cast<std::size_t>(name[1] - '0'), '#') + ' ' : "");
    if (name == "br") return line_end(1);
    if (name == "hr") return line_end(2);
    if (name == "pre") return write_code(node);
    if (name == "li") return write_item(node, "- ");
    if (is_markdown_ && name == "ol") return write_numbered(node);
    if (name == "blockquote") return write_quote(node);
    if (name == "tr") return write_row(node);
    if (name == "dt" || name == "dd" || name == "td" || name == "th" || name == "figcaption" ||
        name == "summary") {
      line_end(1);
      write_children(node);
      return line_end(1);
    }
    if (is_markdown_ && name == "a") return write_link(node);
    if (is_markdown_ && (name == "code" || name == "kbd" || name == "samp") && !is_code_)
      return marked(node, "`");
    if (is_markdown_ && (name == "strong" || name == "b")) return marked(node, "**");
    if (is_page_part(kBlocks, name)) return in_block(node, "");
    write_children(node);
  }

  void in_block(const xmlNode& node, const std::string& mark) {
    line_end(2);
    if (!mark.empty()) pending_mark_ = mark;
    write_children(node);
    pending_mark_.clear();
    line_end(2);
  }

  void write_numbered(const xmlNode& list) {
    line_end(2);
    std::size_t number = 0;
    for (const xmlNode* child = list.children; child != nullptr && !end_.has_come(); child = child->next) {
      const bool is_item = tag_name(*child) == "li";
      number += is_item ? 1 : 0;
      if (!is_item || is_full() || is_unread(*child))
        write(*child);
      else
        write_item(*child, std::to_string(std::min<std::size_t>(number, 9999)) + ". ");
    }
    pending_mark_.clear();
    line_end(2);
  }

  void write_item(const xmlNode& node, const std::string& mark) {
    line_end(1);
    if (is_markdown_) pending_mark_ = mark;
    const std::size_t indent = prefix_.size();
    if (is_markdown_ && prefix_.size() < 40) prefix_ += "  ";
    is_tight_ = true;
    write_children(node);
    prefix_.resize(indent);
    pending_mark_.clear();
    is_tight_ = false;
    line_end(1);
  }

  void write_quote(const xmlNode& node) {
    line_end(2);
    const std::size_t indent = prefix_.size();
    if (is_markdown_ && prefix_.size() < 40) prefix_ += "> ";
    write_children(node);
    prefix_.resize(indent);
    line_end(2);
  }

  void write_row(const xmlNode& node) {
    line_end(1);
    if (!is_data_row(node)) {
      write_children(node);
      return line_end(1);
    }
    bool is_first = true;
    is_row_ = true;
    for (const xmlNode* cell = node.children; cell != nullptr; cell = cell->next) {
      const std::string_view name = tag_name(*cell);
      if ((name != "td" && name != "th") || is_unread(*cell)) continue;
      if (!is_first) raw(" | ");
      is_first = false;
      write_children(*cell);
    }
    is_row_ = false;
    line_end(1);
  }

  /// The text of an element with its blanks, without what is hidden.
  std::string code_in(const xmlNode& element) const {
    std::string code;
    bool enters = true;
    for (const xmlNode* at = next_node(&element, &element); at != nullptr;
         at = next_node(&element, at, enters)) {
      enters = at->type != XML_ELEMENT_NODE || !is_unread(*at);
      const bool is_text = at->type == XML_TEXT_NODE || at->type == XML_CDATA_SECTION_NODE;
      if (is_text && at->content != nullptr) code += reinterpret_cast<const char*>(at->content);
      if (tag_name(*at) == "br") code += '\n';
    }
    return code;
  }

  void write_code(const xmlNode& node) {
    line_end(2);
    std::string code = code_in(node);
    std::erase(code, '\r');
    while (!code.empty() && code.back() == '\n') code.pop_back();
    if (code.find_first_not_of(" \n\t") == std::string::npos) return;
    if (is_markdown_) code = "```\n" + code + "\n```";
    flush();
    for (const char c : code) {
      if (is_full()) break;
      out_ += c;
      if (c == '\n') out_ += prefix_;
    }
    line_end(2);
  }

  void write_link(const xmlNode& node) {
    const std::string href = attribute_of(node, "href");
    const bool is_link = !href.empty() && href.front() != '#' && href.size() <= kMaxLink && !is_code_;
    const auto target = is_link && ++links_ <= kMostLinks ? resolved_url(href, base_) : std::nullopt;
    if (!target || target->size() > kMaxLink) return write_children(node);
    surround(node, "[", "](" + *target + ")");
  }

  void marked(const xmlNode& node, const std::string& mark) {
    is_code_ = is_code_ || mark == "`";
    surround(node, mark, mark);
    if (mark == "`") is_code_ = false;
  }

  /// Puts marks around an element's text, unless the text is empty or longer than one line.
  void surround(const xmlNode& node, const std::string& before, const std::string& after) {
    flush();
    const std::size_t begin = out_.size();
    const bool had_blank = has_blank_;
    if (had_blank && can_take_blank()) out_ += ' ';
    has_blank_ = false;
    const std::size_t inside = out_.size();
    write_children(node);
    if (out_.size() == inside) {
      out_.resize(begin);
      has_blank_ = has_blank_ || had_blank;
      return;
    }
    if (breaks_ > 0 || out_.find('\n', inside) != std::string::npos) return;
    out_.insert(inside, before);
    out_ += after;
  }

  void line_end(int count) {
    if (is_row_) {
      has_blank_ = true;
      return;
    }
    if (is_tight_ && count > 1) count = 1;
    breaks_ = std::max(breaks_, count);
    has_blank_ = false;
  }

  bool can_take_blank() const { return !out_.empty() && out_.back() != '\n' && out_.back() != ' '; }

  /// Writes the pending line ends, indentation and mark that precede the next words.
  void flush() {
    if (breaks_ == 0 && !out_.empty() && pending_mark_.empty()) return;
    if (!out_.empty()) {
      while (out_.ends_with(' ')) out_.pop_back();
      for (int i = 0; i < std::max(breaks_, 1); ++i) out_ += '\n';
    }
    breaks_ = 0;
    has_blank_ = false;
    if (pending_mark_.empty()) {
      out_ += prefix_;
      return;
    }
    // an item's mark stands in the two columns by which its further lines are indented; a heading's mark
    // follows the indentation
    const bool is_item = pending_mark_.front() != '#';
    const std::size_t outer =
        is_item && prefix_.size() >= 2 && !prefix_.ends_with("> ") ? prefix_.size() - 2 : prefix_.size();
    out_.append(prefix_, 0, outer);
    out_ += pending_mark_;
    pending_mark_.clear();
  }

  void raw(std::string_view text) {
    flush();
    out_ += text;
    has_blank_ = false;
  }

  void words(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const auto byte = static_cast<unsigned char>(text[at]);
      const bool is_no_break_space = byte == 0xC2 && at + 1 < text.size() && text[at + 1] == '\xA0';
      if (byte <= 0x20 || byte == 0x7F || is_no_break_space) {
        has_blank_ = true;
        at += is_no_break_space ? 2 : 1;
        continue;
      }
      if (breaks_ > 0 || out_.empty() || !pending_mark_.empty()) flush();
      if (has_blank_ && can_take_blank()) out_ += ' ';
      has_blank_ = false;
      out_ += text[at++];
    }
  }

  const bool is_markdown_;
  const std::string base_;
  const Visibility& visibility_;
  WorkEnd& end_;
  std::size_t links_ = 0;
  std::string out_;
  std::string prefix_;        ///< at the beginning of each line: indentation and quote marks
  std::string pending_mark_;  ///< the mark of a heading or item that precedes the next words
  int breaks_ = 0;
  bool has_blank_ = false;
  bool is_code_ = false;
  bool is_tight_ = false;  ///< inside a list item, where blocks are not separated by an empty line
  bool is_row_ = false;    ///< inside a table row, which must stay on one line
};

/// The element that the page itself declares as its main content.
const xmlNode* main_part(const xmlNode& body, const Visibility& visibility) {
  const auto find = [&](const auto& is_it) {
    return find_within(
        body, [&](const xmlNode& node) { return visibility.is_unread(node); }, is_it);
  };
  const xmlNode* main = find(
      [](const xmlNode& node) { return tag_name(node) == "main" || attribute_of(node, "role") == "main"; });
  if (main != nullptr) return main;
  const xmlNode* article = find([](const xmlNode& node) { return tag_name(node) == "article"; });
  if (article == nullptr) return nullptr;
  const xmlNode* second =
      find([&](const xmlNode& node) { return &node != article && tag_name(node) == "article"; });
  return second == nullptr ? article : nullptr;
}

std::string text_of(const xmlNode& node, PageWriter writer) {
  writer.write_children(node);
  std::string text = writer.take();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

/// The text of the first element for which `is_it` holds, and which is shown and has any; in one line.
template <class Is>
std::string line_of(const xmlNode& root, const Visibility& visibility, WorkEnd& end, const Is& is_it) {
  std::string line;
  const auto is_empty = [&](const xmlNode& node) {
    PageWriter writer(PageForm::text, "", visibility, end);
    writer.write_children(node);
    line = writer.take();
    return line.empty();
  };
  find_within(
      root, [&](const xmlNode& one) { return visibility.is_hidden(one) || (is_it(one) && is_empty(one)); },
      is_it);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return std::string(truncate_utf8(line, kMaxTitle));
}

}  // namespace

ReadablePage readable_page(std::string_view body, std::string_view content_type, const std::string& url,
                           PageForm form, WorkEnd end) {
  const HtmlDocument document = parse_html(body, content_type);
  return document ? readable_page(*document, url, form, end) : ReadablePage();
}

ReadablePage readable_page(const xmlDoc& document, const std::string& url, PageForm form, WorkEnd end) {
  ReadablePage out;
  const xmlNode* root = xmlDocGetRootElement(&document);
  if (root == nullptr) return out;
  std::string base = url;
  if (const xmlNode* node = find_named(root, "base"); node != nullptr) {
    const auto own = resolved_url(attribute_of(*node, "href"), url);
    if (own && own->size() <= kMaxLink) base = *own;
  }
  const Visibility visibility(root);
  const auto writer = [&] { return PageWriter(form, base, visibility, end); };
  const xmlNode* found = find_named(root, "body");
  const xmlNode& page = found == nullptr ? *root : *found;
  const auto line_named = [&](std::string_view name, const xmlNode& within) {
    return line_of(within, visibility, end, [&](const xmlNode& one) { return tag_name(one) == name; });
  };
  out.title = line_named("title", *root);
  if (out.title.empty()) out.title = line_named("h1", page);
  out.heading = line_of(page, visibility, end, is_heading);
  if (const xmlNode* part = main_part(page, visibility); part != nullptr) out.text = text_of(*part, writer());
  if (out.text.size() < kLeastMain) {
    std::string whole = text_of(page, writer());
    if (whole.size() > out.text.size()) out.text = std::move(whole);
  }
  return out;
}

std::string readable_text(std::string_view body, std::string_view content_type) {
  std::string out = as_valid_utf8(body, charset_of(content_type)).value_or(std::string(body));
  std::erase_if(out, [](char c) { return (c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == 0x7F; });
  return out;
}

}  // namespace metafuse::fetchers
