#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/text_file.h"
#include "evaluation/runs/topic_index.h"

namespace metafuse::evaluation {

/// One parsed line of a run.
struct RunLine {
  std::string_view document;
  double score = 0.0;
  std::int64_t rank = 0;
};

/// Parses whole lines of one topic, none of them blank, and appends them to `lines`.
///
/// in:     text - a part of the file; tag - the tag that every line must have; is_lenient - ignore the tag
///         and anything after it
/// errors: bad_data with file and line as in read_run
/// cost:   8 ns with AVX2 and 13 without for a line of six fields with single blanks and at most 64 bytes;
///         about 40 for others
Result<void> parse_run_lines(const FileText& file, std::string_view text, std::string_view tag,
                             bool is_lenient, std::vector<RunLine>& lines);

struct RunEntry {
  std::string_view document;
  double score = 0.0;
};

/// One run's list for one topic; the entry at index 0 has rank 1.
struct RunTopic {
  std::string_view topic;
  std::vector<RunEntry> entries;  ///< by descending score, then the file's rank, then document id
};

/// A TREC run; its views point into `storage`.
struct Run {
  std::string name;  ///< the NAME of NAME=FILE, or else the tag
  std::string path;
  std::vector<RunTopic> topics;  ///< in ascending byte order of ids
  std::shared_ptr<const void> storage;

  const RunTopic* find(std::string_view topic) const;
};

/// Whether a text can be a column of a run's line: not empty, and without blanks and control bytes.
bool is_run_column(std::string_view text);

struct RunFileOptions {
  /// Ignore text after the tag, and tags that differ within the file, as trec_eval does. Otherwise both are
  /// errors, since they mean ids with blanks or several runs in one file.
  bool is_lenient = false;
  /// A file without any line is a list that found nothing, named after its file. Otherwise only a file that
  /// says so in a comment is.
  bool may_be_empty = false;
};

/// Reads a TREC run with lines `topic Q0 document rank score tag`, plain or compressed.
///
/// in:     argument - FILE or NAME=FILE (an existing file whose name contains '=' is a FILE)
/// errors: those of open_text; bad_data with file and line: too few or too many columns, a rank that is
///         negative or not a whole number, a score that is not finite, a document twice in a topic, two
///         different tags; a file without any line
Result<Run> read_run(const std::string& argument, const RunFileOptions& options = {});

/// Reads several runs, which must have different names, with up to `threads` threads.
/// errors: as read_run, for the first faulty file on the command line; usage when two runs have the same name
Result<std::vector<Run>> read_runs(std::span<const std::string> arguments, const RunFileOptions& options = {},
                                   unsigned threads = 1);

/// A run that is parsed topic by topic, for large files.
struct RunIndex {
  std::string name;
  std::string_view tag;  ///< of the file's first line
  TopicIndex topics;
};

/// errors: those of open_text; bad_data for a file without any line
Result<RunIndex> index_run(const std::string& argument, const RunFileOptions& options = {});

/// Parses the lines of one topic into `lines` (cleared first), in file order.
/// errors: bad_data as read_run, except that duplicate documents are not detected
Result<void> parse_run_topic(const RunIndex& run, std::size_t topic, const RunFileOptions& options,
                             std::vector<RunLine>& lines);

/// Sorts by descending score, then rank, then document. Cheap when the lines are nearly sorted.
void sort_as_listed(std::vector<RunLine>& lines);

/// errors: bad_data naming file, line and document when a document occurs twice
Result<void> check_documents_differ(const RunIndex& run, std::size_t topic,
                                    const std::vector<RunLine>& lines);

}  // namespace metafuse::evaluation
