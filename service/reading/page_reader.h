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
#include "service/reading/guarded_transport.h"

namespace metafuse::service {

/// A page as it was read.
struct ReadPage {
  std::string url;  ///< after redirects
  std::string title;
  std::string text;
};
using SharedPage = std::shared_ptr<const ReadPage>;

/// Reads pages of the web for those who cannot: public addresses alone (the engines' guard checks every
/// socket and every redirect), HTML and plain text of at most 1 MiB, only what the site's robots.txt lets
/// programs named "metafuse" read. What was read is kept for five minutes, so that a long page can be read
/// in parts; a robots.txt for an hour. From any thread.
class PageReader {
 public:
  /// in: clock - must outlive it
  explicit PageReader(const Clock& clock);
  PageReader(const PageReader&) = delete;
  PageReader& operator=(const PageReader&) = delete;
  ~PageReader();

  /// What may be reached from now on.
  void configure(const PagesConfig& config);

  /// Reads pages at the same time; blocks for as long as the slowest takes.
  ///
  /// in:     urls - at most kMostPages; timeout - for all of them
  /// out:    for each URL the page, or usage: no http or https URL; no_input: not a page that can be read
  ///         (status, type, size, robots.txt, a private address); unavailable: no answer in time; try_again:
  ///         too many pages are being read at once
  std::vector<Result<SharedPage>> read(std::span<const std::string> urls, fetchers::PageForm form,
                                       Duration timeout);

  static constexpr std::size_t kMostPages = 20;

 private:
  using Transport = std::shared_ptr<fetchers::Transport>;
  struct Reading;

  void look_for_robots(const Transport& transport, std::vector<Reading>& readings, TimePoint end);
  void fetch_pages(const Transport& transport, std::vector<Reading>& readings, TimePoint end);
  std::shared_ptr<const fetchers::RobotsRules> known_robots(const std::string& site);

  const Clock& clock_;
  std::atomic<std::size_t> under_way_{0};
  std::mutex mutex_;
  PagesConfig config_;
  GuardedTransport transport_;
  ExpiringCache<std::shared_ptr<const fetchers::RobotsRules>> robots_;
  ExpiringCache<SharedPage> pages_;
};

/// Whether whoever asks may have pages read.
///
/// in:     has_key - a key was shown and known
/// errors: usage: why not
Result<void> check_page_access(const PagesConfig& config, bool has_key);

}  // namespace metafuse::service
