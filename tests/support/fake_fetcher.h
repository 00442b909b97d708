#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fetchers/calling/fetcher.h"

namespace metafuse::test {

/// Engines that answer from memory. Pages after the first are empty unless set_further() was called.
class FakeFetcher final : public fetchers::Fetcher {
 public:
  using Answer = std::function<fetchers::FetchedList(const ExpandedQuery&)>;

  using FurtherAnswer = std::function<fetchers::FetchedList(const ExpandedQuery&, int page)>;

  explicit FakeFetcher(Answer answer) : answer_(std::move(answer)) {}

  /// Sets the answers of the second page and later ones; call it before the first fetch.
  void set_further(FurtherAnswer further) { further_ = std::move(further); }

  std::vector<fetchers::FetchedList> fetch(
      std::span<const ExpandedQuery> queries, const fetchers::FetchOptions& options,
      const std::function<void(const fetchers::FetchedList&)>& on_list) override {
    {
      const std::lock_guard lock(mutex_);
      ends_.push_back(options.deadline.at());
      forwarded_ = options.forwarded;
      hops_.push_back(options.hops);
      if (options.documents != nullptr) documents_ = options.documents;
      senders_.push_back(options.sender);
    }
    std::vector<fetchers::FetchedList> out;
    for (const ExpandedQuery& query : queries) {
      if (options.page == 1)
        out.push_back(answer_(query));
      else
        out.push_back(further_ ? further_(query, options.page) : fetchers::FetchedList());
      out.back().query = query;
      keep_best_of_each(out.back().list, options.depth);  // as every fetcher does
      if (on_list) on_list(out.back());
    }
    const std::lock_guard lock(mutex_);
    ++fetches_;
    return out;
  }
  /// The deadline of each fetch.
  std::vector<TimePoint> ends() const {
    const std::lock_guard lock(mutex_);
    return ends_;
  }
  /// The headers of the user's request that the last fetch forwarded.
  std::vector<std::pair<std::string, std::string>> forwarded() const {
    const std::lock_guard lock(mutex_);
    return forwarded_;
  }
  /// The documents that rerankers were last asked to order; nullptr if none were.
  std::shared_ptr<const std::vector<Hit>> documents() const {
    const std::lock_guard lock(mutex_);
    return documents_;
  }
  /// For each fetch, how many meta-search servers the query had passed through.
  std::vector<int> hops() const {
    const std::lock_guard lock(mutex_);
    return hops_;
  }
  /// Who asked for each fetch.
  std::vector<std::string> senders() const {
    const std::lock_guard lock(mutex_);
    return senders_;
  }
  int fetches() const {
    const std::lock_guard lock(mutex_);
    return fetches_;
  }

 private:
  Answer answer_;
  FurtherAnswer further_;
  mutable std::mutex mutex_;
  int fetches_ = 0;
  std::vector<TimePoint> ends_;
  std::vector<std::pair<std::string, std::string>> forwarded_;
  std::vector<int> hops_;
  std::shared_ptr<const std::vector<Hit>> documents_;
  std::vector<std::string> senders_;
};

/// A list of pages "http://HOST/" in this order, every page once and with its key.
inline fetchers::FetchedList list_of(const std::vector<std::string>& hosts) {
  fetchers::FetchedList out;
  for (const std::string& host : hosts)
    out.list.hits.push_back({"http://" + host + "/", "Title of " + host, "Snippet of " + host, "", "", {}});
  keep_best_of_each(out.list, 0);
  return out;
}

}  // namespace metafuse::test
