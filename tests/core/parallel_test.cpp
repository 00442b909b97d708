#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"

using namespace metafuse;

namespace {

std::string numbered_lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 1; i <= count; ++i)
    text += std::to_string(i) + " some words that make a line longer\n";
  return text;
}

/// While this lives, the system makes `threads` more threads of this process and no other. A thread's stack
/// takes 1 GB of addresses, and the limit has room for so many.
class FewThreads {
 public:
  explicit FewThreads(std::size_t threads) {
    pthread_getattr_default_np(&before_);
    pthread_attr_t large = before_;
    pthread_attr_setstacksize(&large, kStack);
    pthread_setattr_default_np(&large);
    getrlimit(RLIMIT_AS, &limit_);
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    file >> pages;
    const auto used = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const rlimit few{used + threads * kStack + kStack / 2, limit_.rlim_max};
    setrlimit(RLIMIT_AS, &few);
  }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
  ~FewThreads() {
    setrlimit(RLIMIT_AS, &limit_);
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  static constexpr std::size_t kStack = std::size_t{1} << 30;
  pthread_attr_t before_{};
  rlimit limit_{};
};

}  // namespace

TEST_CASE("Where the system makes too few threads those that exist do all work", "[core][block_workers]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("lines", numbered_lines(150'000));
  for (const std::size_t threads : {0U, 1U, 2U}) {
    const FewThreads few(threads);
    std::atomic<std::int64_t> lines{0};
    std::atomic<unsigned> last{0};
    const auto read =
        for_each_block_on_workers(path, 5, [&](unsigned worker, std::string_view block, std::size_t) {
          lines += std::count(block.begin(), block.end(), '\n');
          if (worker > last) last = worker;
          return Result<void>();
        });
    CHECK(read.has_value());
    CHECK(lines == 150'000);
    CHECK(last < std::max<std::size_t>(threads, 1));
    std::atomic<std::size_t> calls{0};
    parallel_for(100, 5, [&](std::size_t) { ++calls; });
    CHECK(calls == 100);
  }
}

TEST_CASE("The workers get every line exactly once with its number", "[core][block_workers]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("lines", numbered_lines(150'000));
  for (const unsigned threads : {1U, 2U, 5U}) {
    std::vector<std::vector<std::size_t>> seen(threads);
    const auto read = for_each_block_on_workers(
        path, threads, [&](unsigned worker, std::string_view lines, std::size_t first) {
          for (; !lines.empty(); lines.remove_prefix(lines.find('\n') + 1), ++first) {
            if (std::stoul(std::string(lines.substr(0, lines.find(' ')))) != first)
              throw std::logic_error("number");
            seen[worker].push_back(first);
          }
          return Result<void>();
        });
    REQUIRE(read.has_value());
    std::vector<std::size_t> all;
    for (const auto& part : seen) all.insert(all.end(), part.begin(), part.end());
    std::sort(all.begin(), all.end());
    REQUIRE(all.size() == 150'000);
    REQUIRE(all.front() == 1);
    REQUIRE(all.back() == 150'000);
  }
}

TEST_CASE("The first bad line of a file is reported whichever worker finds an error first",
          "[core][block_workers]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("lines", numbered_lines(150'000));
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto read = for_each_block_on_workers(
        path, 3, [&](unsigned, std::string_view, std::size_t first) -> Result<void> {
          if (first == 1) return {};
          return fail(Code::bad_data, "block of line " + std::to_string(first));
        });
    REQUIRE(read.has_error());
    const auto alone = for_each_block_on_workers(
        path, 1, [&](unsigned, std::string_view, std::size_t first) -> Result<void> {
          if (first == 1) return {};
          return fail(Code::bad_data, "block of line " + std::to_string(first));
        });
    CHECK(read.error().text == alone.error().text);
  }
}

TEST_CASE("A worker's exception is rethrown and a missing file is an error", "[core][block_workers]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("lines", numbered_lines(10));
  const auto give = [](unsigned, std::string_view, std::size_t) -> Result<void> {
    throw std::runtime_error("mine");
  };
  CHECK_THROWS_WITH((void)for_each_block_on_workers(path, 2, give), "mine");
  const auto read = for_each_block_on_workers(folder.path("none"), 2, give);
  REQUIRE(read.has_error());
  CHECK(read.error().code == Code::no_input);
}

TEST_CASE("After a failure no call above it begins", "[core][parallel]") {
  std::vector<std::size_t> begun;
  const auto done = try_parallel_for(9, 1, [&](std::size_t i) -> Result<void> {
    begun.push_back(i);
    return i < 3 ? Result<void>() : fail(Code::bad_data, std::to_string(i));
  });
  REQUIRE(done.has_error());
  CHECK(done.error().text == "3");
  CHECK(begun == std::vector<std::size_t>{0, 1, 2, 3});
}
