#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/ranked_list.h"
#include "fetchers/answer_parser.h"

namespace metafuse::fetchers::parsers {

/// The parts of one result as an answer has them.
struct RawHit {
  std::optional<std::string> url;
  std::string title;
  std::string content;
  std::string published;
  std::string score;
  std::string thumbnail;
};

/// The value of a part of the result by its path; nothing when the result does not have it.
using PartOf = std::function<std::optional<std::string>(const std::string& path)>;

/// Reads the parts that the rules name.
RawHit read_raw_hit(const AnswerRules& rules, const PartOf& part_of, const AnswerContext& context);

/// Cleans a result and appends it, unless it has no URL that a browser can open.
void append_hit(RankedList& list, RawHit raw, const AnswerRules& rules, const AnswerContext& context,
                bool is_text_html);

/// Appends a cleaned suggestion, at most 20.
void append_suggestion(RankedList& list, std::string_view text);

/// The charset of "text/html; charset=utf-8", in small letters, or empty.
std::string charset_of(std::string_view content_type);

Result<RankedList> parse_json_answer(const AnswerRules& rules, std::string_view body,
                                     const AnswerContext& context);
Result<RankedList> parse_groonga_answer(const AnswerRules& rules, std::string_view body,
                                        const AnswerContext& context);
Result<RankedList> parse_xml_answer(const AnswerRules& rules, std::string_view body,
                                    const AnswerContext& context);
Result<RankedList> parse_html_answer(const AnswerRules& rules, std::string_view body,
                                     const AnswerContext& context);

}  // namespace metafuse::fetchers::parsers
