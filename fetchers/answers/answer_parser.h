#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "fetchers/definition/engine.h"

namespace metafuse::fetchers {

/// What an answer has of what the rules look for: for the person who writes a definition.
struct AnswerFindings {
  std::size_t items = 0;
  std::size_t with_url = 0;
  std::size_t with_title = 0;
  std::vector<std::string> keys;  ///< of the first item, where it has keys
  /// Of the first three items: each part's name and what was found for it, such without a URL included.
  std::vector<std::vector<std::pair<std::string_view, std::string>>> first;
};

/// What a parser knows of the answer beside its bytes.
struct AnswerContext {
  std::string url;           ///< where the answer came from: relative URLs are resolved against it
  std::string content_type;  ///< of the answer, for its charset
  std::string language;      ///< what {lang} was in the request
  AnswerFindings* findings = nullptr;
  std::vector<std::string>* ids = nullptr;  ///< takes the identifier of every hit (AnswerRules::id)
  std::size_t spare_bytes = 0;              ///< behind the answer's, that may be read
};

/// The ranked list of an answer.
///
/// out:    hits with an http or https URL, in the order of the answer; text is cleaned
/// errors: bad_data, saying what is wrong: the answer does not parse, says that it is an error, or has no
///         list of results where the rules look for one
/// cost:   O(bytes), some 20 microseconds for 11 KB of JSON
Result<RankedList> parse_answer(const AnswerRules& rules, std::string_view body,
                                const AnswerContext& context);

/// The texts that a key path or an XPath finds from the root of an answer, in its order (cursors).
///
/// out:    at most `most` texts that are not empty
/// errors: bad_data: the answer does not parse
Result<std::vector<std::string>> answer_texts(AnswerRules::Format format, const std::string& path,
                                              std::string_view body, const AnswerContext& context,
                                              std::size_t most);

/// errors: bad_config: not XPath 1.0, for the library that evaluates it
Result<void> check_html_xpath(const std::string& xpath);
Result<void> check_xml_xpath(const std::string& xpath);
/// errors: bad_config: a key path without a key
Result<void> check_key_path(const std::string& path);

}  // namespace metafuse::fetchers
