#pragma once

#include <forward_list>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/query.h"
#include "fetchers/answers/answer_parser.h"

namespace pugi {
class xml_document;
}

namespace metafuse::fetchers {

/// A text of the answer: a view into the parsed answer where it stands there as it is, else into a TextPool.
class PartText {
 public:
  PartText() = default;  ///< the result does not have the part
  PartText(std::string_view view) : view_(view.data() == nullptr ? std::string_view("") : view) {}

  bool is_missing() const { return view_.data() == nullptr; }
  bool empty() const { return view_.empty(); }
  std::string_view view() const { return view_; }

 private:
  std::string_view view_;
};

/// Texts that do not stand in the answer as they are. They live until the pool is cleared.
class TextPool {
 public:
  PartText keep(std::string text) { return std::string_view(texts_.emplace_front(std::move(text))); }
  void clear() { texts_.clear(); }

 private:
  std::forward_list<std::string> texts_;
};

/// The parts of one result as an answer has them.
struct RawHit {
  PartText url;
  PartText title;
  PartText content;
  PartText published;
  PartText language;
  PartText score;
  PartText thumbnail;
  PartText id;
  bool is_of_query = true;        ///< as AnswerRules::match says
  std::vector<PartText> details;  ///< of AnswerRules::details
};

/// The value of a part of the result by its path. With a separator, all values joined by it.
using PartOf = std::function<PartText(const std::string& path, const std::string* separator)>;

/// Cleans the results of an answer and appends those to a list that have a URL which a browser can open.
class HitBuilder {
 public:
  /// in: all outlive the builder
  HitBuilder(RankedList& list, const AnswerRules& rules, const AnswerContext& context);

  /// The texts of the result that is being read; cleared after each result that is read by its rules.
  TextPool& texts() { return texts_; }

  /// Reads the parts that the rules name, and appends the result.
  void append(const PartOf& part_of);

  void append(const RawHit& raw, bool is_text_html);

  /// Appends the results of an answer that does not list them: the n-th URL goes with the n-th title and the
  /// n-th content.
  ///
  /// in:     texts_at - all texts that a path finds in the answer
  void append_zipped(const std::function<std::vector<PartText>(const std::string& path)>& texts_at);

 private:
  PartText changed(const PartRule& rule, PartText part);
  PartText joined(const PartRule& rule, const PartOf& part_of);
  PartText part(const PartRule& rule, const PartOf& part_of);
  PartText filled(const std::string& format, const PartOf& part_of);
  PartText url(const PartOf& part_of);
  PartText with_prefix(const std::string& prefix, PartText part);
  void read(RawHit& raw, const PartOf& part_of);
  std::optional<std::string> shown_url(std::string_view link) const;

  /// A part that the rules name, besides the URL. A plain one is what its one path finds.
  struct NamedPart {
    const PartRule* rule;
    PartText RawHit::*text;
    bool is_plain;
  };

  RankedList& list_;
  const AnswerRules& rules_;
  const AnswerContext& context_;
  std::vector<NamedPart> named_;
  TextPool texts_;
  RawHit raw_;  ///< kept from result to result, which have the same parts
};

/// The failure of an answer whose parsing reached the context's end.
Error parsed_too_long();

/// Texts with a separator between them.
std::string joined_texts(const std::vector<std::string>& texts, std::string_view separator);

/// Appends a cleaned suggestion, at most 20.
void append_suggestion(RankedList& list, std::string_view text, const AnswerContext& context);

using Texts = std::vector<std::string>;
using ParseAnswer = Result<RankedList>(const AnswerRules& rules, std::string_view body,
                                       const AnswerContext& context);
using FindTexts = Result<Texts>(const std::string& path, std::string_view body, const AnswerContext& context,
                                std::size_t most);
using CheckPath = Result<void>(const std::string& path);

ParseAnswer parse_json_answer, parse_groonga_answer, parse_xml_answer, parse_html_answer;
FindTexts json_texts, xml_texts, html_texts;
CheckPath check_key_path, check_xml_xpath, check_html_xpath;

/// errors: bad_data: too large, too deep, or not XML
Result<void> load_xml(pugi::xml_document& document, std::string_view body, const AnswerContext& context);

}  // namespace metafuse::fetchers
