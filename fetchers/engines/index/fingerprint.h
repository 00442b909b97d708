#pragma once

// Fingerprints by which nearly equal texts are recognised.

#include <cstdint>
#include <string_view>
#include <vector>

namespace metafuse::fetchers {

/// A number of 64 bits that changes in few bits if a text changes a little. 0 for a text without words.
///
/// cost:   O(bytes)
/// source: SimHash, Charikar 2002; Manku, Jain, Das Sarma 2007. The features are pairs of neighbouring words.
std::uint64_t text_fingerprint(std::string_view text);

/// In how many bits two fingerprints differ. Those of unrelated texts differ in 32, give or take 4.
int differing_bits(std::uint64_t a, std::uint64_t b);

/// The hashes of a text's pairs of neighbouring words, and of its first word; sorted, each once.
std::vector<std::uint64_t> word_pairs(std::string_view text);

/// The share of two sorted sets that they have in common (Jaccard); 0 if both are empty.
double common_share(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b);

}  // namespace metafuse::fetchers
