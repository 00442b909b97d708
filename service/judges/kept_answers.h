#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/atomic_file.h"
#include "core/result.h"
#include "service/judges/judge_prompt.h"

namespace metafuse::service {

/// What a model answered about one document.
struct KeptAnswer {
  std::optional<int> grade;  ///< nothing: it gave none, however it was asked
};

/// Identifies what a model was asked about a document: model, prompt, query, title and text.
std::string digest_of_question(std::string_view model, const JudgePrompt& prompt, std::string_view query,
                               const TextToGrade& document);

/// The answers of all runs, in a file of JSON lines {"digest","model","query","document","grade","answer"},
/// which grows by a line per document. A grade of null says that the model refused. Thread-safe.
class KeptAnswers {
 public:
  /// Opens or creates the file, and keeps other processes from writing to it. A last line that was cut off is
  /// ended and left out.
  ///
  /// errors: no_input: not writable; unavailable: another process judges into it; bad_data with the line: not
  ///         such a file
  static Result<std::unique_ptr<KeptAnswers>> open(const std::string& path);
  ~KeptAnswers();
  KeptAnswers(const KeptAnswers&) = delete;
  KeptAnswers& operator=(const KeptAnswers&) = delete;

  std::optional<KeptAnswer> find(const std::string& digest) const;

  /// The answer to one question, for the file's readers.
  struct Line {
    std::string digest;
    std::string_view model, query, document;
    std::optional<int> grade;
    std::string_view answer;  ///< what the model said; the first 2,000 bytes are kept, for people
  };
  /// errors: try_again: the file cannot be written
  Result<void> add(const Line& line);

 private:
  KeptAnswers() = default;
  Result<void> read(const std::string& path);

  std::string path_;
  FileLock lock_;
  std::FILE* file_ = nullptr;
  mutable std::mutex mutex_;
  bool has_added_ = false;
  std::map<std::string, KeptAnswer> known_;
};

}  // namespace metafuse::service
