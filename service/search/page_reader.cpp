#include "service/search/page_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/contract.h"
#include "core/url.h"
#include "service/http/message.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kProduct = "metafuse";
constexpr std::size_t kMaxPageBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxRobots = 500 * 1024;
constexpr int kPageRedirects = 5;
constexpr int kConnectionsPerSite = 2;
constexpr std::chrono::hours kRobotsFor{1};
constexpr std::chrono::minutes kPageFor{5};
constexpr std::size_t kMostSites = 2000;
constexpr std::size_t kSiteBytes = std::size_t{8} << 20;
constexpr std::size_t kMostKeptPages = 200;
constexpr std::size_t kPageBytes = std::size_t{8} << 20;

/// The site whose robots.txt applies to a page: "https://host:443".
std::string site_of(const UrlParts& parts) {
  return parts.scheme + "://" + parts.origin();
}

fetchers::EngineRequest request_for(std::string url, const UrlParts& parts, Duration timeout) {
  fetchers::EngineRequest request = guarded_request(
      "site", std::move(url), parts, "text/html, application/xhtml+xml, text/plain, text/*;q=0.5");
  request.timeout = timeout;
  request.max_redirects = kPageRedirects;
  request.max_connections = kConnectionsPerSite;
  return request;
}

Error failure_of(const fetchers::HttpAnswer& answer) {
  using fetchers::Failure;
  switch (answer.failure) {
    case Failure::not_allowed:
      return fail(Code::no_input,
                  "the page or a redirect is at an address that is not public; add its host:port to "
                  "fetch_pages.allow_private of the configuration");
    case Failure::too_large:
      return fail(Code::no_input, "the page is larger than 1 MiB");
    case Failure::timeout:
      return fail(Code::unavailable, "the site did not answer completely in time");
    default:
      return fail(Code::unavailable,
                  "the site does not answer: " + std::string(fetchers::name_of(answer.failure)));
  }
}

/// What a site's robots.txt says. By RFC 9309, 2.3.1, a missing file allows everything, and an unreachable
/// one forbids everything.
Result<fetchers::RobotsRules> robots_of(const fetchers::HttpAnswer& answer) {
  if (answer.failure == fetchers::Failure::too_large)
    return fail(Code::no_input, "the site's robots.txt is larger than 500 KiB");
  if (answer.failure != fetchers::Failure::none) return failure_of(answer);
  if (answer.status >= 500)
    return fail(Code::unavailable,
                "the site's robots.txt answers with status " + std::to_string(answer.status));
  return fetchers::RobotsRules::parse(answer.status < 300 ? answer.body : std::string_view(), kProduct);
}

/// The page in an answer.
Result<ReadPage> page_of(const fetchers::HttpAnswer& answer, fetchers::PageForm form,
                         const fetchers::WorkEnd& end) {
  if (answer.failure != fetchers::Failure::none) return failure_of(answer);
  if (answer.status < 200 || answer.status > 299)
    return fail(Code::no_input, "the site answered with status " + std::to_string(answer.status));
  const std::string_view content_type = answer.header("content-type");
  const std::string type = media_type(content_type);
  ReadPage page;
  page.url = answer.url;
  if (type == "text/html" || type == "application/xhtml+xml" || type.empty()) {
    auto read = fetchers::readable_page(answer.body, content_type, answer.url, form, end);
    page.title = std::move(read.title);
    page.text = std::move(read.text);
  } else if (type.starts_with("text/") || type == "application/json" || type.ends_with("+json")) {
    page.text = fetchers::readable_text(answer.body, content_type);
  } else {
    return fail(Code::no_input, "the page is " + type.substr(0, 100) + ", neither HTML nor text");
  }
  page.text.shrink_to_fit();  // it is kept
  if (page.text.empty()) return fail(Code::no_input, "the page has no text; it may need scripts to show any");
  return page;
}

}  // namespace

PagePlaces::Hold PagePlaces::take(const std::string& sender, std::size_t count) {
  if (count == 0) return {};
  const std::lock_guard lock(mutex_);
  const auto at = taken_.find(sender);
  const std::size_t own = at == taken_.end() ? 0 : at->second;
  if (all_ + count > kMostAtOnce || own + count > kMostOfSender) return {};
  taken_[sender] = own + count;
  all_ += count;
  return {*this, sender, count};
}

void PagePlaces::give_back(const std::string& sender, std::size_t count) {
  const std::lock_guard lock(mutex_);
  all_ -= count;
  const auto at = taken_.find(sender);
  if ((at->second -= count) == 0) taken_.erase(at);
}

/// The state of reading one URL.
struct PageReader::Reading {
  std::string url;
  UrlParts parts;
  fetchers::PageForm form = fetchers::PageForm::markdown;
  std::optional<Result<SharedPage>> outcome;

  void fail_with(Error error) {
    error.text = url.substr(0, 300) + ": " + error.text;
    outcome = Result<SharedPage>(std::move(error));
  }
  std::string kept_under() const { return (form == fetchers::PageForm::markdown ? "m " : "t ") + url; }
};

PageReader::PageReader(const Clock& clock)
    : clock_(clock), robots_(kMostSites, kSiteBytes), pages_(kMostKeptPages, kPageBytes) {}

PageReader::~PageReader() = default;

void PageReader::configure(const PagesConfig& config) {
  const std::lock_guard lock(mutex_);
  if (config == config_) return;
  config_ = config;
  transport_.set_allowed(config.allow_private);
  pages_.clear();
}

std::shared_ptr<const fetchers::RobotsRules> PageReader::known_robots(const std::string& site) {
  const std::lock_guard lock(mutex_);
  const auto* entry = robots_.find(site, clock_.now());
  return entry == nullptr ? nullptr : entry->value;
}

/// Fetches the robots.txt files that are not cached, and fails the readings that robots.txt forbids.
void PageReader::look_for_robots(const Transport& transport, std::vector<Reading>& readings, TimePoint end) {
  std::vector<std::string> sites;
  std::vector<fetchers::EngineRequest> requests;
  for (const Reading& reading : readings) {
    const std::string site = site_of(reading.parts);
    if (reading.outcome || known_robots(site) != nullptr || std::count(sites.begin(), sites.end(), site) > 0)
      continue;
    sites.push_back(site);
    requests.push_back(request_for(site + "/robots.txt", reading.parts, end - clock_.now()));
    requests.back().max_bytes = kMaxRobots;
  }
  std::map<std::string, Error> unreadable;
  const auto answers = answers_to(*transport, std::move(requests));
  for (std::size_t i = 0; i < sites.size(); ++i) {
    auto rules = robots_of(answers[i]);
    if (!rules) {
      unreadable.emplace(sites[i], rules.error());
      continue;
    }
    auto shared = std::make_shared<const fetchers::RobotsRules>(std::move(*rules));
    const std::size_t bytes = 2 * sites[i].size() + shared->bytes() + sizeof(fetchers::RobotsRules);
    const std::lock_guard lock(mutex_);
    robots_.keep(sites[i], std::move(shared), clock_.now() + kRobotsFor, bytes);
  }
  for (Reading& reading : readings) {
    if (reading.outcome) continue;
    const std::string site = site_of(reading.parts);
    if (const auto why = unreadable.find(site); why != unreadable.end()) {
      reading.fail_with(why->second);
    } else if (const auto rules = known_robots(site);
               rules == nullptr || !rules->may_read(reading.parts.path_and_query)) {
      reading.fail_with(fail(Code::no_input, "the site's robots.txt asks programs not to read the page"));
    }
  }
}

void PageReader::fetch_pages(const Transport& transport, std::vector<Reading>& readings, TimePoint end) {
  std::vector<std::size_t> wanted;
  std::vector<fetchers::EngineRequest> requests;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (readings[i].outcome) continue;
    wanted.push_back(i);
    requests.push_back(request_for(readings[i].url, readings[i].parts, end - clock_.now()));
    requests.back().max_bytes = kMaxPageBytes;
  }
  const auto answers = answers_to(*transport, std::move(requests));
  // a redirect may have led to a site whose robots.txt was not checked yet
  std::vector<Reading> targets(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    targets[i].url = readings[wanted[i]].url;
    const auto parts = parts_of_url(answers[i].url);
    if (answers[i].failure != fetchers::Failure::none)
      targets[i].fail_with(failure_of(answers[i]));
    else if (parts)
      targets[i].parts = *parts;
    else
      targets[i].fail_with(fail(Code::no_input, "the page redirects to a URL that is not http or https"));
  }
  look_for_robots(transport, targets, end);
  const fetchers::WorkEnd work_end([this, end] { return is_stopping_ || clock_.now() >= end; });
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Reading& reading = readings[wanted[i]];
    reading.outcome = std::move(targets[i].outcome);
    if (reading.outcome) continue;
    auto page = page_of(answers[i], reading.form, work_end);
    if (!page) {
      reading.fail_with(page.error());
      continue;
    }
    auto shared = std::make_shared<const ReadPage>(std::move(*page));
    const std::lock_guard lock(mutex_);
    pages_.keep(reading.kept_under(), shared, clock_.now() + kPageFor,
                shared->text.size() + shared->url.size() + reading.url.size() + sizeof(ReadPage));
    reading.outcome = Result<SharedPage>(std::move(shared));
  }
}

std::vector<Result<SharedPage>> PageReader::read(std::span<const std::string> urls, fetchers::PageForm form,
                                                 Duration timeout, const std::string& sender) {
  require(urls.size() <= kMostPages, "so many pages at most");
  const TimePoint end = clock_.now() + timeout;
  std::vector<Reading> readings(urls.size());
  std::size_t missing = 0;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    Reading& reading = readings[i];
    reading.url = urls[i];
    reading.form = form;
    const auto parts = urls[i].size() <= kMaxUrlBytes ? parts_of_url(urls[i]) : std::nullopt;
    if (!parts) {
      reading.fail_with(
          fail(Code::usage, "the URL must be http or https, without user name and at most 8 KB long"));
      continue;
    }
    reading.parts = *parts;
    const std::lock_guard lock(mutex_);
    if (const auto* kept = pages_.find(reading.kept_under(), clock_.now()))
      reading.outcome = Result<SharedPage>(kept->value);
    else
      ++missing;
  }
  if (const PagePlaces::Hold places = places_.take(sender, missing)) {
    const Transport transport = transport_.get();
    look_for_robots(transport, readings, end);
    fetch_pages(transport, readings, end);
  }
  for (Reading& reading : readings)
    if (!reading.outcome)
      reading.fail_with(fail(Code::try_again, "too many pages are being read; try again in a few seconds"));
  std::vector<Result<SharedPage>> out;
  for (Reading& reading : readings) out.push_back(std::move(*reading.outcome));
  return out;
}

Result<void> check_page_access(const PagesConfig& config, bool has_key) {
  if (config.access == PagesConfig::Access::off)
    return fail(Code::usage,
                "this server does not read pages; fetch_pages.access of its configuration is off");
  if (config.access == PagesConfig::Access::key && !has_key)
    return fail(Code::usage, "reading pages needs an API key on this server");
  return {};
}

}  // namespace metafuse::service
