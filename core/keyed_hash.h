#pragma once

// Hash tables whose keys come from outside: requests, engines, pages and files. With a hash that everybody
// can compute, a sender can choose keys that all fall into one bucket, and every look-up walks through all of
// them. The hash here depends on random bytes that each process draws for itself. It therefore also changes
// the order in which a table is iterated: sort before writing. `.ci/include-rules` refuses other hash tables.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace metafuse {

/// Hashes bytes with a secret of this process.
///
/// cost:   O(bytes); 20 ns for 20 bytes
/// source: SipHash-2-4, Aumasson and Bernstein 2012
struct KeyedHash {
  using is_transparent = void;
  using is_avalanching = void;

  std::size_t operator()(std::string_view bytes) const noexcept;
};

/// Random odd numbers of this process, as secrets of a table that has its own hash.
struct HashSecret {
  std::uint64_t first, second, third;
};
HashSecret hash_secret();

template <class Value>
using TextMap = std::unordered_map<std::string, Value, KeyedHash, std::equal_to<>>;
template <class Value>
using TextMultimap = std::unordered_multimap<std::string, Value, KeyedHash, std::equal_to<>>;
using TextSet = std::unordered_set<std::string, KeyedHash, std::equal_to<>>;

/// The same with keys that refer to texts which outlive the table.
template <class Value>
using TextViewMap = std::unordered_map<std::string_view, Value, KeyedHash>;
using TextViewSet = std::unordered_set<std::string_view, KeyedHash>;

}  // namespace metafuse
