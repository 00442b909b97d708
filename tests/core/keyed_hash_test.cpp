#include "core/keyed_hash.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <catch2/catch.hpp>

#include "tests/support/colliding_keys.h"

using namespace metafuse;

namespace {

template <class Table>
std::size_t fullest_bucket(const Table& table) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < table.bucket_count(); ++i) most = std::max(most, table.bucket_size(i));
  return most;
}

}  // namespace

TEST_CASE("Keys chosen to collide in the standard table spread over the keyed one", "[core][keyed_hash]") {
  constexpr std::size_t kBuckets = 2357;  // libstdc++ grows to this many for 1,110 to 2,357 keys
  const auto keys = test::colliding_keys(2000, kBuckets);
  const std::unordered_set<std::string> plain(keys.begin(), keys.end());
  if (plain.bucket_count() == kBuckets) CHECK(fullest_bucket(plain) == keys.size());
  const TextSet keyed(keys.begin(), keys.end());
  CHECK(keyed.size() == keys.size());
  CHECK(fullest_bucket(keyed) < 20);
}

TEST_CASE("The hash depends on every byte and is stable within a process", "[core][keyed_hash]") {
  const KeyedHash hash;
  std::set<std::size_t> seen;
  std::string key(40, 'x');
  seen.insert(hash(key));
  for (char& c : key) {
    c = 'y';
    seen.insert(hash(key));
    CHECK(hash(key) == hash(std::string(key)));
  }
  seen.insert(hash(""));
  seen.insert(hash(std::string(1, '\0')));
  CHECK(seen.size() == 43);
  const HashSecret secret = hash_secret();
  CHECK(secret.first != secret.second);
  CHECK(secret.second != secret.third);
  CHECK(secret.first == hash_secret().first);
}
