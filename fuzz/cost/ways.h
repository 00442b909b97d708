#pragma once

// The ways in: every format that the program reads from outside, with the pieces of its grammar from which
// inputs of any size are made.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace metafuse::cost {

/// How inputs of one kind grow: `before`, then `piece` as often as fits, then `middle`, `closing` as often as
/// the piece, and `after`. "%" in a piece becomes a number that differs from piece to piece.
struct Growth {
  std::string name;
  std::string before, piece, after;
  std::string middle = {}, closing = {};
};

/// An input of about that many bytes.
std::string grown(const Growth& growth, std::size_t bytes);

struct Way {
  std::string name;
  std::size_t limit;   ///< bytes of the largest input that the program accepts, or reads in one piece
  double ns_per_byte;  ///< the stated constant, of a release build
  std::function<void(const std::string& text)> read;
  std::vector<Growth> growths;
  double memory_per_byte = 64;  ///< the stated bytes of memory per byte of input, beside kFreeMemory
};

std::vector<Way> ways();
/// Those whose cost depends on more than reading.
void add_lists_and_indexes(std::vector<Way>& out);

}  // namespace metafuse::cost
