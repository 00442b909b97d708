#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace metafuse::test {

/// Keys that a table of `buckets` buckets with the standard library's hash puts all into one bucket. Anybody
/// can find them, because that hash has no secret.
///
/// cost:   about count * buckets hashes
inline std::vector<std::string> colliding_keys(std::size_t count, std::size_t buckets) {
  std::vector<std::string> out;
  std::string key = "aaaaaaa";
  while (out.size() < count) {
    if (std::hash<std::string>()(key) % buckets == 0) out.push_back(key);
    for (std::size_t at = 0; at < key.size() && ++key[at] > 'z'; ++at) key[at] = 'a';
  }
  return out;
}

}  // namespace metafuse::test
