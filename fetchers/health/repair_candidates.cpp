// Where known results stand in a new answer. In JSON and XML every text is compared with the examples'; in a
// page, every link and every element. What stands at the same place in several items is a candidate.

#include <algorithm>
#include <map>
#include <set>

#include "core/encoding.h"
#include "core/text.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/guess.h"
#include "fetchers/answers/html_tree.h"
#include "fetchers/health/repair.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostLeaves = 200'000;
constexpr int kDeepestLeaf = 24;
constexpr std::size_t kMostPageElements = 50'000;
constexpr std::size_t kMostWordSteps = 5'000'000;
constexpr std::size_t kMostCandidates = 12;
constexpr std::size_t kLongestPlain = 4000;
/// Links to one known result that vote; a page that repeats a link a thousand times costs no more.
constexpr std::size_t kMostLinksPerExample = 4;

/// Candidates with the examples that speak for each.
class Votes {
 public:
  void add(const std::string& candidate, std::size_t example) {
    if (by_.size() < 2000 || by_.contains(candidate)) by_[candidate].insert(example);
  }
  /// Those with the most votes, the shorter first.
  std::vector<std::string> best() const {
    std::vector<const std::pair<const std::string, std::set<std::size_t>>*> all;
    for (const auto& one : by_) all.push_back(&one);
    std::stable_sort(all.begin(), all.end(), [](const auto* a, const auto* b) {
      if (a->second.size() != b->second.size()) return a->second.size() > b->second.size();
      return a->first.size() < b->first.size();
    });
    std::vector<std::string> out;
    for (const auto* one : all)
      if (out.size() < kMostCandidates) out.push_back(one->first);
    return out;
  }

 private:
  std::map<std::string, std::set<std::size_t>> by_;
};

struct AllVotes {
  Votes results, urls, formats, titles, texts;

  RuleCandidates candidates() const {
    return {results.best(), urls.best(), formats.best(), titles.best(), texts.best()};
  }
};

/// The examples by their plain texts.
struct ExampleIndex {
  std::map<std::string, std::size_t, std::less<>> keys, titles, ids;
  std::span<const ExampleTexts> examples;

  explicit ExampleIndex(std::span<const ExampleTexts> all) : examples(all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      keys.emplace(all[i].key, i);
      if (!all[i].title.empty()) titles.emplace(all[i].title, i);
      for (const auto& [format, id] : all[i].ids) {
        ids.emplace(id, i);
        ids.emplace(percent_decoded(id), i);
      }
    }
  }

  std::optional<std::size_t> of_title(const std::string& plain) const {
    const auto at = titles.find(plain.substr(0, 80));
    return at == titles.end() ? std::nullopt : std::optional(at->second);
  }
  std::optional<std::size_t> of_text(const std::string& plain) const {
    for (std::size_t i = 0; i < examples.size(); ++i)
      if (!examples[i].text.empty() && plain.find(examples[i].text) != std::string::npos) return i;
    return std::nullopt;
  }
};

/// Walks JSON, or XML converted to JSON, and votes for the places of known texts.
class TreeWalk {
 public:
  TreeWalk(const AnswerRules& old, const AnswerContext& context, const ExampleIndex& index)
      : old_(old), context_(context), index_(index) {}

  void walk(const Json& value, int depth) {
    if (depth > kDeepestLeaf || ++leaves_ > kMostLeaves) return;
    if (const JsonObject* object = value.if_object()) {
      for (const auto& member : *object) {
        const std::string key(member.key());
        if (key.find_first_of("/[]=") != std::string::npos) continue;
        steps_.push_back({key, false});
        walk(member.value(), depth + 1);
        steps_.pop_back();
      }
    } else if (const JsonArray* array = value.if_array()) {
      for (std::size_t i = 0; i < array->size(); ++i) {
        steps_.push_back({std::to_string(i), true});
        walk((*array)[i], depth + 1);
        steps_.pop_back();
      }
    } else if (value.is_string()) {
      take(std::string(value.as_string()));
    } else if (value.is_number()) {
      take(to_text(value));
    }
  }

  AllVotes votes;

 private:
  struct Step {
    std::string key;
    bool is_index;
  };

  void take(const std::string& text) {
    if (text.empty()) return;
    if (const auto at = index_.keys.find(key_of_address(text, old_, context_)); at != index_.keys.end())
      vote(votes.urls, at->second, {});
    if (const auto at = index_.ids.find(text); at != index_.ids.end())
      for (const auto& [format, id] : index_.examples[at->second].ids)
        vote(votes.formats, at->second, format);
    if (text.size() > kLongestPlain) return;
    const std::string plain = plain_letters(text);
    if (plain.empty()) return;
    if (const auto title = index_.of_title(plain)) vote(votes.titles, *title, {});
    if (const auto example = index_.of_text(plain)) vote(votes.texts, *example, {});
  }

  /// Every array on the way to a text may be the list of results.
  void vote(Votes& votes_of_part, std::size_t example, const std::string& format) {
    for (std::size_t at = 0; at < steps_.size(); ++at) {
      if (!steps_[at].is_index) continue;
      std::string list = "$";
      for (std::size_t i = 0; i < at; ++i) list += steps_[i].is_index ? "/*" : "/" + steps_[i].key;
      std::string exact = "$", any = "$";
      for (std::size_t i = at + 1; i < steps_.size(); ++i) {
        exact += '/' + steps_[i].key;
        any += steps_[i].is_index ? "/*" : "/" + steps_[i].key;
      }
      votes.results.add(list, example);
      for (const std::string& path : {exact, any}) votes_of_part.add(filled(format, path), example);
    }
  }

  static std::string filled(const std::string& format, const std::string& path) {
    const std::size_t hole = format.find('{');
    return hole == std::string::npos ? path : format.substr(0, hole + 1) + path + format.substr(hole + 1);
  }

  const AnswerRules& old_;
  const AnswerContext& context_;
  const ExampleIndex& index_;
  std::vector<Step> steps_;
  std::size_t leaves_ = 0;
};

void make_xpaths(RuleCandidates& found) {
  for (std::string& path : found.results) path = tree_path_as_xpath(path, false);
  for (auto* part : {&found.urls, &found.titles, &found.texts})
    for (std::string& path : *part) path = tree_path_as_xpath(path, true);
  for (std::string& format : found.formats) {
    const std::size_t open = format.find('{'), close = format.find_first_of("|}", open);
    if (close == std::string::npos) continue;
    const std::string path = tree_path_as_xpath(format.substr(open + 1, close - open - 1), true);
    format = format.substr(0, open + 1) + path + format.substr(close);
  }
}

// Pages.

/// The ways to say what kind of element this is: by its name alone, or with a word of its class or an
/// attribute that is made for programs.
std::vector<std::string> kinds_of(const xmlNode* node) {
  const std::string name(tag_name(*node));
  std::vector<std::string> out;
  std::string words = attribute_of(*node, "class");
  for (std::string_view rest = words; !rest.empty() && out.size() < 6;) {
    const std::string word(take_until(rest, ' '));
    if (word.empty() || word.size() > 60 || word.find_first_of("'\"") != std::string::npos) continue;
    out.push_back(name + "[contains(concat(' ', normalize-space(@class), ' '), ' " + word + " ')]");
  }
  for (const char* attribute : {"data-testid", "itemprop", "role", "data-type"})
    if (const std::string value = attribute_of(*node, attribute);
        !value.empty() && value.size() < 60 && value.find_first_of("'\"") == std::string::npos)
      out.push_back(name + "[@" + attribute + "='" + value + "']");
  out.push_back(name);
  return out;
}

/// Walks a page for links to known results and elements with their titles and texts.
class PageWalk {
 public:
  PageWalk(const AnswerRules& old, const AnswerContext& context, const ExampleIndex& index)
      : old_(old), context_(context), index_(index) {}

  void walk(const xmlNode* root) {
    for (const xmlNode* node = root; node != nullptr && elements_.size() < kMostPageElements;
         node = next_node(root, node, !is_script(*node)))
      if (node->type == XML_ELEMENT_NODE) elements_.push_back(node);
    for (const xmlNode* node : elements_) {
      if (tag_name(*node) != "a") continue;
      const auto at = index_.keys.find(key_of_address(attribute_of(*node, "href"), old_, context_));
      if (at == index_.keys.end()) continue;
      mark_above(node, at->second);
      auto& links = links_[at->second];
      if (links.size() < kMostLinksPerExample) links.push_back(node);
    }
    for (const auto& [example, links] : links_)
      for (const xmlNode* link : links) vote_for_items(link, example);
  }

  AllVotes votes;

 private:
  void mark_above(const xmlNode* node, std::size_t example) {
    for (; node != nullptr && node->type == XML_ELEMENT_NODE; node = node->parent)
      holders_[node].insert(example);
  }

  /// The elements around a link that hold no other result's link may be the item.
  void vote_for_items(const xmlNode* link, std::size_t example) {
    const xmlNode* outermost = nullptr;
    for (const xmlNode* node = link; node != nullptr && node->type == XML_ELEMENT_NODE; node = node->parent) {
      if (holders_[node].size() > 1) break;
      outermost = node;
      for (const std::string& kind : kinds_of(node)) {
        if (node->parent == nullptr || node->parent->type != XML_ELEMENT_NODE) continue;
        votes.results.add("//" + kind, example);
        if (kind.find('[') == std::string::npos)
          for (const std::string& around : kinds_of(node->parent))
            votes.results.add("//" + around + "/" + kind, example);
      }
    }
    if (outermost == nullptr) return;
    votes.urls.add("./@href", example);
    for (const std::string& kind : kinds_of(link)) votes.urls.add(".//" + kind + "/@href", example);
    if (link->parent != nullptr)
      for (const std::string& kind : kinds_of(link->parent))
        votes.urls.add(".//" + kind + "/a/@href", example);
    vote_for_texts(outermost, example);
  }

  /// The innermost elements that hold the whole title, or the beginning of the text.
  void vote_for_texts(const xmlNode* item, std::size_t example) {
    const ExampleTexts& wanted = index_.examples[example];
    for (const xmlNode* node = item; node != nullptr && steps_left_ > 0;
         node = next_node(item, node, !is_script(*node))) {
      if (node->type != XML_ELEMENT_NODE) continue;
      const std::string plain = plain_letters(text_below(*node, {kLongestPlain, " "}, steps_left_));
      if (!wanted.title.empty() && plain.substr(0, 80) == wanted.title)
        add_kinds(votes.titles, node, item, example);
      if (!wanted.text.empty() && plain.starts_with(wanted.text)) add_kinds(votes.texts, node, item, example);
    }
  }

  static void add_kinds(Votes& votes, const xmlNode* node, const xmlNode* item, std::size_t example) {
    if (node == item) votes.add(".", example);
    for (const std::string& kind : kinds_of(node)) votes.add(".//" + kind, example);
  }

  const AnswerRules& old_;
  const AnswerContext& context_;
  const ExampleIndex& index_;
  std::vector<const xmlNode*> elements_;
  std::map<std::size_t, std::vector<const xmlNode*>> links_;
  std::map<const xmlNode*, std::set<std::size_t>> holders_;
  std::size_t steps_left_ = kMostWordSteps;  ///< for words, which are read for all elements around them
};

}  // namespace

RuleCandidates candidates_in_tree(const AnswerRules& old, std::string_view body, const AnswerContext& context,
                                  std::span<const ExampleTexts> examples) {
  const auto tree = answer_tree(old.format, body, context);
  if (!tree) return {};
  const ExampleIndex index(examples);
  TreeWalk walk(old, context, index);
  walk.walk(*tree, 0);
  RuleCandidates found = walk.votes.candidates();
  if (old.format == AnswerRules::Format::xml) make_xpaths(found);
  return found;
}

RuleCandidates candidates_in_page(const AnswerRules& old, std::string_view body, const AnswerContext& context,
                                  std::span<const ExampleTexts> examples) {
  const HtmlDocument document = parse_html(body, context.content_type);
  const xmlNode* root = document ? xmlDocGetRootElement(document.get()) : nullptr;
  if (root == nullptr) return {};
  const ExampleIndex index(examples);
  PageWalk walk(old, context, index);
  walk.walk(root);
  return walk.votes.candidates();
}

}  // namespace metafuse::fetchers
