#include "service/workers/fair_line.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace metafuse::service {

void FairLine::push(Item item) {
  owner(item.owner).waiting.push_back(std::move(item));
  ++size_;
}

FairLine::Item FairLine::take() {
  const auto place = [](const Owner& each) {
    return std::tuple(each.running, each.last_turn, each.waiting.front().since);
  };
  Owner* next = nullptr;
  for (Owner& each : owners_)
    if (!each.waiting.empty() && (next == nullptr || place(each) < place(*next))) next = &each;
  ++next->running;
  next->last_turn = ++turns_;
  return take_front(*next);
}

void FairLine::note_end(std::string_view owner) {
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    if (owners_[i].name != owner) continue;
    --owners_[i].running;
    return forget_idle(i);
  }
}

FairLine::Item FairLine::take_oldest() {
  std::size_t oldest = owners_.size();
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    if (owners_[i].waiting.empty()) continue;
    if (oldest == owners_.size() || owners_[i].waiting.front().since < owners_[oldest].waiting.front().since)
      oldest = i;
  }
  Item item = take_front(owners_[oldest]);
  forget_idle(oldest);
  return item;
}

TimePoint FairLine::oldest_since() const {
  TimePoint oldest = TimePoint::max();
  for (const Owner& each : owners_)
    if (!each.waiting.empty()) oldest = std::min(oldest, each.waiting.front().since);
  return oldest;
}

std::size_t FairLine::turns_for(std::string_view owner) const {
  const auto own =
      std::find_if(owners_.begin(), owners_.end(), [&](const Owner& each) { return each.name == owner; });
  const std::size_t mine = (own == owners_.end() ? 0 : own->items()) + 1;
  std::size_t turns = mine;
  for (const Owner& each : owners_)
    if (each.name != owner) turns += std::min(each.items(), mine);
  return turns;
}

FairLine::Owner& FairLine::owner(const std::string& name) {
  for (Owner& each : owners_)
    if (each.name == name) return each;
  return owners_.emplace_back(Owner{name, 0, 0, {}});
}

FairLine::Item FairLine::take_front(Owner& from) {
  Item item = std::move(from.waiting.front());
  from.waiting.pop_front();
  --size_;
  return item;
}

void FairLine::forget_idle(std::size_t index) {
  if (owners_[index].items() > 0) return;
  std::swap(owners_[index], owners_.back());
  owners_.pop_back();
}

}  // namespace metafuse::service
