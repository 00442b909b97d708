#pragma once

#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/model/engine.h"

// Guesses where the results are in an answer that no definition describes, for people who start writing one.

namespace metafuse::fetchers {

/// Rules that find the results in an answer, judged by key names and by what the values look like. The chosen
/// list is the one whose items have a URL, a title and a text.
///
/// in:     body - JSON, XML or HTML; context - as for parse_answer
/// out:    rules for parse_answer; a part that nothing resembles is empty
/// errors: bad_data: the answer cannot be parsed, or nothing in it looks like a list of results
/// cost:   O(bytes) for JSON and XML, O(elements * depth^2) for HTML, of whose elements it reads 50,000
Result<AnswerRules> guess_rules(std::string_view body, const AnswerContext& context);

/// A JSON or XML answer as one tree. In XML, attributes become "@name", and several elements of one name
/// become a list.
///
/// errors: bad_data: the answer cannot be parsed
Result<Json> answer_tree(AnswerRules::Format format, std::string_view body, const AnswerContext& context);

/// A path in such a tree, as "$/a/*/b/0", in XPath: lists are repeated elements there.
///
/// in:     is_in_result - from a result, else from the root
std::string tree_path_as_xpath(std::string_view path, bool is_in_result);

/// A definition in YAML, as a block of an engines file.
///
/// in:     search_url - contains {query}
std::string definition_text(const AnswerRules& rules, const std::string& name, const std::string& search_url);

/// Replaces the value of the parameter that looks like the query (`q`, `query`, `search` ...) by {query}.
/// Without such a parameter the URL stays as it is. Other braces in it are doubled.
std::string search_url_of(const std::string& url);

// guess_tree.cpp: lists in JSON, or in XML converted to JSON.
Result<AnswerRules> guess_in_tree(const Json& root, AnswerRules::Format format);
// guess_page.cpp
Result<AnswerRules> guess_in_page(std::string_view body, const AnswerContext& context);

}  // namespace metafuse::fetchers
