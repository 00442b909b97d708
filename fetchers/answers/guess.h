#pragma once

#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/definition/engine.h"

// Where the results of an answer that nobody has described probably are: for whoever begins a definition.

namespace metafuse::fetchers {

/// Rules that find results in an answer, by the names of its keys and by what its values look like: the list
/// whose items have an address, a title and a text.
///
/// in:     body - JSON, XML or HTML; context - as for parse_answer
/// out:    rules that parse_answer takes; parts that nothing looks like are empty
/// errors: bad_data: an answer that does not parse, or without anything that looks like a list of results
/// cost:   O(bytes) for JSON and XML, O(elements * depth) for HTML
Result<AnswerRules> guess_rules(std::string_view body, const AnswerContext& context);

/// The definition as YAML, a block of an engines file.
///
/// in: search_url - with {query}
std::string definition_text(const AnswerRules& rules, const std::string& name, const std::string& search_url);

/// A URL whose parameter that looks like the query (`q`, `query`, `search` ...) is {query} instead; without
/// such a parameter the URL as it is. Its braces are doubled.
std::string search_url_of(const std::string& url);

// guess_tree.cpp: lists in JSON, or in XML that was made JSON.
Result<AnswerRules> guess_in_tree(const Json& root, AnswerRules::Format format);
// guess_page.cpp
Result<AnswerRules> guess_in_page(std::string_view body, const AnswerContext& context);

}  // namespace metafuse::fetchers
