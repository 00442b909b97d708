#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>

#include "core/text.h"
#include "core/url.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/hit_builder.h"
#include "fetchers/answers/html_tree.h"
#include "fetchers/answers/simple_xpath.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxHtmlHits = 1000;
constexpr unsigned long kMaxXPathSteps = 2'000'000;
constexpr std::size_t kMaxTextSteps = 5'000'000;
constexpr std::size_t kMaxTextBytes = 20'000;

struct XmlFree {
  void operator()(xmlXPathContext* context) const { xmlXPathFreeContext(context); }
  void operator()(xmlXPathObject* object) const { xmlXPathFreeObject(object); }
  void operator()(xmlXPathCompExpr* expression) const { xmlXPathFreeCompExpr(expression); }
};
using XPathContext = std::unique_ptr<xmlXPathContext, XmlFree>;
using XPathValue = std::unique_ptr<xmlXPathObject, XmlFree>;
using XPathExpression = std::unique_ptr<xmlXPathCompExpr, XmlFree>;

const xmlChar* as_xml(const char* text) {
  return reinterpret_cast<const xmlChar*>(text);
}

void ignore_error(void*, xmlErrorPtr) {}

/// Evaluates an engine's XPath expressions on one page: simple ones by a walk, the others by libxml2.
class HtmlPage {
 public:
  explicit HtmlPage(HtmlDocument document) : document_(std::move(document)) {}

  xmlNode* root() const { return xmlDocGetRootElement(document_.get()); }

  /// The nodes that an expression finds, at most kMaxHtmlHits; nullopt if that takes too many steps.
  std::optional<std::vector<xmlNode*>> nodes(const std::string& xpath, xmlNode* from) {
    const Expression& expression = compiled(xpath);
    if (expression.simple) return found_by(*expression.simple, from);
    const XPathValue value = evaluate(expression, from);
    if (!value) return std::nullopt;
    return nodes_of(*value);
  }

  std::vector<std::string> texts(const std::string& xpath, xmlNode* from) {
    std::vector<std::string> out;
    if (xpath.empty()) return out;
    const Expression& expression = compiled(xpath);
    std::vector<xmlNode*> found;
    if (expression.simple) {
      found = found_by(*expression.simple, from).value_or(found);
    } else if (const XPathValue value = evaluate(expression, from); value && value->type != XPATH_NODESET) {
      std::string text = owned_text(xmlXPathCastToString(value.get()));
      if (!text.empty()) out.push_back(std::move(text));
    } else if (value) {
      found = nodes_of(*value);
    }
    for (const xmlNode* node : found)
      out.push_back(node->type == XML_ATTRIBUTE_NODE
                        ? owned_text(xmlNodeGetContent(node))
                        : text_below(*node, {.most = kMaxTextBytes}, text_steps_left_));
    return out;
  }

  /// Whether texts are lacking because finding or reading them took too many steps.
  bool is_exhausted() const { return text_steps_left_ == 0 || is_exhausted_; }

 private:
  struct Expression {
    std::string text;
    std::optional<SimpleXPath> simple;
    XPathExpression other;  ///< nullptr if it is simple, or no XPath
  };

  std::optional<std::vector<xmlNode*>> found_by(const SimpleXPath& path, xmlNode* from) {
    auto nodes = path.nodes(from, steps_left_);
    is_exhausted_ = is_exhausted_ || !nodes;
    if (nodes && nodes->size() > kMaxHtmlHits) nodes->resize(kMaxHtmlHits);
    return nodes;
  }

  /// Without nodes of namespaces, which end with the value.
  static std::vector<xmlNode*> nodes_of(const xmlXPathObject& value) {
    std::vector<xmlNode*> out;
    const int count =
        value.type != XPATH_NODESET || value.nodesetval == nullptr ? 0 : value.nodesetval->nodeNr;
    for (int i = 0; i < count && out.size() < kMaxHtmlHits; ++i)
      if (value.nodesetval->nodeTab[i]->type != XML_NAMESPACE_DECL)
        out.push_back(value.nodesetval->nodeTab[i]);
    return out;
  }

  XPathValue evaluate(const Expression& expression, xmlNode* from) {
    if (!context_) {
      context_.reset(xmlXPathNewContext(document_.get()));
      context_->error = ignore_error;
      context_->opLimit = kMaxXPathSteps;
    }
    context_->node = from;
    XPathValue value(expression.other ? xmlXPathCompiledEval(expression.other.get(), context_.get())
                                      : nullptr);
    constexpr int kLimit =
        static_cast<int>(XML_XPATH_EXPRESSION_OK) + XPATH_OP_LIMIT_EXCEEDED - XPATH_EXPRESSION_OK;
    is_exhausted_ = is_exhausted_ || (!value && context_->lastError.code == kLimit);
    return value;
  }

  const Expression& compiled(const std::string& xpath) {
    for (const Expression& expression : expressions_)
      if (expression.text == xpath) return expression;
    Expression& added = expressions_.emplace_back();
    added.text = xpath;
    added.simple = SimpleXPath::parse(xpath);
    if (!added.simple) added.other.reset(xmlXPathCompile(as_xml(xpath.c_str())));
    return added;
  }

  HtmlDocument document_;
  unsigned long steps_left_ = kMaxXPathSteps;
  std::size_t text_steps_left_ = kMaxTextSteps;
  bool is_exhausted_ = false;
  XPathContext context_;  ///< made when the first expression needs it
  std::vector<Expression> expressions_;
};

void append_node(HitBuilder& builder, HtmlPage& page, xmlNode* node, const AnswerRules& rules) {
  const auto is_of = [](const PartRule& rule, const std::string& xpath) {
    return std::find(rule.paths.begin(), rule.paths.end(), xpath) != rule.paths.end();
  };
  const auto part_of = [&](const std::string& xpath, const std::string* separator) -> PartText {
    auto texts = page.texts(xpath, node);
    if (texts.empty()) return {};
    const bool is_one_value = is_of(rules.url, xpath) || is_of(rules.thumbnail, xpath) ||
                              is_of(rules.published, xpath) || is_of(rules.language, xpath);
    if (separator == nullptr && (is_one_value || texts.size() == 1))
      return builder.texts().keep(std::move(texts.front()));
    return builder.texts().keep(joined_texts(texts, separator == nullptr ? " " : *separator));
  };
  builder.append(std::cref(part_of));
}

void append_zipped_nodes(HitBuilder& builder, HtmlPage& page) {
  builder.append_zipped([&](const std::string& xpath) {
    std::vector<PartText> out;
    for (std::string& text : page.texts(xpath, page.root()))
      out.push_back(builder.texts().keep(std::move(text)));
    return out;
  });
}

/// Links are relative to <base href> if the page has one.
AnswerContext with_base(const AnswerContext& context, HtmlPage& page) {
  AnswerContext out = context;
  const auto bases = page.texts("//base/@href", page.root());
  if (!bases.empty()) out.url = resolved_url(bases.front(), context.url).value_or(context.url);
  return out;
}

Result<HtmlDocument> checked_page(std::string_view body, const AnswerContext& context) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return fail(Code::bad_data, "the answer is empty");
  HtmlDocument document = parse_html(body, context.content_type);
  if (!document || xmlDocGetRootElement(document.get()) == nullptr)
    return fail(Code::bad_data, "the answer is not HTML");
  return document;
}

}  // namespace

Result<Texts> html_texts(const std::string& path, std::string_view body, const AnswerContext& context,
                         std::size_t) {
  TRY(HtmlDocument document, checked_page(body, context));
  HtmlPage page(std::move(document));
  return page.texts(path, page.root());
}

Result<RankedList> parse_html_answer(const AnswerRules& rules, std::string_view body,
                                     const AnswerContext& given) {
  TRY(HtmlDocument document, checked_page(body, given));
  HtmlPage page(std::move(document));
  const AnswerContext context = with_base(given, page);
  RankedList list;
  HitBuilder builder(list, rules, context);
  if (rules.results.empty()) {
    append_zipped_nodes(builder, page);
  } else {
    const auto results = page.nodes(rules.results, page.root());
    if (!results)
      return fail(Code::bad_data, "evaluating the results' XPath takes too many steps on this page");
    for (xmlNode* result : *results) {
      if (given.end.has_come_by_now() || page.is_exhausted()) return parsed_too_long();
      append_node(builder, page, result, rules);
    }
  }
  for (const std::string& text : page.texts(rules.suggestion, page.root()))
    append_suggestion(list, text, context);
  if (page.is_exhausted()) return parsed_too_long();
  return list;
}

Result<void> check_html_xpath(const std::string& xpath) {
  const XPathContext context(xmlXPathNewContext(nullptr));
  std::string why = "syntax error";
  context->userData = &why;
  context->error = [](void* data, xmlErrorPtr error) {
    if (error->message != nullptr) *static_cast<std::string*>(data) = error->message;
  };
  const XPathExpression expression(xmlXPathCtxtCompile(context.get(), as_xml(xpath.c_str())));
  if (expression) return {};
  while (!why.empty() && (why.back() == '\n' || why.back() == ' ')) why.pop_back();
  return fail(Code::bad_config, "\"" + xpath + "\" is not valid XPath 1.0: " + why);
}

}  // namespace metafuse::fetchers
