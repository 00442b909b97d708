#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace metafuse::evaluation {

/// Whether `size` bytes are equal; made for ids, which are short.
inline bool same_bytes(const char* a, const char* b, std::size_t size) {
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  for (; size >= 8; a += 8, b += 8, size -= 8) {
    std::memcpy(&x, a, 8);
    std::memcpy(&y, b, 8);
    if (x != y) return false;
  }
  for (; size > 0; ++a, ++b, --size)
    if (*a != *b) return false;
  return true;
}

inline bool same_id(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_bytes(a.data(), b.data(), a.size());
}

/// Numbers ids 0, 1, 2 ... in the order in which they are first seen. Made for millions of short lists:
/// clear() costs nothing and no id allocates.
class IdTable {
 public:
  /// The number of an id; `is_new` says whether this call gave it.
  std::uint32_t insert(std::string_view id, bool& is_new) {
    if (ids_.size() * 2 >= slots_.size()) grow();
    const std::uint64_t hash = hash_of(id);
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.generation != generation_) {
        slot = {generation_, static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(ids_.size())};
        ids_.push_back(id);
        is_new = true;
        return slot.number;
      }
      if (slot.check == static_cast<std::uint32_t>(hash >> 32) && same_id(ids_[slot.number], id)) {
        is_new = false;
        return slot.number;
      }
    }
  }

  static constexpr std::uint32_t kAbsent = 0xffffffffU;

  /// The number of an id or kAbsent.
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

  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t product = a * b;
    return product ^ product >> 32 ^ a >> 29;
  }

  static std::uint64_t hash_of(std::string_view id) {
    const char* at = id.data();
    std::size_t left = id.size();
    std::uint64_t hash = 0x9e3779b97f4a7c15U ^ left;
    std::uint64_t word = 0;
    for (; left >= 8; at += 8, left -= 8) {
      std::memcpy(&word, at, 8);
      hash = mix(hash ^ word, 0xd1342543de82ef95U);
    }
    word = 0;
    for (std::size_t i = 0; i < left; ++i) word = word << 8 | static_cast<unsigned char>(at[i]);
    return mix(hash ^ word, 0xaf251af3b0f025b5U);
  }

  void grow();

  std::vector<Slot> slots_;
  std::vector<std::string_view> ids_;
  std::size_t mask_ = 0;
  std::uint32_t generation_ = 1;
};

}  // namespace metafuse::evaluation
