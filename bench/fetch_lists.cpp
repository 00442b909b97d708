// Fetches 16 lists of 30 results (11 KB each) from one local server: the time to fetch, parse and
// canonicalise, compared with the time that libcurl alone needs for the same transfers in the same run.
// bench/fetch_lists.sh starts nginx and runs this program.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <curl/curl.h>
#include <sys/resource.h>

#include "core/url.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"

namespace {

using namespace metafuse;
constexpr int kEngines = 16;
constexpr int kRounds = 400;

double cpu_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

template <class Round>
void measure(const char* name, const Round& round) {
  for (int i = 0; i < 20; ++i) round();
  std::vector<double> times;
  const double cpu = cpu_ms();
  for (int i = 0; i < kRounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    round();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  std::printf("%-34s %6.3f CPU-ms   p50 %6.3f ms   p99 %6.3f ms\n", name, (cpu_ms() - cpu) / kRounds,
              times[kRounds / 2], times[kRounds * 99 / 100]);
}

std::size_t count_bytes(char*, std::size_t size, std::size_t count, void* total) {
  *static_cast<std::size_t*>(total) += size * count;
  return size * count;
}

/// The transfers alone: 16 easy handles on one multi handle, with connections kept open.
void measure_floor(const std::string& base) {
  CURLM* multi = curl_multi_init();
  std::vector<CURL*> handles;
  std::size_t bytes = 0;
  for (int i = 0; i < kEngines; ++i) {
    CURL* handle = curl_easy_init();
    curl_easy_setopt(handle, CURLOPT_URL, (base + "/e" + std::to_string(i) + "/search.json?q=x").c_str());
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, count_bytes);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &bytes);
    handles.push_back(handle);
  }
  measure("libcurl alone", [&] {
    for (CURL* handle : handles) curl_multi_add_handle(multi, handle);
    int running = 1;
    while (running > 0) {
      curl_multi_perform(multi, &running);
      if (running > 0) curl_multi_poll(multi, nullptr, 0, 100, nullptr);
    }
    for (CURL* handle : handles) curl_multi_remove_handle(multi, handle);
  });
  std::printf("  %zu bytes a list\n", bytes / (kEngines * (kRounds + 20)));
  for (CURL* handle : handles) curl_easy_cleanup(handle);
  curl_multi_cleanup(multi);
}

int run(const std::string& base) {
  std::string text = "engines:\n";
  std::vector<ExpandedQuery> queries;
  for (int i = 0; i < kEngines; ++i) {
    const std::string name = "e" + std::to_string(i);
    text += "  - {name: " + name + ", engine: json_engine, search_url: \"" + base + "/" + name +
            "/search.json?q={query}\", results_query: results, url_query: url, title_query: title, "
            "content_query: content}\n";
    queries.push_back({"t", name, "x"});
  }
  const auto file = fetchers::parse_engine_file(text, "bench.yaml");
  auto fetcher = fetchers::make_fetcher(file->engines);
  const Clock& clock = machine_clock();
  std::size_t hits = 0;
  measure_floor(base);
  measure("fetch, parse and canonicalise", [&] {
    const auto lists =
        (*fetcher)->fetch(queries, {.depth = 30, .deadline = Deadline(clock, std::chrono::seconds(2))}, {});
    for (const auto& list : lists) hits += list.list.hits.size();
  });
  std::printf("  %zu results a round of %d wanted\n", hits / (kRounds + 20), kEngines * 30);
  return hits == static_cast<std::size_t>(kEngines * 30 * (kRounds + 20)) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fetch_lists http://127.0.0.1:PORT (see bench/fetch_lists.sh)\n");
    return 64;
  }
  return run(argv[1]);
}
