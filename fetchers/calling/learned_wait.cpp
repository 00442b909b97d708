#include "fetchers/calling/learned_wait.h"

#include <algorithm>

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kWindow = 64;
constexpr std::size_t kFewest = 16;
constexpr std::size_t kOfOneSender = 2;  ///< response times among those that count for everybody
constexpr std::size_t kMostSenders = 16;

/// The smallest latency that at least 95 % of them do not exceed, without the `ignored` longest.
Duration percentile_95(std::vector<Duration> latencies, std::size_t ignored) {
  const std::size_t size = latencies.size();
  const std::size_t at = std::min((size * 95 + 99) / 100 - 1, size - 1 - ignored);
  std::nth_element(latencies.begin(), latencies.begin() + static_cast<std::ptrdiff_t>(at), latencies.end());
  return latencies[at];
}

}  // namespace

void LearnedWait::add(const std::string& sender, Duration latency) {
  add_own(sender, latency);
  add_shared(sender, latency);
}

void LearnedWait::add_own(const std::string& sender, Duration latency) {
  Own* own = own_.use(sender);
  if (own == nullptr) {
    if (own_.size() == kMostSenders) own_.remove_oldest();
    own = &own_.put(sender, {});
  }
  if (own->latencies.size() < kWindow)
    own->latencies.push_back(latency);
  else
    own->latencies[own->count % kWindow] = latency;
  ++own->count;
}

void LearnedWait::add_shared(const std::string& sender, Duration latency) {
  const auto is_same = [&](const Shared& one) { return one.sender == sender; };
  const auto oldest_own = std::find_if(shared_.begin(), shared_.end(), is_same);
  if (static_cast<std::size_t>(std::count_if(oldest_own, shared_.end(), is_same)) == kOfOneSender)
    shared_.erase(oldest_own);
  else if (shared_.size() == kWindow)
    shared_.erase(shared_.begin());
  shared_.push_back({sender, latency});
}

const LearnedWait::Own* LearnedWait::own(const std::string& sender) const {
  const Own* own = own_.peek(sender);
  return own != nullptr && own->count >= kFewest ? own : nullptr;
}

std::vector<Duration> LearnedWait::shared_latencies() const {
  std::vector<Duration> out;
  out.reserve(shared_.size());
  for (const Shared& one : shared_) out.push_back(one.latency);
  return out;
}

std::optional<Duration> LearnedWait::limit(const std::string& sender,
                                           const LearnedWaitOptions& options) const {
  const Own* const own_times = own(sender);
  if (own_times == nullptr && shared_.size() < kFewest) return std::nullopt;
  // the longest of everybody's times may be those of one sender, who asks what takes long
  const Duration usual = own_times != nullptr ? percentile_95(own_times->latencies, 0)
                                              : percentile_95(shared_latencies(), kOfOneSender);
  return std::min(std::max(usual * 3 / 2, options.floor), options.ceiling);
}

std::optional<Duration> LearnedWait::quickest(const std::string& sender) const {
  const Own* const own_times = own(sender);
  if (own_times == nullptr && shared_.size() < kFewest) return std::nullopt;
  const auto times = own_times != nullptr ? own_times->latencies : shared_latencies();
  return *std::min_element(times.begin(), times.end());
}

std::vector<Duration> LearnedWait::usual(const std::string& sender) const {
  const Own* const own_times = own(sender);
  if (own_times == nullptr && shared_.size() < kFewest) return {};
  auto times = own_times != nullptr ? own_times->latencies : shared_latencies();
  std::sort(times.begin(), times.end());
  // three quarters of the answers would have to be chosen by others to turn the rest into outliers
  const Duration most = times[(times.size() * 3 + 3) / 4 - 1] * 5 / 2;
  times.erase(std::upper_bound(times.begin(), times.end(), most), times.end());
  return times;
}

Duration usual_of_slowest(std::span<const std::vector<Duration>> times) {
  std::vector<Duration> all;
  for (const auto& each : times) all.insert(all.end(), each.begin(), each.end());
  std::sort(all.begin(), all.end());
  const auto is_before_half = [&](Duration moment) {
    double share = 1;
    for (const auto& each : times)
      share *= static_cast<double>(std::upper_bound(each.begin(), each.end(), moment) - each.begin()) /
               static_cast<double>(each.size());
    return share < 0.5;
  };
  return *std::partition_point(all.begin(), all.end(), is_before_half);
}

void OverdueRequests::add(const std::string& sender, TimePoint now, bool is_certain) {
  requests_.push_back({sender, now, is_certain});
}

void OverdueRequests::remove(const std::string& sender) {
  const auto at = std::find_if(requests_.begin(), requests_.end(),
                               [&](const Request& request) { return request.sender == sender; });
  if (at != requests_.end()) requests_.erase(at);
}

bool OverdueRequests::keep_away(const std::string& sender, TimePoint last_answer) const {
  const std::string* first = nullptr;
  int own = 0;
  for (const Request& request : requests_) {
    if (request.since <= last_answer) continue;
    own += request.sender != sender ? 0 : request.is_certain ? 2 : 1;
    if (own >= 2 || (first != nullptr && *first != request.sender)) return true;
    first = &request.sender;
  }
  return false;
}

}  // namespace metafuse::fetchers
