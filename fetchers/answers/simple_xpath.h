#pragma once

// The XPath expressions that definitions mostly consist of, evaluated by a walk over the tree. libxml2 needs
// half a microsecond for each evaluation, and a result has four or five.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <libxml/tree.h>

namespace metafuse::fetchers {

/// A path of elements, each with at most one condition on an attribute, which may end with an attribute:
/// ".//h3[contains(@class, 'title')]/a/@href", "./td/p", "//li[@class='result']", ".".
class SimpleXPath {
 public:
  /// nullopt for any other expression, which is left to libxml2.
  static std::optional<SimpleXPath> parse(std::string_view xpath);

  /// What libxml2 finds with the same expression in an HTML document, in document order.
  ///
  /// in:     from - a node of the document; steps_left - how many more nodes may be looked at
  /// out:    elements, or attributes as nodes; nullopt if no steps are left
  /// cost:   O(nodes below `from`) for "//", else O(children of the nodes on the path)
  std::optional<std::vector<xmlNode*>> nodes(xmlNode* from, unsigned long& steps_left) const;

 private:
  struct Step {
    std::string name;       ///< "*": any element
    std::string attribute;  ///< of the condition; empty: none
    std::string value;
    bool is_contained = false;  ///< the attribute's value contains `value`, else it equals it

    bool fits(const xmlNode& node) const;
  };

  bool take_steps(std::string_view& rest);
  static bool take_condition(Step& step, std::string_view& rest);
  bool leads_to(const xmlNode* node, const xmlNode* from) const;
  bool find_anywhere(std::vector<xmlNode*>& found, xmlNode* from, unsigned long& steps_left) const;
  bool find_below(std::vector<xmlNode*>& found, unsigned long& steps_left) const;

  bool is_absolute_ = false;  ///< from the document, not the given element
  bool is_anywhere_ = false;  ///< the first step is at any depth
  std::vector<Step> steps_;
  std::string attribute_;  ///< of the found elements; empty: the elements themselves
};

}  // namespace metafuse::fetchers
