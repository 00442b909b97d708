#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "fetchers/answers/work_end.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// How much of what the rules look for an answer contains; shown to the author of a definition.
struct AnswerFindings {
  std::size_t items = 0;
  std::vector<std::string> keys;  ///< of the first item, if items have keys
  /// How many items have each of kResultParts, and then each of AnswerRules::details.
  std::vector<std::size_t> with;
  /// Of the first three items, even without a URL: the text found for each of these parts.
  std::vector<std::vector<std::string>> first;
};

/// What a parser knows about the answer besides its bytes.
struct AnswerContext {
  std::string url;           ///< where the answer came from; base of relative URLs
  std::string content_type;  ///< of the answer, for its charset
  std::string language;      ///< the value of {lang} in the request
  AnswerFindings* findings = nullptr;
  std::vector<std::string>* ids = nullptr;  ///< receives the identifier of every hit (AnswerRules::id)
  std::size_t spare_bytes = 0;              ///< bytes after the body that may be read, though not used
  std::string query{};                      ///< for AnswerRules::match
  std::int64_t now = 0;                     ///< seconds since 1970, for "3 hours ago"; 0: unknown
  mutable WorkEnd end{};                    ///< when to stop; the answer is lost then
  HiddenTexts secrets{};                    ///< that no text may hold the beginning of
};

/// Extracts the ranked list from an answer.
///
/// out:    hits with an http or https URL, in the order of the answer; text is cleaned
/// errors: bad_data, saying what is wrong: the answer cannot be parsed, reports an error itself, or has no
///         list of results where the rules look for one
/// cost:   O(bytes), about 5 microseconds for 11 KB of JSON
Result<RankedList> parse_answer(const AnswerRules& rules, std::string_view body,
                                const AnswerContext& context);

/// The texts that a key path or XPath finds from the root of an answer, in document order (cursors).
///
/// out:    at most `most` non-empty texts
/// errors: bad_data: the answer cannot be parsed
Result<std::vector<std::string>> answer_texts(AnswerRules::Format format, const std::string& path,
                                              std::string_view body, const AnswerContext& context,
                                              std::size_t most);

/// errors: bad_config: not valid XPath 1.0 for the library that evaluates it, or a key path without a key
Result<void> check_answer_path(AnswerRules::Format format, const std::string& path);

}  // namespace metafuse::fetchers
