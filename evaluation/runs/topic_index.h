#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "core/keyed_hash.h"
#include "core/result.h"
#include "core/text_file.h"

namespace metafuse::evaluation {

/// The 8 (or 4) bytes starting at `at` as one number.
inline std::uint64_t eight_bytes(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, 8);
  return word;
}
inline std::uint64_t four_bytes(const char* at) {
  std::uint32_t word = 0;
  std::memcpy(&word, at, 4);
  return word;
}

/// Whether `size` bytes are equal; fast for ids, which are short. The last word compared overlaps the one
/// before it.
inline bool same_bytes(const char* a, const char* b, std::size_t size) {
  if (size >= 8) {
    for (std::size_t i = 0; i + 8 < size; i += 8)
      if (eight_bytes(a + i) != eight_bytes(b + i)) return false;
    return eight_bytes(a + size - 8) == eight_bytes(b + size - 8);
  }
  if (size >= 4)
    return four_bytes(a) == four_bytes(b) && four_bytes(a + size - 4) == four_bytes(b + size - 4);
  for (std::size_t i = 0; i < size; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

inline bool same_id(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_bytes(a.data(), b.data(), a.size());
}

/// Numbers ids 0, 1, 2 ... in the order in which they are first seen. It is made for millions of short lists:
/// clear() costs nothing, and inserting an id allocates nothing. Reading and fusing run files spends most of
/// its time here, so it has its own open addressing: 30 to 40 ns per id of 20 bytes, where
/// boost::unordered_flat_map with Boost's hash takes 110 to 150 (lists of 30 to 1,000 documents).
class IdTable {
 public:
  /// The number of an id; `is_new` tells whether this call assigned it.
  std::uint32_t insert(std::string_view id, bool& is_new) {
    if (ids_.size() * 2 >= slots_.size()) grow();
    const std::uint64_t hash = hash_of(id);
    const auto check = static_cast<std::uint32_t>(hash >> 32);
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.generation != generation_) return insert_new(id, at, check, is_new);
      if (slot.check == check && same_id(ids_[slot.number], id)) {
        is_new = false;
        return slot.number;
      }
    }
  }

  static constexpr std::uint32_t kAbsent = 0xffffffffU;

  /// The number of an id, or kAbsent.
  std::uint32_t find(std::string_view id) const {
    if (slots_.empty()) return kAbsent;
    const std::uint64_t hash = hash_of(id);
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.generation != generation_) return kAbsent;
      if (slot.check == static_cast<std::uint32_t>(hash >> 32) && same_id(ids_[slot.number], id))
        return slot.number;
    }
  }

  /// Makes room for so many ids, so that the table need not grow.
  void reserve(std::size_t ids);
  const std::vector<std::string_view>& ids() const { return ids_; }
  std::size_t size() const { return ids_.size(); }

  void clear() {
    ids_.clear();
    if (++generation_ == 0) {
      for (Slot& slot : slots_) slot.generation = 0;
      generation_ = 1;
    }
  }

 private:
  struct Slot {
    std::uint32_t generation = 0;
    std::uint32_t check = 0;
    std::uint32_t number = 0;
  };

  __extension__ typedef unsigned __int128 Wide;

  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const Wide product = Wide{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  /// Mixes sixteen bytes per multiplication; the last sixteen may overlap those before them. The
  /// multiply-and-fold step is that of wyhash (Wang Yi 2019). The constants are secrets: whoever knew them
  /// could choose ids of which all have one hash.
  std::uint64_t hash_of(std::string_view id) const {
    const char* const at = id.data();
    const std::size_t size = id.size();
    std::uint64_t hash = secret_.first ^ size;
    std::uint64_t last[2] = {};
    if (size >= 16) {
      for (std::size_t i = 0; i + 16 < size; i += 16)
        hash = mix(hash ^ eight_bytes(at + i), secret_.second ^ eight_bytes(at + i + 8));
      last[0] = eight_bytes(at + size - 16);
      last[1] = eight_bytes(at + size - 8);
    } else if (size >= 8) {
      last[0] = eight_bytes(at);
      last[1] = eight_bytes(at + size - 8);
    } else if (size >= 4) {
      last[0] = four_bytes(at);
      last[1] = four_bytes(at + size - 4);
    } else {
      for (std::size_t i = 0; i < size; ++i) last[0] = last[0] << 8 | static_cast<unsigned char>(at[i]);
    }
    return mix(hash ^ last[0], secret_.third ^ last[1]);
  }

  void grow() { resize(slots_.size() * 2); }
  void resize(std::size_t slots);
  std::uint32_t insert_new(std::string_view id, std::size_t at, std::uint32_t check, bool& is_new);

  HashSecret secret_ = hash_secret();
  std::vector<Slot> slots_;
  std::vector<std::string_view> ids_;
  std::size_t mask_ = 0;
  std::uint32_t generation_ = 1;
};

/// Compares two ids in byte order: first their first eight bytes as one number, then the ids. Short ids, as
/// those of topics are, are compared without their text, which is far away in a file.
struct IdKey {
  std::uint64_t head = 0;
  std::string_view id;

  IdKey() = default;
  explicit IdKey(std::string_view text);
  bool is_short() const { return id.size() <= sizeof head; }

  friend bool operator==(const IdKey& a, const IdKey& b) {
    return a.head == b.head && a.id.size() == b.id.size() && (a.is_short() || a.id == b.id);
  }
  friend bool operator<(const IdKey& a, const IdKey& b) {
    if (a.head != b.head) return a.head < b.head;
    return a.is_short() && b.is_short() ? a.id.size() < b.id.size() : a.id < b.id;
  }
};

/// Consecutive lines of one topic; a topic whose lines are scattered has several pieces.
struct TopicPiece {
  IdKey topic;
  std::string_view lines;
};

/// Where the lines of every topic are in a run or qrels file. With it, many threads can parse the file topic
/// by topic, without the whole file ever being in private memory.
struct TopicIndex {
  FileText file;
  std::vector<TopicPiece> pieces;   ///< in ascending byte order of topics; within a topic, in file order
  std::vector<std::size_t> starts;  ///< the first piece of each topic, and finally pieces.size()

  std::size_t topic_count() const { return starts.size() - 1; }
  const IdKey& key(std::size_t number) const { return pieces[starts[number]].topic; }
  std::string_view topic(std::size_t number) const { return key(number).id; }
  std::span<const TopicPiece> pieces_of(std::size_t number) const {
    return {pieces.data() + starts[number], starts[number + 1] - starts[number]};
  }
};

/// Whether a file without any line is accepted: never, if it begins with a comment, or always.
enum class WithoutLines { refused, commented, accepted };

/// in:     path - a run or qrels file; lines whose first field starts with '#' are comments
///         without_lines - whether a file without any line is accepted
/// errors: those of open_text; bad_data with file and line for a line that is too long, and when no line has
///         any content
/// cost:   one pass that looks for line ends and the first field
Result<TopicIndex> index_topics(const std::string& path, WithoutLines without_lines = WithoutLines::refused);

}  // namespace metafuse::evaluation
