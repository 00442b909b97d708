// Guesses where the results are in an HTML page. Candidates are elements of one kind that each hold a link
// with a text. The kind whose elements hold the most text is chosen.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/guess.h"
#include "fetchers/answers/html_tree.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostElements = 50'000;
constexpr std::size_t kFewest = 3;
constexpr std::size_t kMaxLooked = 4000;  ///< bytes of an element's text

/// The elements below a node in document order.
std::vector<const xmlNode*> elements_under(const xmlNode* root) {
  std::vector<const xmlNode*> out;
  for (const xmlNode* node = root; node != nullptr && out.size() < kMostElements;
       node = next_node(root, node))
    if (node->type == XML_ELEMENT_NODE && node != root) out.push_back(node);
  return out;
}

std::string words_under(const xmlNode* root) {
  std::size_t steps_left = kMostElements * 2;
  return clean_text(text_below(*root, {kMaxLooked, " "}, steps_left), false, kMaxLooked);
}

/// The kind of an element: its name, with those words of its class that contain no digits, such
/// as "div.result".
std::string kind_of(const xmlNode* node) {
  std::string words = attribute_of(*node, "class");
  std::string out(tag_name(*node));
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const std::string word = words.substr(at, end - at);
    if (!word.empty() && word.size() < 60 && word.find_first_of("0123456789\"'") == std::string::npos) {
      out += '.' + word;
      break;
    }
    at = end + 1;
  }
  return out;
}

/// Whether an element belongs to the page's frame: navigation, header, footer or sidebar.
bool is_navigation(const xmlNode* node) {
  for (; node != nullptr && node->type == XML_ELEMENT_NODE; node = node->parent) {
    const std::string_view name = tag_name(*node);
    if (name == "nav" || name == "footer" || name == "header" || name == "aside") return true;
  }
  return false;
}

/// The kind of an element in a list. For a table row without a class, the kind of its table is more specific.
std::string kind_in_list(const xmlNode* node) {
  const std::string kind = kind_of(node);
  if (tag_name(*node) != "tr" || kind.find('.') != std::string::npos) return kind;
  for (const xmlNode* above = node->parent; above != nullptr; above = above->parent)
    if (tag_name(*above) == "table") return kind_of(above) + ">" + kind;
  return kind;
}

/// The kind of an element that holds text. A cell without a class is identified by its position in the row.
std::string kind_of_text(const xmlNode* node) {
  const std::string kind = kind_of(node);
  if (kind != "td") return kind;
  int place = 1;
  for (const xmlNode* before = node->prev; before != nullptr; before = before->prev)
    place += tag_name(*before) == "td" ? 1 : 0;
  return "td[" + std::to_string(place) + "]";
}

/// Turns `div.result` into `div[contains(concat(" ", @class, " "), " result ")]`.
std::string xpath_of_kind(const std::string& kind) {
  if (const std::size_t inner = kind.find('>'); inner != std::string::npos)
    return xpath_of_kind(kind.substr(0, inner)) + "//" + xpath_of_kind(kind.substr(inner + 1));
  const std::size_t dot = kind.find('.');
  if (dot == std::string::npos) return kind;
  return kind.substr(0, dot) + "[contains(concat(\" \", normalize-space(@class), \" \"), \" " +
         kind.substr(dot + 1) + " \")]";
}

bool is_link(const xmlNode* node) {
  if (tag_name(*node) != "a") return false;
  const std::string href = attribute_of(*node, "href");
  return !href.empty() && href[0] != '#' && !href.starts_with("javascript:");
}

/// One element read as a result.
struct Candidate {
  const xmlNode* link = nullptr;     ///< its text is the title
  const xmlNode* heading = nullptr;  ///< inside or around the link
  const xmlNode* text = nullptr;     ///< holds the longest text other than the title
  std::string title;
  std::size_t text_size = 0;
};

bool is_inside(const xmlNode* node, const xmlNode* ancestor) {
  for (; node != nullptr; node = node->parent)
    if (node == ancestor) return true;
  return false;
}

Candidate look_at(const xmlNode* root) {
  Candidate found;
  const auto elements = elements_under(root);
  for (const xmlNode* node : elements)
    if (is_heading(*node) && found.heading == nullptr) found.heading = node;
  const xmlNode* first = is_link(root) ? root : nullptr;
  for (const xmlNode* node : elements) {
    if (!is_link(node)) continue;
    const bool is_of_heading =
        found.heading != nullptr && (is_inside(node, found.heading) || is_inside(found.heading, node));
    if (first == nullptr && words_under(node).size() > 3) first = node;
    if (is_of_heading) {
      found.link = node;
      break;
    }
  }
  if (found.link == nullptr) {
    found.link = first;
    if (first != root) found.heading = nullptr;
  }
  if (found.link == nullptr) return found;
  const xmlNode* named = found.heading != nullptr ? found.heading : found.link;
  found.title = words_under(named);
  for (const xmlNode* node : elements) {
    if (is_script(*node) || is_inside(node, named) || is_inside(named, node) || is_inside(found.link, node))
      continue;
    const std::string text = words_under(node);
    // of nested elements with the same text take the innermost, which comes last
    if (text.size() >= found.text_size && text.size() > 20 && text.find(' ') != std::string::npos &&
        (text.size() > found.text_size || found.text == nullptr || is_inside(node, found.text))) {
      found.text = node;
      found.text_size = text.size();
    }
  }
  return found;
}

/// The most frequent value.
std::string usual(const std::vector<std::string>& values) {
  std::map<std::string, int> counts;
  std::string best;
  for (const std::string& value : values)
    if (++counts[value] > counts[best] && !value.empty()) best = value;
  return best;
}

struct PageGuess {
  AnswerRules rules;
  double worth = 0;
};

PageGuess guess_of_kind(const std::string& kind, const std::vector<const xmlNode*>& elements) {
  PageGuess guess;
  std::vector<std::string> titles, texts;
  std::set<std::string> addresses;
  std::size_t good = 0, headings = 0, letters = 0, root_links = 0;
  for (const xmlNode* node : elements) {
    const Candidate found = look_at(node);
    if (found.link == nullptr || found.title.size() < 4 || found.title.size() > 400) continue;
    ++good;
    headings += found.heading != nullptr;
    root_links += found.link == node;
    addresses.insert(attribute_of(*found.link, "href"));
    letters += std::min<std::size_t>(found.text_size, 400);
    titles.push_back(kind_of(found.heading != nullptr ? found.heading : found.link));
    texts.push_back(found.text == nullptr ? "" : kind_of_text(found.text));
  }
  const double share = static_cast<double>(good) / static_cast<double>(elements.size());
  if (good < kFewest || share < 0.6 || addresses.size() * 10 < good * 7) return guess;
  const auto count = static_cast<double>(good);
  guess.worth = std::log2(1 + count) + 3 * static_cast<double>(headings) / count +
                std::min(4.0, static_cast<double>(letters) / count / 50) + share;
  const std::string title = usual(titles), text = usual(texts);
  const std::string title_xpath =
      root_links * 2 > good && headings * 2 < good ? "." : ".//" + xpath_of_kind(title);
  AnswerRules& rules = guess.rules;
  rules.format = AnswerRules::Format::html;
  rules.results = "//" + xpath_of_kind(kind);
  rules.title = title_xpath;
  if (root_links * 2 > good)
    rules.url = "./@href";
  else if (title_xpath.starts_with(".//h"))
    rules.url = "(" + title_xpath + "//a | .//a[" + title_xpath + "])/@href";
  else
    rules.url = title_xpath + "/@href";
  if (!text.empty()) rules.content = ".//" + xpath_of_kind(text);
  return guess;
}

}  // namespace

Result<AnswerRules> guess_in_page(std::string_view body, const AnswerContext& context) {
  const HtmlDocument document = parse_html(body, context.content_type);
  const xmlNode* root = document ? xmlDocGetRootElement(document.get()) : nullptr;
  if (root == nullptr) return fail(Code::bad_data, "the answer is not HTML");
  std::map<std::string, std::vector<const xmlNode*>> kinds;
  for (const xmlNode* node : elements_under(root)) {
    const std::string_view name = tag_name(*node);
    if (name != "div" && name != "li" && name != "article" && name != "tr" && name != "a" &&
        name != "section" && name != "dl")
      continue;
    if (is_navigation(node)) continue;
    std::vector<const xmlNode*>& kind = kinds[kind_in_list(node)];
    // of nested elements keep the outermost
    if (kind.size() < 200 && (kind.empty() || !is_inside(node, kind.back()))) kind.push_back(node);
  }
  PageGuess best;
  for (const auto& [name, kind] : kinds) {
    const bool is_named = name.find_first_of(".>") != std::string::npos || name == "article";
    if (kind.size() < kFewest || !is_named) continue;
    PageGuess guess = guess_of_kind(name, kind);
    if (guess.worth > best.worth) best = std::move(guess);
  }
  if (best.worth == 0) return fail(Code::bad_data, "nothing in the page looks like a list of results");
  return best.rules;
}

}  // namespace metafuse::fetchers
