#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "fetchers/fetcher.h"

namespace metafuse::test {

/// Engines that answer from memory: `answers` by feature name, else `otherwise`.
class FakeFetcher final : public fetchers::Fetcher {
 public:
  using Answer = std::function<fetchers::FetchedList(const ExpandedQuery&)>;

  explicit FakeFetcher(Answer answer) : answer_(std::move(answer)) {}

  std::vector<fetchers::FetchedList> fetch(
      std::span<const ExpandedQuery> queries, const fetchers::FetchOptions&,
      const std::function<void(const fetchers::FetchedList&)>& on_list) override {
    std::vector<fetchers::FetchedList> out;
    for (const ExpandedQuery& query : queries) {
      out.push_back(answer_(query));
      out.back().query = query;
      if (on_list) on_list(out.back());
    }
    const std::lock_guard lock(mutex_);
    ++fetches_;
    return out;
  }
  int fetches() const {
    const std::lock_guard lock(mutex_);
    return fetches_;
  }

 private:
  Answer answer_;
  mutable std::mutex mutex_;
  int fetches_ = 0;
};

/// A list of pages "http://HOST/" in that order.
inline fetchers::FetchedList list_of(const std::vector<std::string>& hosts) {
  fetchers::FetchedList out;
  for (const std::string& host : hosts)
    out.list.hits.push_back({"http://" + host + "/", "Title of " + host, "Snippet of " + host, "", "", {}});
  return out;
}

}  // namespace metafuse::test
