#pragma once

#include <functional>
#include <memory>
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

/// A text of the answer: a view into the parsed answer where it stands there as it is, else a copy.
class PartText {
 public:
  PartText() = default;
  PartText(std::string_view view) : view_(view) {}
  PartText(std::string copy) : copy_(std::make_unique<const std::string>(std::move(copy))), view_(*copy_) {}

  std::string_view view() const { return view_; }
  bool empty() const { return view_.empty(); }
  void put_before(const std::string& prefix) {
    if (!prefix.empty()) *this = PartText(prefix + std::string(view_));
  }

 private:
  std::unique_ptr<const std::string> copy_;  ///< apart, so that moving it leaves the view valid
  std::string_view view_;
};

/// The parts of one result as an answer has them.
struct RawHit {
  std::optional<PartText> url;
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

/// The value of a part of the result by its path; nothing when the result does not have it. With a separator,
/// all values joined by it.
using PartOf = std::function<std::optional<PartText>(const std::string& path, const std::string* separator)>;

/// The failure of an answer whose parsing reached the context's end.
Error parsed_too_long();

/// Texts with a separator between them.
std::string joined_texts(const std::vector<std::string>& texts, std::string_view separator);

/// Reads the parts that the rules name.
RawHit read_raw_hit(const AnswerRules& rules, const PartOf& part_of, const AnswerContext& context);

/// Cleans a result and appends it, unless it has no URL that a browser can open.
void append_hit(RankedList& list, const RawHit& raw, const AnswerRules& rules, const AnswerContext& context,
                bool is_text_html);

/// Appends the results of an answer that does not list them: the n-th URL goes with the n-th title and the
/// n-th content.
///
/// in:     texts_at - all texts that a path finds in the answer
void append_zipped(RankedList& list, const AnswerRules& rules, const AnswerContext& context,
                   const std::function<std::vector<PartText>(const std::string& path)>& texts_at);

/// Appends a cleaned suggestion, at most 20.
void append_suggestion(RankedList& list, std::string_view text);

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
