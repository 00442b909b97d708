#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include <pugixml.hpp>

#include "core/text.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/hit_builder.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxXmlBytes = std::size_t{8} << 20;
constexpr int kMaxDepth = 256;
constexpr std::size_t kMaxXmlHits = 1000;
constexpr std::size_t kMaxElementBytes = 20'000;  // of one element; nested elements share their texts
constexpr int kMostTextNodes = 20'000;

bool is_too_deep(const pugi::xml_document& document) {
  struct Walker : pugi::xml_tree_walker {
    bool for_each(pugi::xml_node&) override { return depth() <= kMaxDepth; }
  } walker;
  return !const_cast<pugi::xml_document&>(document).traverse(walker);
}

/// The text below a node in document order.
std::string text_of_element(const pugi::xml_node& node) {
  struct Collector : pugi::xml_tree_walker {
    std::string text;
    int nodes = 0;
    bool for_each(pugi::xml_node& child) override {
      if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) text += child.value();
      return text.size() < kMaxElementBytes && ++nodes < kMostTextNodes;
    }
  } collector;
  if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata) return node.value();
  pugi::xml_node copy = node;
  copy.traverse(collector);
  return collector.text;
}

std::string text_of(const pugi::xpath_node& found) {
  return found.attribute() ? std::string(found.attribute().value()) : text_of_element(found.node());
}

/// The texts that an XPath yields from a node. An expression that is not a node set yields one text.
std::vector<std::string> texts(const std::string& xpath, const pugi::xml_node& from) {
  std::vector<std::string> out;
  if (xpath.empty()) return out;
  const pugi::xpath_query query(xpath.c_str());
  if (query.return_type() != pugi::xpath_type_node_set) {
    std::string text = query.evaluate_string(from);
    if (!text.empty()) out.push_back(std::move(text));
    return out;
  }
  for (const pugi::xpath_node& found : query.evaluate_node_set(from)) {
    out.push_back(text_of(found));
    if (out.size() >= kMaxXmlHits) break;
  }
  return out;
}

pugi::xml_node child_named(const pugi::xml_node& node, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    for (const pugi::xml_node& child : node.children())
      if (without_prefix(child.name()) == name) return child;
  return {};
}

/// The page that a feed item refers to: <link>text</link>, <link rel="alternate" href="">, a permalink
/// <guid>, or Atom's <id>.
std::string link_of(const pugi::xml_node& item) {
  std::string first;
  for (const pugi::xml_node& link : item.children()) {
    if (without_prefix(link.name()) != "link") continue;
    const std::string_view rel = link.attribute("rel").as_string("alternate");
    const std::string href = link.attribute("href") ? link.attribute("href").value() : text_of_element(link);
    if (href.empty()) continue;
    if (rel == "alternate") return href;
    if (first.empty()) first = href;
  }
  if (!first.empty()) return first;
  if (const auto guid = child_named(item, {"guid"}))
    if (std::strcmp(guid.attribute("isPermaLink").as_string("true"), "false") != 0)
      return text_of_element(guid);
  if (item.attribute("rdf:about")) return item.attribute("rdf:about").value();
  return text_of_element(child_named(item, {"id"}));
}

/// The picture of a feed item: media:thumbnail, a picture among media:content or the enclosures.
std::string picture_of(const pugi::xml_node& item) {
  const pugi::xml_node group = child_named(item, {"group"});
  for (const pugi::xml_node& parent : {item, group})
    if (const pugi::xml_node found = child_named(parent, {"thumbnail"}); found.attribute("url"))
      return found.attribute("url").value();
  for (const pugi::xml_node& parent : {item, group})
    for (const pugi::xml_node& child : parent.children()) {
      const std::string_view name = without_prefix(child.name());
      const std::string_view type = child.attribute("type").as_string(child.attribute("medium").value());
      if ((name == "content" || name == "enclosure") && type.starts_with("image") && child.attribute("url"))
        return child.attribute("url").value();
    }
  return {};
}

/// Removes the prefixes of all elements' names, for definitions that name elements without them.
void remove_prefixes(pugi::xml_document& document) {
  struct Walker : pugi::xml_tree_walker {
    bool for_each(pugi::xml_node& node) override {
      const std::string local(without_prefix(node.name()));
      if (node.type() == pugi::node_element && local.size() < std::strlen(node.name()))
        node.set_name(local.c_str());
      return true;
    }
  } walker;
  document.traverse(walker);
}

/// True for a path such as "./dc:title", which names a prefix; "::" and quoted texts do not.
bool names_prefix(std::string_view path) {
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] == '\'' || path[at] == '"') at = std::min(path.find(path[at], at + 1), path.size());
    const bool is_between = at > 0 && at + 1 < path.size() && path[at] == ':';
    if (is_between && is_ascii_letter(path[at - 1]) && is_ascii_letter(path[at + 1])) return true;
  }
  return false;
}

/// Whether a path of a format such as "https://e.example/{./dc:id}" names a prefix.
bool format_names_prefix(std::string_view format) {
  for (std::size_t at = format.find('{'); at != std::string_view::npos; at = format.find('{', at + 1))
    if (names_prefix(format.substr(at, format.find('}', at) - at))) return true;
  return false;
}

/// Whether any path of a definition names a prefix.
bool names_prefixes(const AnswerRules& rules) {
  const auto in_rule = [](const PartRule& rule) {
    return std::any_of(rule.paths.begin(), rule.paths.end(), names_prefix);
  };
  return names_prefix(rules.results) || names_prefix(rules.suggestion) ||
         format_names_prefix(rules.url_format) || in_rule(rules.match) || in_rule(rules.id) ||
         std::any_of(std::begin(kResultParts), std::end(kResultParts),
                     [&](const ResultPart& part) { return in_rule(rules.*part.rule); }) ||
         std::any_of(rules.details.begin(), rules.details.end(),
                     [&](const auto& detail) { return in_rule(detail.second); }) ||
         std::any_of(rules.chosen_formats.begin(), rules.chosen_formats.end(), [](const ChosenFormat& one) {
           return names_prefix(one.path) || format_names_prefix(one.format);
         });
}

/// Whether a definition names elements without the prefixes that this document has: of its results, or of
/// all their children.
bool lacks_prefixes(const pugi::xml_document& document, const AnswerRules& rules) {
  if (names_prefixes(rules)) return false;
  const pugi::xml_node first = document.select_node(rules.results.c_str()).node();
  const auto children = first.children();
  return std::none_of(children.begin(), children.end(), [](const pugi::xml_node& child) {
    return child.type() == pugi::node_element && without_prefix(child.name()) == child.name();
  });
}

std::optional<std::string> declared_language(const pugi::xml_node& node) {
  if (const auto element = child_named(node, {"language"})) return text_of_element(element);
  if (const auto attribute = node.attribute("xml:lang")) return attribute.value();
  return std::nullopt;
}

/// The languages of a feed's items. What surrounds the items is looked at once, not for each of them.
class FeedLanguages {
 public:
  explicit FeedLanguages(const pugi::xml_node& root)
      : of_feed_(declared_language(root).value_or(
            text_of_element(child_named(child_named(root, {"channel"}), {"language"})))) {}

  /// The language that an item declares, else the element around it, else the feed.
  std::string of(const pugi::xml_node& item) {
    if (auto own = declared_language(item)) return std::move(*own);
    if (item.parent() != parent_) {
      parent_ = item.parent();
      of_parent_ = declared_language(parent_).value_or(of_feed_);
    }
    return of_parent_;
  }

 private:
  const std::string of_feed_;
  pugi::xml_node parent_;
  std::string of_parent_ = of_feed_;
};

/// Reads RSS 0.9 to 2.0, Atom, and their OpenSearch extensions.
Result<RankedList> read_feed(const pugi::xml_document& document, const AnswerRules& rules,
                             const AnswerContext& context) {
  const pugi::xml_node root = document.document_element();
  const std::string_view kind = without_prefix(root.name());
  if (kind != "rss" && kind != "feed" && kind != "RDF")
    return fail(Code::bad_data, "the answer is XML but not RSS or Atom (<" +
                                    std::string(root.name()).substr(0, 60) +
                                    ">); set results_xpath, url_xpath and title_xpath");
  struct Items : pugi::xml_tree_walker {
    std::vector<pugi::xml_node> found;
    bool for_each(pugi::xml_node& node) override {
      const std::string_view name = without_prefix(node.name());
      if (name == "item" || name == "entry") found.push_back(node);
      return found.size() < kMaxXmlHits;
    }
  } items;
  pugi::xml_node walked = root;
  walked.traverse(items);
  RankedList list;
  HitBuilder builder(list, rules, context);
  TextPool& texts = builder.texts();
  FeedLanguages languages(root);
  for (const pugi::xml_node& item : items.found) {
    if (context.end.has_come_by_now()) return parsed_too_long();
    RawHit raw;
    raw.url = texts.keep(rules.url_prefix + link_of(item));
    raw.title = texts.keep(text_of_element(child_named(item, {"title"})));
    for (const char* name : {"description", "summary", "encoded", "content"})
      if (raw.content.empty()) raw.content = texts.keep(text_of_element(child_named(item, {name})));
    raw.thumbnail = texts.keep(picture_of(item));
    raw.published =
        texts.keep(text_of_element(child_named(item, {"pubDate", "published", "date", "updated"})));
    raw.language = texts.keep(languages.of(item));
    raw.score = texts.keep(text_of_element(child_named(item, {"score"})));
    builder.append(raw, true);
    texts.clear();
  }
  return list;
}

void note_children(AnswerFindings* findings, const pugi::xml_node& item) {
  if (findings == nullptr || !findings->keys.empty()) return;
  for (const pugi::xml_node& child : item.children())
    if (child.type() == pugi::node_element) findings->keys.emplace_back(child.name());
}

Result<RankedList> read_by_xpath(const pugi::xml_document& document, const AnswerRules& rules,
                                 const AnswerContext& context) {
  const std::string_view root = without_prefix(document.document_element().name());
  RankedList list;
  HitBuilder builder(list, rules, context);
  for (const pugi::xpath_node& found : document.select_nodes(rules.results.c_str())) {
    if (context.end.has_come_by_now()) return parsed_too_long();
    note_children(context.findings, found.node());
    const auto part_of = [&](const std::string& xpath, const std::string* separator) -> PartText {
      if (context.end.has_come_by_now()) return {};
      auto values = xpath.empty() ? std::vector<std::string>() : texts(xpath, found.node());
      if (values.empty()) return {};
      return builder.texts().keep(separator == nullptr ? std::move(values.front())
                                                       : joined_texts(values, *separator));
    };
    builder.append(std::cref(part_of));
    if (list.hits.size() >= kMaxXmlHits) break;
  }
  if (context.end.has_come()) return parsed_too_long();
  if (list.hits.empty() && (root == "html" || root == "error" || root == "Error"))
    return fail(Code::bad_data, "the answer is <" + std::string(root) + "> without a result: " +
                                    std::string(truncate_utf8(text_of_element(document.document_element()),
                                                              kMostReportedBytes)));
  return list;
}

/// The charset of the XML declaration, else of the header.
std::string charset_of_document(std::string_view body, std::string_view content_type) {
  const std::string_view declaration = body.substr(0, std::min<std::size_t>(body.find("?>"), 200));
  const std::size_t at = declaration.find("encoding=");
  if (!body.starts_with("<?xml") || at == std::string_view::npos) return charset_of(content_type);
  std::string_view value = declaration.substr(at + std::string_view("encoding=").size());
  if (!value.empty()) value.remove_prefix(1);  // the quotation mark
  return charset_of("charset=" + std::string(value.substr(0, value.find_first_of("\"'"))));
}

}  // namespace

Result<void> load_xml(pugi::xml_document& document, std::string_view body, const AnswerContext& context) {
  if (body.size() > kMaxXmlBytes) return fail(Code::bad_data, "more than 8 MB of XML");
  const std::string charset = charset_of_document(body, context.content_type);
  std::string repaired;
  if (auto utf8 = as_valid_utf8(body, charset)) body = repaired = std::move(*utf8);
  // What is UTF-8 is read so, whatever the document declares; UTF-16 and UTF-32 begin with a NUL byte nearby.
  const bool is_wide = body.substr(0, 4).find('\0') != std::string_view::npos;
  const auto encoding = is_wide ? pugi::encoding_auto : pugi::encoding_utf8;
  const auto parsed = document.load_buffer(body.data(), body.size(),
                                           pugi::parse_default | pugi::parse_ws_pcdata_single, encoding);
  if (!parsed || !document.document_element())
    return fail(Code::bad_data, std::string("the answer is not XML: ") + parsed.description() + " at byte " +
                                    std::to_string(parsed.offset));
  if (is_too_deep(document)) return fail(Code::bad_data, "XML nested deeper than 256 levels");
  return {};
}

Result<Texts> xml_texts(const std::string& path, std::string_view body, const AnswerContext& context,
                        std::size_t) {
  pugi::xml_document document;
  TRY_VOID(load_xml(document, body, context));
  try {
    return texts(path, document);
  } catch (const pugi::xpath_exception& error) {
    return fail(Code::bad_data, std::string("XPath: ") + error.what());
  }
}

Result<RankedList> parse_xml_answer(const AnswerRules& rules, std::string_view body,
                                    const AnswerContext& context) {
  pugi::xml_document document;
  TRY_VOID(load_xml(document, body, context));
  try {
    if (rules.results.empty()) return read_feed(document, rules, context);
    if (lacks_prefixes(document, rules)) remove_prefixes(document);
    auto list = read_by_xpath(document, rules, context);
    if (list)
      for (const std::string& text : texts(rules.suggestion, document))
        append_suggestion(*list, text, context);
    return list;
  } catch (const pugi::xpath_exception& error) {
    return fail(Code::bad_data, std::string("XPath: ") + error.what());
  }
}

Result<void> check_xml_xpath(const std::string& xpath) {
  try {
    const pugi::xpath_query query(xpath.c_str());
  } catch (const pugi::xpath_exception& error) {
    return fail(Code::bad_config, "\"" + xpath + "\" is not valid XPath 1.0: " + error.what() +
                                      " at character " + std::to_string(error.result().offset + 1));
  }
  return {};
}

}  // namespace metafuse::fetchers
