#include "service/http/load_control.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "core/contract.h"

namespace metafuse::service {
namespace {

/// Waiting for a core counts only above 1/kWaitPerRun of the time on a core, because there is some waiting
/// even on an idle machine.
constexpr int kWaitPerRun = 2;
/// Work that spends less than 1/kLeastShare of its time on a core or waiting for one counts as waiting
/// for engines.
constexpr int kLeastShare = 32;

}  // namespace

CoreTimeMeter::CoreTimeMeter() : file_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

CoreTimeMeter::~CoreTimeMeter() {
  if (file_ >= 0) ::close(file_);
}

CoreTime CoreTimeMeter::read() const {
  std::array<char, 64> text{};
  const auto got = file_ < 0 ? 0 : ::pread(file_, text.data(), text.size(), 0);
  if (got <= 0) return {};
  const char* end = text.data() + got;
  std::int64_t ran = 0;
  std::int64_t waited = 0;
  const auto first = std::from_chars(text.data(), end, ran);
  if (first.ptr < end) std::from_chars(first.ptr + 1, end, waited);
  return {std::chrono::nanoseconds(ran), std::chrono::nanoseconds(waited)};
}

void UsualWork::note(const CoreTime& spent, std::chrono::nanoseconds took, bool is_busy) {
  took_ += (took - took_) / kMeanOver;
  if (is_busy) return;
  calm_took_ += (took - calm_took_) / kMeanOver;
  calm_at_cores_ += (spent.ran + spent.waited - calm_at_cores_) / kMeanOver;
}

std::size_t UsualWork::running_for(std::size_t at_cores, std::size_t most) const {
  const auto running = static_cast<std::int64_t>(at_cores) * calm_took_ /
                       std::max(calm_at_cores_, std::chrono::nanoseconds(1));
  return std::clamp(static_cast<std::size_t>(running), std::min(at_cores, most), most);
}

void ConcurrencyLimit::note(const CoreTime& spent, std::chrono::nanoseconds took) {
  spent_.ran += spent.ran;
  spent_.waited += spent.waited;
  took_ += took;
}

bool ConcurrencyLimit::is_busy() const {
  return kWaitPerRun * spent_.waited > spent_.ran && kLeastShare * (spent_.ran + spent_.waited) > took_;
}

std::size_t ConcurrencyLimit::at(Time now, std::size_t least) {
  if (now - looked_at_ < kBetweenLooks) return now_;
  were_busy_ = is_busy();
  now_ = were_busy_ ? now_ / 2 : now_ + now_ / 2 + 1;
  now_ = std::clamp(now_, std::min(least, most_), most_);
  looked_at_ = now;
  spent_ = {};
  took_ = {};
  return now_;
}

bool AdmissionControl::admits(Wait wait, Wait took, Wait longest, Time now) {
  count(now);
  const Wait most = patience(took, longest, now);
  if (wait <= most) return true;
  if (most >= longest) whole_at_ = now + kTrial;
  refused_at_ = now;
  ++refused_;
  return false;
}

void AdmissionControl::count(Time now) {
  if (now >= counted_since_ + kCount) {
    are_most_refused_ = 2 * refused_ > asked_;
    counted_since_ = now;
    asked_ = refused_ = 0;
  }
  ++asked_;
}

/// How long work may wait at this moment.
AdmissionControl::Wait AdmissionControl::patience(Wait took, Wait longest, Time now) const {
  if (now >= whole_at_) return longest;
  if (is_crowded(now)) return Wait{0};
  Wait most = took / 2;
  for (Time quiet = refused_at_ + kQuiet; quiet <= now && most < longest; quiet += kQuiet) most *= 2;
  return std::min(most, longest);
}

namespace {

std::size_t less(std::size_t from, std::size_t by) {
  return from - std::min(from, by);
}

std::size_t& places_for(const AdmissionControl& admission, Room& room, TimePoint now) {
  return admission.is_crowded(now) ? room.of_crowd : room.of_calm;
}

}  // namespace

void FairLine::push(Item item) {
  owner(item.owner, item.since).waiting.push_back(std::move(item));
  ++size_;
}

/// The places that are not taken by running items.
Room FairLine::free_places(const Room& room, TimePoint now) const {
  Room free = room;
  for (const Owner& each : owners_) {
    std::size_t& places = places_for(each.admission, free, now);
    places = less(places, each.running);
  }
  return free;
}

std::size_t FairLine::ready(const Room& room, TimePoint now) const {
  Room free = free_places(room, now);
  std::size_t all = 0;
  for (const Owner& each : owners_) {
    std::size_t& places = places_for(each.admission, free, now);
    const std::size_t own = std::min({each.waiting.size(), less(room.of_one, each.running), places});
    places -= own;
    all += own;
  }
  return all;
}

FairLine::Item FairLine::take(const Room& room, TimePoint now) {
  Room free = free_places(room, now);
  const auto place = [](const Owner& each) {
    return std::tuple(each.running, each.last_turn, each.waiting.front().since);
  };
  Owner* next = nullptr;
  for (Owner& each : owners_) {
    if (each.waiting.empty() || each.running >= room.of_one || places_for(each.admission, free, now) == 0)
      continue;
    if (next == nullptr || place(each) < place(*next)) next = &each;
  }
  require(next != nullptr, "an item is taken while one is ready");
  ++next->running;
  next->last_turn = ++turns_;
  return take_front(*next);
}

void FairLine::note_end(std::string_view owner) {
  if (Owner* own = find(owner)) --own->running;
}

FairLine::Item FairLine::take_oldest() {
  Owner* oldest = nullptr;
  for (Owner& each : owners_) {
    if (each.waiting.empty()) continue;
    if (oldest == nullptr || each.waiting.front().since < oldest->waiting.front().since) oldest = &each;
  }
  return take_front(*oldest);
}

TimePoint FairLine::oldest_since() const {
  TimePoint oldest = TimePoint::max();
  for (const Owner& each : owners_)
    if (!each.waiting.empty()) oldest = std::min(oldest, each.waiting.front().since);
  return oldest;
}

std::size_t FairLine::turns_for(std::string_view owner, TimePoint now) const {
  const Owner* own = find(owner);
  const std::size_t mine = (own == nullptr ? 0 : own->items()) + 1;
  const bool is_own_crowd = is_crowd(owner, now);
  std::size_t turns = mine;
  for (const Owner& each : owners_)
    if (&each != own && each.admission.is_crowded(now) == is_own_crowd) turns += std::min(each.items(), mine);
  return turns;
}

AdmissionControl* FairLine::admission(std::string_view owner) {
  Owner* own = find(owner);
  return own != nullptr && own->items() > 0 ? &own->admission : nullptr;
}

bool FairLine::is_crowd(std::string_view owner, TimePoint now) const {
  const Owner* own = find(owner);
  return own != nullptr && own->admission.is_crowded(now);
}

void FairLine::forget_refusals() {
  for (Owner& each : owners_) each.admission = {};
}

FairLine::Owner* FairLine::find(std::string_view name) {
  for (Owner& each : owners_)
    if (each.name == name) return &each;
  return nullptr;
}

FairLine::Owner& FairLine::owner(const std::string& name, TimePoint now) {
  if (Owner* own = find(name)) return *own;
  forget_idle(now);
  return owners_.emplace_back(Owner{name, 0, 0, {}, {}});
}

/// Forgets owners without items. Those refused recently are kept, so that their admission control does not
/// start anew, unless there are too many of them.
void FairLine::forget_idle(TimePoint now) {
  const auto idle =
      std::count_if(owners_.begin(), owners_.end(), [](const Owner& each) { return each.items() == 0; });
  const bool are_too_many = static_cast<std::size_t>(idle) > kMostRemembered;
  std::erase_if(owners_, [&](const Owner& each) {
    return each.items() == 0 && (are_too_many || each.admission.is_at_rest(now));
  });
}

FairLine::Item FairLine::take_front(Owner& from) {
  Item item = std::move(from.waiting.front());
  from.waiting.pop_front();
  --size_;
  return item;
}

}  // namespace metafuse::service
