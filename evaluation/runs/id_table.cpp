#include "evaluation/runs/id_table.h"

#include <algorithm>

namespace metafuse::evaluation {

void IdTable::grow() {
  const std::size_t size = std::max<std::size_t>(64, slots_.size() * 2);
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

}  // namespace metafuse::evaluation
