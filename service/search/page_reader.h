#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "fetchers/answers/readable_page.h"
#include "fetchers/http/robots.h"
#include "fetchers/http/transport.h"
#include "service/base/expiring_cache.h"
#include "service/config/config.h"
#include "service/search/guarded_transport.h"

namespace metafuse::service {

/// A web page that was read.
struct ReadPage {
  std::string url;  ///< after redirects
  std::string title;
  std::string text;
};
using SharedPage = std::shared_ptr<const ReadPage>;

/// Reads web pages for agents that cannot read them themselves. It reads only from public addresses (the
/// engines' guard checks every socket and every redirect), only HTML and plain text of at most 1 MiB, and
/// only what the site's robots.txt allows programs named "metafuse" to read. Pages are cached for five
/// minutes, so that a long page can be read in parts, and robots.txt for an hour. Safe from any thread.
class PageReader {
 public:
  /// in: clock - must outlive it
  explicit PageReader(const Clock& clock);
  PageReader(const PageReader&) = delete;
  PageReader& operator=(const PageReader&) = delete;
  ~PageReader();

  /// Sets what may be reached from now on.
  void configure(const PagesConfig& config);

  /// Reads pages in parallel; blocks until the slowest is done.
  ///
  /// in:     urls - at most kMostPages; timeout - for all of them
  /// out:    for each URL the page, or usage: the URL is not http or https; no_input: not a page that can be
  ///         read (status, type, size, robots.txt, a private address); unavailable: no answer in time;
  ///         try_again: too many pages are being read at once
  std::vector<Result<SharedPage>> read(std::span<const std::string> urls, fetchers::PageForm form,
                                       Duration timeout);

  /// Ends the reading of pages under way: the process stops.
  void stop() { is_stopping_ = true; }

  static constexpr std::size_t kMostPages = 20;

 private:
  using Transport = std::shared_ptr<fetchers::Transport>;
  struct Reading;

  void look_for_robots(const Transport& transport, std::vector<Reading>& readings, TimePoint end);
  void fetch_pages(const Transport& transport, std::vector<Reading>& readings, TimePoint end);
  std::shared_ptr<const fetchers::RobotsRules> known_robots(const std::string& site);

  const Clock& clock_;
  std::atomic<std::size_t> under_way_{0};
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;
  PagesConfig config_;
  GuardedTransport transport_;
  ExpiringCache<std::shared_ptr<const fetchers::RobotsRules>> robots_;
  ExpiringCache<SharedPage> pages_;
};

/// Checks whether a client may have pages read.
///
/// in:     has_key - the client showed a known key
/// errors: usage: why not
Result<void> check_page_access(const PagesConfig& config, bool has_key);

}  // namespace metafuse::service
