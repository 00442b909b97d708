#include "service/workers/load_control.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include <fcntl.h>
#include <unistd.h>

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

}  // namespace metafuse::service
