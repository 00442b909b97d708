#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

// What a language model is asked, and how its answer is read. Documents are written by strangers. Their texts
// stand between lines with a random mark, which no author of a document can know; each has a random id for
// one request; and an answer counts only if it has exactly one grade for each id and nothing else. So a text
// can neither end its own document, nor name another one in an answer.

namespace metafuse::service {

/// A document as the model sees it.
struct TextToGrade {
  std::string title;
  std::string text;

  friend bool operator==(const TextToGrade&, const TextToGrade&) = default;
};

/// How much of a query, a title and a text is sent, in bytes.
struct JudgeTextLimits {
  std::size_t query = 2000;
  std::size_t title = 300;
  std::size_t text = 4000;
};

/// The text on one line, without control characters and markup, cut to `bytes`.
std::string text_to_grade(std::string_view text, std::size_t bytes);

/// Whether a text speaks of grades, instructions or prompts. Such a document is graded in a request of its
/// own, where it can move no other document's grade.
bool speaks_to_judge(const TextToGrade& document);

/// A request's text, and the ids by which the model names the documents.
struct GradeRequest {
  std::string text;
  std::vector<std::string> ids;  ///< in the order of the documents
};

/// The instructions to a model: a text with the gaps {mark}, {query} and {documents}.
class JudgePrompt {
 public:
  /// in:     name - where the text comes from, for errors
  /// errors: bad_config: a gap is missing, or the text is longer than 64 KiB
  static Result<JudgePrompt> parse(std::string text, const std::string& name);
  /// The prompt that ships (config/judge-prompt.txt).
  static JudgePrompt built_in();

  const std::string& text() const { return text_; }

  /// The request for some documents, with a new mark and new ids.
  GradeRequest request(const std::string& query, std::span<const TextToGrade> documents) const;

 private:
  explicit JudgePrompt(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

/// Reads the grades in a model's answer: a JSON object with exactly the ids as members, each a whole number
/// from 0 to kBestModelGrade. Around it only white space, one code fence, and before it one block
/// <think>...</think> are accepted.
///
/// out: in the order of the ids; nothing for any other answer
std::optional<std::vector<int>> read_grades_answer(std::string_view answer,
                                                   const std::vector<std::string>& ids);

}  // namespace metafuse::service
