#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/progress.h"
#include "core/result.h"
#include "service/judges/chat_endpoint.h"
#include "service/judges/judge_prompt.h"
#include "service/judges/kept_answers.h"

// Asks a language model for the grades of many documents: several per request, several requests at once,
// within a budget, and no question twice.

namespace metafuse::service {

/// A query and the documents to grade.
struct JudgeTask {
  std::string query;
  std::vector<std::string> documents;  ///< their keys, for the file of answers
  std::vector<TextToGrade> texts;      ///< one per document
};

/// Limits of one run; 0: none. No request is sent that could exceed them, if a prompt has at most one token
/// for three bytes, or as many per byte as an earlier one of the run.
struct JudgeBudget {
  std::uint64_t requests = 0;
  std::uint64_t tokens = 0;
  double money = 0;
  double input_price = 0;   ///< of a million tokens
  double output_price = 0;  ///< of a million tokens
};

struct JudgeRunOptions {
  JudgeBudget budget;
  std::size_t documents_per_request = 1;
  unsigned parallel = 4;
  IsInterrupted is_interrupted;
  ProgressReport progress;  ///< in documents
  /// Waits before a request is sent again; should return early when it is interrupted or the run has ended.
  std::function<void(Duration, const IsInterrupted& has_ended)> pause;
};

struct JudgeRun {
  /// By task and document; nothing where the model refused or was not asked.
  std::vector<std::vector<std::optional<int>>> grades;
  std::size_t known = 0;        ///< documents answered by an earlier run
  std::size_t graded = 0;       ///< documents graded in this run
  std::size_t refused = 0;      ///< documents for which the model gave no grade, now or earlier
  std::string refused_answer;   ///< the first of this run without a grade, or why there was no answer
  std::size_t asked_again = 0;  ///< those of `refused` that the next run asks for again
  std::size_t cut = 0;          ///< answers that gave no grade because they ended at the limit of tokens
  std::size_t left = 0;         ///< documents that were not asked, since the run ended before
  std::uint64_t requests = 0;
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  double money = 0;
  std::string ended_by;  ///< why it ended before all was asked; empty if all was
  bool is_interrupted = false;
};

/// Asks for all grades that the file of answers does not have. A document that speaks to judges
/// (speaks_to_judge()) is asked alone. An answer that cannot be read is asked again once; then each of its
/// documents is asked alone; what is still not graded counts as refused, and is not asked again by later runs
/// if the model has graded others. An answer that was cut off would be cut off again, and one that says
/// nothing may be another server's: their documents count as refused in this run only. So does a document
/// whose request, sent alone, the server refuses, or fails to answer several times.
///
/// errors: those of ChatEndpoint::ask() but an interruption; unavailable: no request was answered, or ten in
///         a row were not, all that the budget allowed failed, or nothing that came is in the form of a chat;
///         those of the file of answers. What was answered before is in that file.
Result<JudgeRun> run_judge(const ChatEndpoint& endpoint, const JudgePrompt& prompt,
                           const std::vector<JudgeTask>& tasks, KeptAnswers& kept,
                           const JudgeRunOptions& options);

}  // namespace metafuse::service
