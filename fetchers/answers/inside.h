#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// The JSON or HTML inside an answer, where json_after, json_xpath, json_query and html_query find it.
///
/// errors: bad_data: the answer has nothing there
/// cost:   O(body)
Result<std::string> inner_answer(const Inside& inside, std::string_view body, const AnswerContext& context);

/// The JSON value at the beginning of a text, up to its closing bracket; empty if there is none.
std::string_view leading_json(std::string_view text);

}  // namespace metafuse::fetchers
