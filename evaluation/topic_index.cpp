#include "evaluation/topic_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluation/id_table.h"
#include "evaluation/line_parser.h"

namespace metafuse::evaluation {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;

bool continues(const char* line, const char* end, std::string_view topic) {
  return !topic.empty() && static_cast<std::size_t>(end - line) > topic.size() &&
         same_bytes(line, topic.data(), topic.size()) &&
         (line[topic.size()] == ' ' || line[topic.size()] == '\t');
}

/// Pieces in file order; blank lines and comments end a piece.
Result<void> find_pieces(const FileText& file, std::vector<TopicPiece>& pieces) {
  const char* at = file.text.data();
  const char* const end = at + file.text.size();
  std::string_view topic;
  const char* begin = nullptr;
  const auto close = [&](const char* behind) {
    if (!topic.empty()) pieces.push_back({topic, {begin, static_cast<std::size_t>(behind - begin)}});
    topic = {};
  };
  while (at < end) {
    if (!continues(at, end, topic)) {
      close(at);
      LineParser line(at, end);
      topic = line.field();
      begin = at;
      if (topic.empty() && !line.at_line_end())
        return bad_line(file, at, "a control byte; this is not a text file");
      if (topic.starts_with('#')) topic = {};
    }
    const auto* line_end =
        static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    const char* const behind = line_end == nullptr ? end : line_end + 1;
    if (static_cast<std::size_t>(behind - at) > kLongestLine)
      return bad_line(file, at, "a line longer than 64 MiB; this is not the expected text file");
    at = behind;
  }
  close(end);
  return {};
}

void sort_pieces(std::vector<TopicPiece>& pieces) {
  struct Keyed {
    IdKey key;
    std::size_t place;
  };
  std::vector<Keyed> order;
  order.reserve(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) order.push_back({IdKey(pieces[i].topic), i});
  const auto less = [](const Keyed& a, const Keyed& b) {
    if (a.key < b.key) return true;
    return !(b.key < a.key) && a.place < b.place;
  };
  if (std::is_sorted(order.begin(), order.end(), less)) return;
  std::sort(order.begin(), order.end(), less);
  std::vector<TopicPiece> sorted;
  sorted.reserve(pieces.size());
  for (const Keyed& item : order) sorted.push_back(pieces[item.place]);
  pieces = std::move(sorted);
}

}  // namespace

IdKey::IdKey(std::string_view text) : id(text) {
  char bytes[8] = {};
  std::memcpy(bytes, text.data(), std::min<std::size_t>(8, text.size()));
  std::memcpy(&head, bytes, 8);
  if constexpr (std::endian::native == std::endian::little) head = __builtin_bswap64(head);
}

Result<TopicIndex> index_topics(const std::string& path) {
  auto file = open_text(path);
  if (!file) return file.error();
  TopicIndex index;
  index.file = std::move(*file);
  if (auto found = find_pieces(index.file, index.pieces); !found) return found.error();
  if (index.pieces.empty())
    return fail(Code::bad_data, path + ": holds no line; check that it is the right file and complete");
  sort_pieces(index.pieces);
  for (std::size_t i = 0; i < index.pieces.size(); ++i)
    if (i == 0 || index.pieces[i].topic != index.pieces[i - 1].topic) index.starts.push_back(i);
  index.starts.push_back(index.pieces.size());
  return index;
}

}  // namespace metafuse::evaluation
