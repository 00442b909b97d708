#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
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

/// How many pages are being read, in all and for each sender, so that nobody takes all places. Safe from
/// any thread.
class PagePlaces {
 public:
  static constexpr std::size_t kMostOfSender = 20;
  static constexpr std::size_t kMostAtOnce = 4 * kMostOfSender;

  /// Places that are given back by the destructor; false if there were none, or none were asked for.
  class Hold {
   public:
    Hold() = default;
    Hold(PagePlaces& places, std::string sender, std::size_t count)
        : places_(&places), sender_(std::move(sender)), count_(count) {}
    Hold(Hold&& other) noexcept
        : places_(std::exchange(other.places_, nullptr)),
          sender_(std::move(other.sender_)),
          count_(other.count_) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      if (places_ != nullptr) places_->give_back(sender_, count_);
    }
    explicit operator bool() const { return places_ != nullptr; }

   private:
    PagePlaces* places_ = nullptr;
    std::string sender_;
    std::size_t count_ = 0;
  };

  Hold take(const std::string& sender, std::size_t count);

 private:
  void give_back(const std::string& sender, std::size_t count);

  std::mutex mutex_;
  std::size_t all_ = 0;
  std::map<std::string, std::size_t> taken_;
};

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
  /// in:     urls - at most kMostPages; timeout - for all of them; sender - Exchange::sender(), who may read
  ///         a quarter of what may be read at once
  /// out:    for each URL the page, or usage: the URL is not http or https; no_input: not a page that can be
  ///         read (status, type, size, robots.txt, a private address); unavailable: no answer in time;
  ///         try_again: too many pages are being read at once
  std::vector<Result<SharedPage>> read(std::span<const std::string> urls, fetchers::PageForm form,
                                       Duration timeout, const std::string& sender);

  /// Ends the reading of pages under way: the process stops.
  void stop() { is_stopping_ = true; }

  static constexpr std::size_t kMostPages = PagePlaces::kMostOfSender;
  static constexpr std::size_t kMaxUrlBytes = 8192;

 private:
  using Transport = std::shared_ptr<fetchers::Transport>;
  struct Reading;

  void look_for_robots(const Transport& transport, std::vector<Reading>& readings, TimePoint end);
  void fetch_pages(const Transport& transport, std::vector<Reading>& readings, TimePoint end);
  std::shared_ptr<const fetchers::RobotsRules> known_robots(const std::string& site);

  const Clock& clock_;
  std::atomic<bool> is_stopping_{false};
  PagePlaces places_;
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
