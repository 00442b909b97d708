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

/// One line of a run as parsed.
struct RunLine {
  std::string_view document;
  double score = 0.0;
  std::int64_t rank = 0;
};

/// Parses whole lines of one topic, none of them blank, and appends them to `lines`.
///
/// in:     text - a part of the file; tag - what every line's tag must be; is_lenient - the tag and what
///         stands behind it mean nothing
/// errors: bad_data with file and line as read_run
/// cost:   12 ns for a line of six fields, one blank between two, of at most 64 bytes; others three
/// times that
Result<void> parse_run_lines(const FileText& file, std::string_view text, std::string_view tag,
                             bool is_lenient, std::vector<RunLine>& lines);

struct RunEntry {
  std::string_view document;
  double score = 0.0;
};

/// One run's list for one topic: position 0 has rank 1.
struct RunTopic {
  std::string_view topic;
  std::vector<RunEntry> entries;  ///< by score descending, the file's rank ascending, document id ascending
};

/// A TREC run; the views point into `storage`.
struct Run {
  std::string name;  ///< NAME of NAME=FILE, else the tag
  std::string path;
  std::vector<RunTopic> topics;  ///< ascending by id, bytewise
  std::shared_ptr<const void> storage;

  const RunTopic* find(std::string_view topic) const;
};

struct RunFileOptions {
  /// What trec_eval does: text after the tag, and tags that differ within the file, mean nothing. Otherwise
  /// both are errors, since they are ids with blanks or several runs in one file.
  bool is_lenient = false;
};

/// Reads a TREC run: `topic Q0 document rank score tag` a line, plain or compressed.
///
/// in:     argument - FILE or NAME=FILE (an existing file whose name holds '=' is a FILE)
/// errors: those of open_text; bad_data with file and line: too few or too many columns, a rank that is no
///         whole number or negative, a score that is not finite, a document twice in a topic, two tags; a
///         file without any line
Result<Run> read_run(const std::string& argument, const RunFileOptions& options = {});

/// Several runs with unique names, read by up to `threads` threads.
/// errors: as read_run (the first of the command line), and usage when two have one name.
Result<std::vector<Run>> read_runs(std::span<const std::string> arguments, const RunFileOptions& options = {},
                                   unsigned threads = 1);

/// A run that is parsed topic by topic: what large files are read with.
struct RunIndex {
  std::string name;
  std::string_view tag;  ///< of the file's first line
  TopicIndex topics;
};

/// errors: those of open_text; bad_data for a file without any line
Result<RunIndex> index_run(const std::string& argument);

/// Parses the lines of one topic into `lines` (cleared first), in file order.
/// errors: bad_data as read_run, but for documents that stand twice
Result<void> parse_run_topic(const RunIndex& run, std::size_t topic, const RunFileOptions& options,
                             std::vector<RunLine>& lines);

/// Sorts by score descending, rank ascending, document ascending. Cheap when nearly sorted.
void sort_as_listed(std::vector<RunLine>& lines);

/// errors: bad_data naming file, line and document when a document stands twice
Result<void> check_documents_differ(const RunIndex& run, std::size_t topic,
                                    const std::vector<RunLine>& lines);

}  // namespace metafuse::evaluation
