#include "evaluation/runs/topic_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluation/runs/lines.h"

namespace metafuse::evaluation {

void IdTable::reserve(std::size_t ids) {
  if (ids * 2 > slots_.size()) resize(std::bit_ceil(ids * 2));
}

void IdTable::resize(std::size_t slots) {
  const std::size_t size = std::max<std::size_t>(64, slots);
  slots_.assign(size, {});
  mask_ = size - 1;
  generation_ = 1;
  for (std::size_t number = 0; number < ids_.size(); ++number) {
    const std::uint64_t hash = hash_of(ids_[number]);
    std::size_t at = hash & mask_;
    while (slots_[at].generation == generation_) at = (at + 1) & mask_;
    slots_[at] = {generation_, static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(number)};
  }
}

std::uint32_t IdTable::insert_new(std::string_view id, std::size_t at, std::uint32_t check, bool& is_new) {
  const auto number = static_cast<std::uint32_t>(ids_.size());
  slots_[at] = {generation_, check, number};
  ids_.push_back(id);
  is_new = true;
  return number;
}

namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;

/// Tells whether a line begins with the expected topic and a blank.
class TopicMatch {
 public:
  /// in: end - the end of the readable bytes
  explicit TopicMatch(const char* end) : end_(end) {}

  void expect(std::string_view topic) {
    topic_ = topic;
    word_ = 0;
    mask_ = 0;
    if (topic.empty() || topic.size() > 7) return;
    char begin[8] = {};
    std::memcpy(begin, topic.data(), topic.size());
    begin[topic.size()] = ' ';
    word_ = eight_bytes(begin);
    std::memset(&mask_, 0xff, topic.size() + 1);
  }

  bool operator()(const char* line) const {
    if (mask_ != 0 && end_ - line >= 8 && ((eight_bytes(line) ^ word_) & mask_) == 0) return true;
    return !topic_.empty() && static_cast<std::size_t>(end_ - line) > topic_.size() &&
           same_bytes(line, topic_.data(), topic_.size()) &&
           (line[topic_.size()] == ' ' || line[topic_.size()] == '\t');
  }

 private:
  const char* end_;
  std::string_view topic_;
  std::uint64_t word_ = 0;  // a short topic with the blank after it; mask_ selects these bytes of a line
  std::uint64_t mask_ = 0;
};

/// Finds the pieces, in file order; blank lines and comments end a piece.
Result<void> find_pieces(const FileText& file, std::vector<TopicPiece>& pieces) {
  const char* at = file.text.data();
  const char* const end = at + file.text.size();
  std::string_view topic;
  const char* begin = nullptr;
  TopicMatch continues(end);
  ByteScanner<LineEnds> line_ends(at, end);
  const auto close = [&](const char* behind) {
    if (!topic.empty()) pieces.push_back({IdKey(topic), {begin, static_cast<std::size_t>(behind - begin)}});
  };
  while (at < end) {
    if (!continues(at)) {
      close(at);
      LineParser line(at, end);
      topic = line.field();
      begin = at;
      if (topic.empty() && !line.at_line_end())
        return bad_line(file, at, "a control byte; this is not a text file");
      if (topic.starts_with('#')) topic = {};
      continues.expect(topic);
    }
    const char* const line_end = line_ends.next();
    const char* const behind = line_end == end ? end : line_end + 1;
    if (static_cast<std::size_t>(behind - at) > kLongestLine)
      return bad_line(file, at, "a line longer than 64 MiB; this is not the expected text file");
    at = behind;
  }
  close(end);
  return {};
}

/// Repeatedly merges neighbouring ascending stretches until one is left. Fast for topics in byte order (one
/// stretch) or in numeric order (a few stretches that ascend bytewise).
template <class Item, class Less>
void natural_merge_sort(std::vector<Item>& items, Less less) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (i == 0 || less(items[i], items[i - 1])) starts.push_back(i);
  if (starts.size() <= 1) return;
  std::vector<Item> merged = items;
  while (starts.size() > 1) {
    std::vector<std::size_t> next;
    const auto place = [&](std::size_t stretch) {
      return static_cast<std::ptrdiff_t>(stretch < starts.size() ? starts[stretch] : items.size());
    };
    for (std::size_t stretch = 0; stretch < starts.size(); stretch += 2) {
      const auto begin = items.begin() + place(stretch);
      const auto middle = items.begin() + place(stretch + 1);
      const auto end = items.begin() + place(stretch + 2);
      std::merge(begin, middle, middle, end, merged.begin() + place(stretch), less);
      next.push_back(starts[stretch]);
    }
    items.swap(merged);
    starts = std::move(next);
  }
}

}  // namespace

IdKey::IdKey(std::string_view text) : id(text) {
  char bytes[8] = {};
  std::memcpy(bytes, text.data(), std::min<std::size_t>(8, text.size()));
  std::memcpy(&head, bytes, 8);
  if constexpr (std::endian::native == std::endian::little) head = __builtin_bswap64(head);
}

Result<TopicIndex> index_topics(const std::string& path, WithoutLines without_lines) {
  TRY(auto file, open_text(path));
  TopicIndex index;
  index.file = std::move(file);
  TRY_VOID(find_pieces(index.file, index.pieces));
  const bool may_be_empty = without_lines == WithoutLines::accepted ||
                            (without_lines == WithoutLines::commented && index.file.text.starts_with('#'));
  if (index.pieces.empty() && !may_be_empty)
    return fail(Code::bad_data, path + ": contains no lines; check that it is the right file and complete");
  // the pieces of one topic stay in file order
  natural_merge_sort(index.pieces,
                     [](const TopicPiece& a, const TopicPiece& b) { return a.topic < b.topic; });
  for (std::size_t i = 0; i < index.pieces.size(); ++i)
    if (i == 0 || !(index.pieces[i].topic == index.pieces[i - 1].topic)) index.starts.push_back(i);
  index.starts.push_back(index.pieces.size());
  return index;
}

}  // namespace metafuse::evaluation
