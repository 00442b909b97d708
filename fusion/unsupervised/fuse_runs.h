#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/atomic_file.h"
#include "core/result.h"
#include "evaluation/runs/run_file.h"
#include "fusion/unsupervised/fusion_method.h"

namespace metafuse::fusion {

/// The scores of one query's documents; called from several threads at once.
using ScoreQuery = std::function<std::vector<double>(const QueryLists&)>;

struct FuseOptions {
  std::size_t depth = 0;  ///< how far down each list counts, 0 for all of it
  std::size_t limit = 0;  ///< documents written for a topic, 0 for all
  unsigned threads = 1;
  std::string tag = "metafuse";
};

/// Fuses run files text to text, topic by topic: every topic that stands in any run, ascending bytewise.
/// Scores in the output are n, n - 1, ... 1 over the topic's n documents: they encode the fused order exactly
/// in any precision.
///
/// errors: as read_run, and those of the writer
/// cost:   O(lines) time; private memory for a few topics at a time beside the indices
Result<void> fuse_files(std::span<const evaluation::RunIndex> runs, const ScoreQuery& score,
                        const FuseOptions& options, FileWriter& output);

/// Joins the lists of one topic, one per run, nullptr where a run has none. Documents are numbered in the
/// order in which the lists first name them.
QueryLists join_lists(std::span<const evaluation::RunTopic* const> lists, std::size_t depth);

/// The lists of one topic; a run without the topic has an empty list. Documents are numbered in the order of
/// the lists.
QueryLists lists_of_topic(std::span<const evaluation::Run> runs, std::string_view topic, std::size_t depth);

/// All topics of the runs, ascending bytewise.
std::vector<std::string_view> topics_of(std::span<const evaluation::Run> runs);

}  // namespace metafuse::fusion
