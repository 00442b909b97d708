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

/// Scores the documents of one query. Called from several threads at once.
using ScoreQuery = std::function<std::vector<double>(const QueryLists&)>;

/// Most documents of a topic for a method with FusionMethod::compares_documents. For as many, mc4 takes about
/// 10 seconds and up to 800 MB.
constexpr std::size_t kMostComparedDocuments = 20'000;

struct FuseOptions {
  std::size_t depth = 0;           ///< how many ranks of each list count, 0 for all
  std::size_t limit = 0;           ///< documents written per topic, 0 for all
  std::size_t most_documents = 0;  ///< of a topic in all lists together, 0 for any number
  unsigned threads = 1;
  std::string tag = "metafuse";
};

/// Fuses run files into a run, topic by topic: every topic of any run, in ascending bytewise order. The n
/// documents written for a topic get the scores n, n - 1, ..., 1, which preserve the fused order exactly in
/// any precision.
///
/// errors: as read_run, and those of the writer; bad_data with the topic, where one has more documents than
///         the options allow
/// cost:   O(lines) time; memory: the indices, and a few topics at a time
Result<void> fuse_files(std::span<const evaluation::RunIndex> runs, const ScoreQuery& score,
                        const FuseOptions& options, FileWriter& output);

/// Joins the lists of one topic, one per run; nullptr if a run does not have the topic. Documents are
/// numbered in the order in which they first occur in the lists.
QueryLists join_lists(std::span<const evaluation::RunTopic* const> lists, std::size_t depth);

/// The lists of one topic; empty for a run that does not have the topic. Documents are numbered as
/// by join_lists().
QueryLists lists_of_topic(std::span<const evaluation::Run> runs, std::string_view topic, std::size_t depth);

}  // namespace metafuse::fusion
