#include "fusion/data/column_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

TEST_CASE("What several threads append stands apart in the file", "[fusion][column_file]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  const auto file = ColumnFile::open(folder.path("")).value();
  constexpr std::size_t kEach = 20'000;
  std::array<std::vector<std::uint64_t>, 4> begins;
  std::vector<std::thread> threads;
  for (std::uint64_t number = 0; number < begins.size(); ++number)
    threads.emplace_back([&, number] {
      for (std::size_t i = 0; i < kEach; ++i)
        begins[number].push_back(file->append(std::as_bytes(std::span(&number, 1))).value());
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<std::uint64_t> all;
  for (const auto& some : begins) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  const auto bytes = file->map_all().value();
  REQUIRE(bytes.size() == begins.size() * kEach * sizeof(std::uint64_t));
  const auto* const numbers = reinterpret_cast<const std::uint64_t*>(bytes.data());
  std::array<std::size_t, 4> count{};
  for (std::size_t i = 0; i < all.size(); ++i) ++count.at(numbers[i]);
  CHECK(count == std::array<std::size_t, 4>{kEach, kEach, kEach, kEach});
}
