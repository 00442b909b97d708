#include "fusion/learners/monotone_trees/boost.h"

namespace metafuse::fusion::monotone_trees {

namespace {

template <std::size_t kColumns>
std::size_t add_columns(std::span<const PushColumn> columns, std::span<const std::uint32_t> documents,
                        const WholePush* pushes) {
  std::size_t done = 0;
  for (; done + kColumns <= columns.size(); done += kColumns) {
    const std::uint8_t* codes[kColumns];
    WholePush* sums[kColumns];
    for (std::size_t c = 0; c < kColumns; ++c) {
      codes[c] = columns[done + c].codes;
      sums[c] = columns[done + c].sums;
    }
    for (const std::uint32_t document : documents) {
      const WholePush push = pushes[document];
      for (std::size_t c = 0; c < kColumns; ++c) sums[c][codes[c][document]] += push;
    }
  }
  return done;
}

}  // namespace

void sum_pushes(std::span<const PushColumn> columns, std::span<const std::uint32_t> documents,
                std::span<const WholePush> pushes) {
  columns = columns.subspan(add_columns<8>(columns, documents, pushes.data()));
  columns = columns.subspan(add_columns<4>(columns, documents, pushes.data()));
  add_columns<1>(columns, documents, pushes.data());
}

}  // namespace metafuse::fusion::monotone_trees
