// What the work of a store costs when it contains a given number of searches: writing them in batches like a
// server's, recording clicks and judgments, counting for analytics, reading for training, and deleting the
// older half.
// usage: store_growth LOCATION SEARCHES [SERVER_PID]
// LOCATION is an SQLite file that does not exist yet, or the URL of an empty PostgreSQL database. One search
// in ten is clicked, one in a hundred judged. Prints one JSON object: for each kind of work its wall-clock
// seconds, the processor seconds of this program and of the server with the processes that it started, and
// the number of things done.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/json.h"
#include "core/random.h"
#include "service/store/store.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

constexpr UnixTime kNow = 1790000000;
constexpr UnixTime kDay = 86400;
constexpr UnixTime kSpan = 90 * kDay;  ///< the period over which the searches are spread
constexpr std::size_t kBatch = 256;    ///< the batch size of the server's search log
constexpr int kLists = 8;
constexpr std::uint32_t kDepth = 30;

/// The value of a result; an error ends the program with its message.
template <class Value>
Value must(Result<Value> outcome) {
  if (!outcome) {
    std::cerr << "store_growth: " << outcome.error().text << '\n';
    std::exit(1);
  }
  if constexpr (!std::is_void_v<Value>) return std::move(*outcome);
}

StoredSearch search_number(std::size_t i, std::size_t all, Random& random) {
  StoredSearch search;
  search.id = sha256_hex(fmt::format("search {}", i)).substr(0, 32);
  search.domain = "d";
  // Half of the searches use one of a thousand queries; the other half draw from as many as there
  // are searches.
  const std::uint64_t query = i % 2 == 0 ? random.below(1000) : 1000 + random.below(all);
  search.slots.slots = {{"Q", fmt::format("query {}", query)}};
  search.query = sha256_hex(search.slots.slots.begin()->second).substr(0, 32);
  search.at =
      kNow - kSpan +
      static_cast<UnixTime>(static_cast<double>(kSpan) * static_cast<double>(i) / static_cast<double>(all));
  search.model = "0123456789ab";
  for (std::uint32_t d = 0; d < 2 * kDepth; ++d)
    search.documents.push_back(fmt::format("site{}.example/page/{}", random.below(100000), d));
  for (int l = 0; l < kLists; ++l) {
    search.lists.push_back({fmt::format("all@e{}", l), static_cast<int>(kDepth), false, {}});
    for (std::uint32_t r = 0; r < kDepth; ++r)
      search.lists.back().documents.push_back((r * 7 + static_cast<std::uint32_t>(l) * 11) % (2 * kDepth));
  }
  for (std::uint32_t d = 0; d < kDepth; ++d) search.shown.push_back({d, Team::none});
  return search;
}

/// Processor seconds of a process and of the processes that it started.
double server_cpu(pid_t server) {
  double ticks = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;
    std::istringstream fields(line.substr(line.rfind(')') + 1));
    std::string state;
    std::string skipped;
    pid_t parent = 0;
    fields >> state >> parent;
    for (int i = 5; i < 14; ++i) fields >> skipped;
    double user = 0;
    double system = 0;
    double ended_user = 0;
    double ended_system = 0;
    fields >> user >> system >> ended_user >> ended_system;
    if (parent == server || entry.path().filename() == std::to_string(server)) ticks += user + system;
    if (entry.path().filename() == std::to_string(server)) ticks += ended_user + ended_system;
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// The seconds and the number of things done, by name, in the order of the work.
class Work {
 public:
  explicit Work(pid_t server) : server_(server) {}

  void time(const std::string& name, const std::function<std::size_t()>& work) {
    const double cpu = cpu_seconds();
    const auto begin = std::chrono::steady_clock::now();
    const std::size_t done = work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    out_[name] = JsonObject{{"seconds", took.count()}, {"cpu_seconds", cpu_seconds() - cpu}, {"done", done}};
  }
  const JsonObject& out() const { return out_; }

 private:
  double cpu_seconds() const {
    const double own = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    return own + (server_ == 0 ? 0.0 : server_cpu(server_));
  }

  pid_t server_;
  JsonObject out_;
};

std::size_t write_searches(Store& store, std::size_t all) {
  Random random(1);
  std::vector<StoredSearch> batch;
  for (std::size_t i = 0; i < all; ++i) {
    batch.push_back(search_number(i, all, random));
    if (batch.size() < kBatch && i + 1 < all) continue;
    must(store.searches.add(batch));
    batch.clear();
  }
  return all;
}

std::size_t write_clicks(Store& store, std::size_t all) {
  std::size_t clicks = 0;
  for (std::size_t i = 0; i < all; i += 10) {
    Click click;
    click.search = sha256_hex(fmt::format("search {}", i)).substr(0, 32);
    click.position = static_cast<std::uint32_t>(i % kDepth);
    click.domain = "d";
    click.at =
        kNow - kSpan +
        static_cast<UnixTime>(static_cast<double>(kSpan) * static_cast<double>(i) / static_cast<double>(all));
    click.prefix = fmt::format("prefix {}", i % 5000);
    must(store.clicks.add(click, {1e9, 1e9}));
    ++clicks;
  }
  return clicks;
}

std::size_t write_judgments(Store& store, std::size_t all) {
  std::vector<StoredJudgment> judgments;
  for (std::size_t i = 50; i < all; i += 100) {
    const std::string id = sha256_hex(fmt::format("search {}", i)).substr(0, 32);
    judgments.push_back({"d", fmt::format("judged {}", i), "site1.example/", "judge", 2, id, kNow});
  }
  must(store.judgments.set(judgments));
  return judgments.size();
}

std::size_t read_for_analytics(Store& store) {
  std::size_t seen = must(store.searches.asked_queries("d", 100)).size();
  seen += must(store.searches.facts("d", kNow - kSpan)).size();
  return seen + must(store.clicks.latest("d", kNow - kSpan, 1000000)).size();
}

std::size_t read_for_training(Store& store) {
  std::size_t seen = 0;
  for (const ClickedSearch& clicked : must(store.clicks.searches("d", 1000000))) {
    if (must(store.searches.find(clicked.search))) ++seen;
    seen += clicked.clicks.size();
  }
  for (const JudgedQuery& query : must(store.judgments.queries("d")))
    if (must(store.searches.find(query.search))) ++seen;
  return seen;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t all = argc >= 3 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (all == 0) {
    std::cerr << "usage: store_growth LOCATION SEARCHES [SERVER_PID]\n";
    return 64;
  }
  const auto store = must(open_store(argv[1]));
  Work work(argc > 3 ? std::atoi(argv[3]) : 0);
  work.time("write searches", [&] { return write_searches(*store, all); });
  work.time("write clicks", [&] { return write_clicks(*store, all); });
  work.time("write judgments", [&] { return write_judgments(*store, all); });
  work.time("analytics", [&] { return read_for_analytics(*store); });
  work.time("training reads", [&] { return read_for_training(*store); });
  work.time("retention", [&] {
    const RemovedCounts removed = must(store->remove_before(kNow - kSpan / 2));
    return removed.searches + removed.clicks;
  });
  std::cout << to_text(work.out()) << '\n';
  return 0;
}
