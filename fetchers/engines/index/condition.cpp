#include "fetchers/engines/index/condition.h"

#include <algorithm>
#include <map>
#include <utility>

#include "fetchers/engines/index/stop_words.h"

namespace metafuse::fetchers {
namespace {

Condition group_of(Condition::Kind kind, std::vector<Condition> children) {
  if (children.size() == 1) return std::move(children.front());
  Condition group;
  group.kind = kind;
  group.children = std::move(children);
  return group;
}

Condition word_of(std::size_t form) {
  Condition word;
  word.forms = {form};
  return word;
}

/// Collects the conditions of a group. The same word in the same columns once more adds to
/// its weight instead.
class Group {
 public:
  explicit Group(Condition::Kind kind) : kind_(kind) {}

  void add(Condition child) {
    if (child.kind == kind_) {
      for (Condition& one : child.children) add(std::move(one));
      return;
    }
    const bool is_leaf = child.kind == Condition::Kind::word || child.kind == Condition::Kind::phrase;
    const auto [known, is_new] = is_leaf ? places_.try_emplace({child.kind, child.forms}, children_.size())
                                         : std::pair(places_.end(), true);
    if (is_new)
      children_.push_back(std::move(child));
    else
      children_[known->second].weight += child.weight;
  }

  bool is_empty() const { return children_.empty(); }
  Condition finish() { return group_of(kind_, std::move(children_)); }

 private:
  Condition::Kind kind_;
  std::vector<Condition> children_;
  std::map<std::pair<Condition::Kind, std::vector<std::size_t>>, std::size_t> places_;  ///< of leaves
};

/// Adds conditions to a group.
///
/// in: are_at_one_place - several may match the same word of a text; the first that does adds to the score
void add_alternatives(std::vector<Condition> alternatives, bool are_at_one_place, Group& group) {
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if (i == 0 || !are_at_one_place) {
      group.add(alternatives[i]);
      continue;
    }
    Condition one;
    one.kind = Condition::Kind::without;
    one.children = {alternatives[i]};
    one.children.insert(one.children.end(), alternatives.begin(),
                        alternatives.begin() + static_cast<std::ptrdiff_t>(i));
    group.add(std::move(one));
  }
}

}  // namespace

std::size_t AskedQuery::place_of(const AskedForm& form) {
  const auto [known, is_new] = places.try_emplace(form, forms.size());
  if (is_new) forms.push_back(form);
  return known->second;
}

/// A word of a query's text.
struct QueryReader::Text {
  std::string folded;
  bool is_piece = false;
  bool is_lone_character = false;
};

QueryReader::QueryReader(WordKind kind, const std::vector<std::string>& languages,
                         std::vector<std::string> columns)
    : kind_(kind), columns_(std::move(columns)), languages_(languages) {
  if (languages_.empty()) languages_.emplace_back();
  for (const std::string& language : languages_) {
    forms_.emplace_back(kind, language);
    stop_words_.emplace_back(language);
  }
}

std::vector<QueryReader::Text> QueryReader::words_of(const std::string& text) const {
  std::vector<Text> words;
  for (WordCutter cutter(text); cutter.next();)
    words.push_back({std::string(cutter.word()), cutter.is_piece(), cutter.is_lone_character()});
  return words;
}

bool QueryReader::is_stop_word(const std::string& text) const {
  const auto words = words_of(text);
  return words.size() == 1 && is_stop_word(words.front());
}

bool QueryReader::is_stop_word(const Text& word) const {
  return std::any_of(stop_words_.begin(), stop_words_.end(),
                     [&](const StopWords& words) { return words.contains(word.folded); });
}

/// Whether a query has a word that is no stop word, outside the parts that must not match.
bool QueryReader::says_something(const QueryNode& node) const {
  if (node.kind == QueryNode::Kind::text) {
    const auto words = words_of(node.text);
    return words.size() > 1 || (words.size() == 1 && (node.is_beginning || !is_stop_word(words[0])));
  }
  if (node.kind == QueryNode::Kind::without) return says_something(node.children.front());
  return std::any_of(node.children.begin(), node.children.end(),
                     [&](const QueryNode& child) { return says_something(child); });
}

/// The forms of a word in all languages: each once for words and stems, all parts otherwise.
QueryReader::AskedForms QueryReader::forms_of(const std::string& folded) {
  AskedForms out;
  for (WordForms& forms : forms_) {
    const auto& of_language = forms.of(folded);
    out.are_at_one_place = out.are_at_one_place || (kind_ == WordKind::stems && of_language.size() > 1);
    for (const std::string& form : of_language)
      if (kind_ == WordKind::parts || std::find(out.texts.begin(), out.texts.end(), form) == out.texts.end())
        out.texts.push_back(form);
  }
  return out;
}

/// Words one behind the other, in the forms of any of the languages.
Condition QueryReader::phrase_of(const std::vector<Text>& words, ColumnSet columns, AskedQuery& asked) {
  std::vector<Condition> phrases;
  bool are_at_one_place = false;
  for (WordForms& forms : forms_)
    for (const bool is_plain : {false, true}) {  // the first forms of all words, then the last
      Condition phrase;
      phrase.kind = words.size() == 1 ? Condition::Kind::word : Condition::Kind::phrase;
      for (const Text& word : words) {
        const auto& of_word = forms.of(word.folded);
        are_at_one_place = are_at_one_place || of_word.size() > 1;
        phrase.forms.push_back(asked.place_of({is_plain ? of_word.back() : of_word.front(), columns, false}));
      }
      const bool is_known = std::any_of(phrases.begin(), phrases.end(),
                                        [&](const Condition& other) { return other.forms == phrase.forms; });
      if (!is_known) phrases.push_back(std::move(phrase));
    }
  Group any(Condition::Kind::any);
  add_alternatives(std::move(phrases), are_at_one_place, any);
  return any.finish();
}

/// What words that begin so have in common in the list: the beginning of its stem that is also one
/// of the word.
std::string QueryReader::beginning_of(const std::string& folded) {
  const std::string& form = forms_.front().of(folded).front();
  const auto differ = std::mismatch(form.begin(), form.end(), folded.begin(), folded.end());
  return differ.first == form.begin() ? form : std::string(form.begin(), differ.first);
}

bool QueryReader::add_text(const QueryNode& node, AskedQuery& asked, bool is_alternative, Condition& out) {
  const auto words = words_of(node.text);
  if (words.empty()) return false;
  if (words.size() == 1 && !node.is_beginning && drops_stop_words_ && is_stop_word(words[0])) return false;
  const bool has_pieces = words.size() > 1 && words[0].is_piece;
  const bool is_bag = kind_ == WordKind::parts || (has_pieces && is_alternative && !node.is_quoted);
  // every character begins a word of the index, but few are words
  const bool has_beginning =
      (node.is_beginning || (words.size() == 1 && words[0].is_lone_character)) && kind_ != WordKind::parts;
  if (words.size() > 1 && !is_bag) {
    out = phrase_of({words.begin(), words.end() - (has_beginning ? 1 : 0)}, node.columns, asked);
    if (!has_beginning) return true;
    // a beginning has no places, so it may be anywhere
    Group all(Condition::Kind::all);
    all.add(std::move(out));
    all.add(word_of(asked.place_of({beginning_of(words.back().folded), node.columns, true})));
    out = all.finish();
    return true;
  }
  Group group(kind_ == WordKind::parts && !is_alternative ? Condition::Kind::all : Condition::Kind::any);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_beginning = has_beginning && i + 1 == words.size();
    const auto forms =
        is_beginning ? AskedForms{{beginning_of(words[i].folded)}, false} : forms_of(words[i].folded);
    std::vector<Condition> alternatives;
    for (const std::string& form : forms.texts)
      alternatives.push_back(word_of(asked.place_of({form, node.columns, is_beginning})));
    add_alternatives(std::move(alternatives), forms.are_at_one_place, group);
  }
  out = group.finish();
  return true;
}

bool QueryReader::add_near(const QueryNode& node, AskedQuery& asked, Condition& out) {
  std::vector<Condition> children;
  bool has_beginning = false;
  for (const QueryNode& child : node.children) {
    Condition text;
    has_beginning = has_beginning || child.is_beginning;
    if (!add_text(child, asked, false, text)) continue;
    // of a word with a form for each language, the first counts
    if (text.kind == Condition::Kind::any) text = Condition(std::move(text.children.front()));
    has_beginning = has_beginning || (!text.forms.empty() && asked.forms[text.forms.front()].is_beginning);
    children.push_back(std::move(text));
  }
  if (children.empty()) return false;
  // only words and phrases have places
  const bool has_places = kind_ != WordKind::parts && !has_beginning;
  out = group_of(has_places ? Condition::Kind::near : Condition::Kind::all, std::move(children));
  if (out.kind == Condition::Kind::near) out.distance = node.distance;
  return true;
}

/// out:    false if nothing is left of the condition
bool QueryReader::add(const QueryNode& node, AskedQuery& asked, bool is_alternative, Condition& out) {
  switch (node.kind) {
    case QueryNode::Kind::text:
      return add_text(node, asked, is_alternative, out);
    case QueryNode::Kind::near:
      return add_near(node, asked, out);
    case QueryNode::Kind::all:
    case QueryNode::Kind::any: {
      const bool is_any = node.kind == QueryNode::Kind::any;
      Group group(is_any ? Condition::Kind::any : Condition::Kind::all);
      for (const QueryNode& child : node.children)
        if (Condition one; add(child, asked, is_any, one)) group.add(std::move(one));
      if (group.is_empty()) return false;
      out = group.finish();
      return true;
    }
    case QueryNode::Kind::without:
      break;
  }
  std::vector<Condition> children(1);
  if (!add(node.children.front(), asked, is_alternative, children.front())) return false;
  const bool drops = std::exchange(drops_stop_words_, false);
  for (std::size_t i = 1; i < node.children.size(); ++i)
    if (Condition one; add(node.children[i], asked, false, one)) children.push_back(std::move(one));
  drops_stop_words_ = drops;
  out = group_of(Condition::Kind::without, std::move(children));
  return true;
}

Result<AskedQuery> QueryReader::read(std::string_view query, bool keeps_stop_words) {
  const auto read = read_word_query(query, columns_);
  if (!read) return fail(read.error().code, "the index does not understand the query: " + read.error().text);
  const QueryNode& node = *read;
  AskedQuery asked;
  drops_stop_words_ = !keeps_stop_words && says_something(node);
  asked.is_empty = !add(node, asked, true, asked.root);
  return asked;
}

const std::set<std::string>& QueryReader::stop_forms() {
  if (!stop_forms_.empty()) return stop_forms_;
  for (const StopWordFile& file : stop_word_files()) {
    if (std::find(languages_.begin(), languages_.end(), file.language) == languages_.end()) continue;
    for (WordCutter cutter(file.words); cutter.next();)
      for (const std::string& form : forms_of(std::string(cutter.word())).texts) stop_forms_.insert(form);
  }
  return stop_forms_;
}

}  // namespace metafuse::fetchers
