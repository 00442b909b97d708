#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/query.h"
#include "fetchers/answers/answer_parser.h"

namespace metafuse::fetchers {

/// A text of the answer: a view into the parsed answer where it stands there as it is, else a copy.
class PartText {
 public:
  PartText() = default;
  PartText(std::string_view view) : text_(view) {}
  PartText(std::string copy) : text_(std::move(copy)) {}

  std::string_view view() const {
    const auto* copy = std::get_if<std::string>(&text_);
    return copy != nullptr ? std::string_view(*copy) : std::get<std::string_view>(text_);
  }
  bool empty() const { return view().empty(); }
  void put_before(const std::string& prefix) {
    if (!prefix.empty()) text_ = prefix + std::string(view());
  }

 private:
  std::variant<std::string_view, std::string> text_;
};

/// The parts of one result as an answer has them.
struct RawHit {
  std::optional<PartText> url;
  PartText title;
  PartText content;
  PartText published;
  PartText score;
  PartText thumbnail;
  PartText id;
};

/// The value of a part of the result by its path; nothing when the result does not have it. With a separator,
/// all values joined by it.
using PartOf = std::function<std::optional<PartText>(const std::string& path, const std::string* separator)>;

/// Texts with a separator between them.
std::string joined_texts(const std::vector<std::string>& texts, std::string_view separator);

/// Reads the parts that the rules name.
RawHit read_raw_hit(const AnswerRules& rules, const PartOf& part_of, const AnswerContext& context);

/// Cleans a result and appends it, unless it has no URL that a browser can open.
void append_hit(RankedList& list, const RawHit& raw, const AnswerRules& rules, const AnswerContext& context,
                bool is_text_html);

/// Appends a cleaned suggestion, at most 20.
void append_suggestion(RankedList& list, std::string_view text);

Result<RankedList> parse_json_answer(const AnswerRules& rules, std::string_view body,
                                     const AnswerContext& context);
Result<RankedList> parse_groonga_answer(const AnswerRules& rules, std::string_view body,
                                        const AnswerContext& context);
Result<RankedList> parse_xml_answer(const AnswerRules& rules, std::string_view body,
                                    const AnswerContext& context);
Result<RankedList> parse_html_answer(const AnswerRules& rules, std::string_view body,
                                     const AnswerContext& context);

using Texts = std::vector<std::string>;
Result<Texts> json_texts(const std::string& path, std::string_view body, const AnswerContext& context,
                         std::size_t most);
Result<Texts> xml_texts(const std::string& path, std::string_view body, const AnswerContext& context,
                        std::size_t most);
Result<Texts> html_texts(const std::string& path, std::string_view body, const AnswerContext& context,
                         std::size_t most);

}  // namespace metafuse::fetchers
