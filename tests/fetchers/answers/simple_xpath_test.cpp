#include "fetchers/answers/simple_xpath.h"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <libxml/xpath.h>

#include "core/random.h"
#include "fetchers/answers/html_tree.h"

namespace metafuse::fetchers {
namespace {

/// What libxml2 finds.
std::vector<xmlNode*> slow_nodes(const std::string& xpath, xmlNode* from) {
  const std::unique_ptr<xmlXPathContext, void (*)(xmlXPathContext*)> context(xmlXPathNewContext(from->doc),
                                                                             xmlXPathFreeContext);
  context->node = from;
  const std::unique_ptr<xmlXPathObject, void (*)(xmlXPathObject*)> value(
      xmlXPathEval(reinterpret_cast<const xmlChar*>(xpath.c_str()), context.get()), xmlXPathFreeObject);
  REQUIRE(value != nullptr);
  if (value->nodesetval == nullptr) return {};
  return {value->nodesetval->nodeTab, value->nodesetval->nodeTab + value->nodesetval->nodeNr};
}

/// A page of nested elements that share few names and attributes.
std::string random_page(Random& random) {
  const std::vector<std::string> names = {"div", "span", "h3", "a", "b"};
  const std::vector<std::string> attributes = {"",
                                               " class='title'",
                                               " class='a title b'",
                                               " class=''",
                                               " href='/x?a=1&amp;b=2'",
                                               " class='sub' href='y'",
                                               " data-src='z' hidden"};
  std::string out = "<html><body>";
  std::vector<std::string> open;
  for (int i = 0; i < 80; ++i) {
    const auto kind = random.below(4);
    if (kind == 0) out += "text ";
    if (kind == 1 && !open.empty()) {
      out += "</" + open.back() + ">";
      open.pop_back();
    }
    if (kind < 2) continue;
    open.push_back(names[random.below(names.size())]);
    out += "<" + open.back() + attributes[random.below(attributes.size())] + ">";
  }
  return out;
}

constexpr const char* kSimple[] = {".",
                                   "./@href",
                                   "@class",
                                   "a",
                                   "./a",
                                   "./div/span/@class",
                                   "./*/a/@href",
                                   ".//a/@href",
                                   ".//h3/a",
                                   ".//div/div/div",
                                   ".//*/b",
                                   ".//*[@class='sub']",
                                   ".//a[@class=\"title\"]/b",
                                   ".//a[contains(@class, 'title')]/@href",
                                   ".//a[@href='/x?a=1&b=2']",
                                   ".//span[@class='']",
                                   "./div[ contains( @class ,'t') ]/span",
                                   "//div[@class='title']",
                                   "//body/div",
                                   "//html/body",
                                   "//b/@data-src",
                                   ".//b[contains(@hidden, 'h')]"};

}  // namespace

TEST_CASE("Simple XPath expressions find what libxml2 finds", "[html]") {
  Random random(9);
  for (int page = 0; page < 60; ++page) {
    const std::string text = random_page(random);
    const HtmlDocument document = parse_html(text, "");
    std::vector<xmlNode*> from = slow_nodes("//* | //@href | //text()", xmlDocGetRootElement(document.get()));
    for (const char* xpath : kSimple) {
      const auto simple = SimpleXPath::parse(xpath);
      REQUIRE(simple.has_value());
      for (xmlNode* node : from) {
        INFO(text << '\n' << xpath << " from " << reinterpret_cast<const char*>(node->name));
        unsigned long steps = 1000;
        REQUIRE(simple->nodes(node, steps) == slow_nodes(xpath, node));
      }
    }
  }
}

TEST_CASE("Expressions that are not simple are left to libxml2", "[html]") {
  for (const char* xpath : {"",
                            "/",
                            "/html",
                            "..",
                            "../a",
                            "./a[1]",
                            "(./a)[1]",
                            ".//a//b",
                            "./a | ./b",
                            "a::b",
                            "./text()",
                            "@*",
                            ".//a[@class='x'][@href='y']",
                            ".//a[@class='x' or @class='y']",
                            ".//a[not(@class)]",
                            ".//a[@class]",
                            ".//a[contains(@class, '')]",
                            ".//a[contains(@class, 'x')",
                            "./a/",
                            ".//",
                            "//@href",
                            ".//@href",
                            "./a /b",
                            "svg:a",
                            "./following-sibling::tr",
                            "string(./a)",
                            ".//a[@class=x]",
                            "1",
                            "./@href/a"}) {
    INFO(xpath);
    CHECK_FALSE(SimpleXPath::parse(xpath).has_value());
  }
}

TEST_CASE("A simple XPath expression looks at no more nodes than it may", "[html][limits]") {
  const HtmlDocument document = parse_html("<body><a></a><a></a><a></a></body>", "");
  xmlNode* const root = xmlDocGetRootElement(document.get());
  unsigned long steps = 6;
  CHECK(SimpleXPath::parse(".//a")->nodes(root, steps)->size() == 3);
  CHECK(steps == 2);
  CHECK_FALSE(SimpleXPath::parse(".//a")->nodes(root, steps).has_value());
  CHECK_FALSE(SimpleXPath::parse("./body")->nodes(root, steps).has_value());
}

}  // namespace metafuse::fetchers
