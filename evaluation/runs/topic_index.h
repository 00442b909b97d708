#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/text_file.h"

namespace metafuse::evaluation {

/// Consecutive lines of one topic; a topic whose lines do not stand together has several pieces.
struct TopicPiece {
  std::string_view topic;
  std::string_view lines;
};

/// Where the lines of every topic stand in a run or qrels file. The file can then be parsed topic by topic,
/// by many threads, without ever holding it as a whole in private memory.
struct TopicIndex {
  FileText file;
  std::vector<TopicPiece> pieces;   ///< ascending by topic bytewise, within a topic in file order
  std::vector<std::size_t> starts;  ///< the first piece of every topic, and pieces.size()

  std::size_t topic_count() const { return starts.size() - 1; }
  std::string_view topic(std::size_t number) const { return pieces[starts[number]].topic; }
  std::span<const TopicPiece> pieces_of(std::size_t number) const {
    return {pieces.data() + starts[number], starts[number + 1] - starts[number]};
  }
};

/// in:     path - a run or qrels file; lines whose first field starts with '#' are comments
/// errors: those of open_text; bad_data with file and line for a line that is too long, and when no line
/// holds
///         anything
/// cost:   one pass that looks for line ends and the first field
Result<TopicIndex> index_topics(const std::string& path);

/// Bytewise order of two ids: the eight first bytes as one number, then the rest.
struct IdKey {
  std::uint64_t head = 0;
  std::string_view id;

  explicit IdKey(std::string_view text);
  friend bool operator<(const IdKey& a, const IdKey& b) {
    return a.head != b.head ? a.head < b.head : a.id < b.id;
  }
};

}  // namespace metafuse::evaluation
