#include "fetchers/answers/simple_xpath.h"

#include <utility>

#include "core/text.h"
#include "fetchers/answers/html_tree.h"

namespace metafuse::fetchers {
namespace {

bool take(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

void skip_blanks(std::string_view& rest) {
  while (rest.starts_with(' ')) rest.remove_prefix(1);
}

/// A name of ASCII letters, digits, hyphens and underscores; empty if there is none.
std::string_view take_name(std::string_view& rest) {
  std::size_t size = 0;
  while (size < rest.size() &&
         (is_ascii_letter_or_digit(rest[size]) || (size > 0 && (rest[size] == '-' || rest[size] == '_'))))
    ++size;
  if (size > 0 && is_ascii_digit(rest.front())) size = 0;
  const std::string_view name = rest.substr(0, size);
  rest.remove_prefix(size);
  return name;
}

/// A text in quotation marks without escapes.
std::optional<std::string_view> take_literal(std::string_view& rest) {
  if (!rest.starts_with('\'') && !rest.starts_with('"')) return std::nullopt;
  const std::size_t end = rest.find(rest.front(), 1);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view text = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  return text;
}

std::string_view view_of(const xmlChar* text) {
  return text == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(text));
}

xmlAttr* attribute_named(const xmlNode& element, std::string_view name) {
  xmlAttr* at = element.properties;
  while (at != nullptr && view_of(at->name) != name) at = at->next;
  return at;
}

}  // namespace

bool SimpleXPath::Step::fits(const xmlNode& node) const {
  if (node.type != XML_ELEMENT_NODE || (name != "*" && view_of(node.name) != name)) return false;
  if (attribute.empty()) return true;
  const xmlAttr* const found = attribute_named(node, attribute);
  if (found == nullptr) return false;
  const xmlNode* const text = found->children;
  const bool is_one_text = text != nullptr && text->next == nullptr && text->type == XML_TEXT_NODE;
  const std::string copied =
      text == nullptr || is_one_text ? std::string() : attribute_of(node, attribute.c_str());
  const std::string_view own = is_one_text ? view_of(text->content) : std::string_view(copied);
  return is_contained ? contains_text(own, value) : own == value;
}

/// "[@class='x']" or "[contains(@class, 'x')]".
bool SimpleXPath::take_condition(Step& step, std::string_view& rest) {
  skip_blanks(rest);
  step.is_contained = take(rest, "contains(");
  skip_blanks(rest);
  if (!take(rest, "@")) return false;
  step.attribute = take_name(rest);
  skip_blanks(rest);
  if (step.attribute.empty() || !take(rest, step.is_contained ? "," : "=")) return false;
  skip_blanks(rest);
  const auto value = take_literal(rest);
  if (!value || (step.is_contained && value->empty())) return false;
  step.value = *value;
  skip_blanks(rest);
  if (step.is_contained && !take(rest, ")")) return false;
  skip_blanks(rest);
  return take(rest, "]");
}

bool SimpleXPath::take_steps(std::string_view& rest) {
  do {
    if (take(rest, "@")) {
      attribute_ = take_name(rest);
      return !attribute_.empty() && rest.empty();
    }
    Step step;
    step.name = take(rest, "*") ? "*" : take_name(rest);
    if (step.name.empty() || (take(rest, "[") && !take_condition(step, rest))) return false;
    steps_.push_back(std::move(step));
  } while (take(rest, "/"));
  return rest.empty();
}

std::optional<SimpleXPath> SimpleXPath::parse(std::string_view xpath) {
  SimpleXPath out;
  if (xpath == ".") return out;
  out.is_anywhere_ = take(xpath, ".//");
  out.is_absolute_ = !out.is_anywhere_ && take(xpath, "//");
  out.is_anywhere_ = out.is_anywhere_ || out.is_absolute_;
  if (!out.is_anywhere_) take(xpath, "./");
  const bool is_read = out.take_steps(xpath);
  // "//@href" has attributes of elements at any depth, and of the given one
  if (!is_read || (out.is_anywhere_ && out.steps_.empty())) return std::nullopt;
  return out;
}

/// Whether the path leads from a node to one below it, with its first step at any depth.
bool SimpleXPath::leads_to(const xmlNode* node, const xmlNode* from) const {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step, node = node->parent)
    if (node == from || !step->fits(*node)) return false;
  return true;
}

bool SimpleXPath::find_anywhere(std::vector<xmlNode*>& found, xmlNode* from,
                                unsigned long& steps_left) const {
  for (const xmlNode* node = from->children; node != nullptr; node = next_node(from, node)) {
    if (steps_left-- == 0) return false;
    if (leads_to(node, from)) found.push_back(const_cast<xmlNode*>(node));
  }
  return true;
}

/// Replaces the nodes, which are equally deep, by those that the path leads to.
bool SimpleXPath::find_below(std::vector<xmlNode*>& found, unsigned long& steps_left) const {
  for (const Step& step : steps_) {
    std::vector<xmlNode*> next;
    for (const xmlNode* parent : found)
      for (xmlNode* child = parent->children; child != nullptr; child = child->next) {
        if (steps_left-- == 0) return false;
        if (step.fits(*child)) next.push_back(child);
      }
    found = std::move(next);
  }
  return true;
}

std::optional<std::vector<xmlNode*>> SimpleXPath::nodes(xmlNode* from, unsigned long& steps_left) const {
  std::vector<xmlNode*> found;
  if (is_absolute_) from = reinterpret_cast<xmlNode*>(from->doc);
  if (steps_.empty() && attribute_.empty()) return std::vector{from};
  if (!is_absolute_ && from->type != XML_ELEMENT_NODE) return found;
  if (!is_anywhere_) found.push_back(from);
  const bool is_done = is_anywhere_ ? find_anywhere(found, from, steps_left) : find_below(found, steps_left);
  if (!is_done) {
    steps_left = 0;
    return std::nullopt;
  }
  if (attribute_.empty()) return found;
  std::vector<xmlNode*> attributes;
  for (const xmlNode* element : found)
    if (xmlAttr* attribute = attribute_named(*element, attribute_))
      attributes.push_back(reinterpret_cast<xmlNode*>(attribute));
  return attributes;
}

}  // namespace metafuse::fetchers
