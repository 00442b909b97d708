#include "fusion/learners/monotone_trees/push_sums.h"

namespace metafuse::fusion::monotone_trees {

namespace {

template <std::size_t kColumns>
void add_columns(const std::uint8_t* const* codes, WholePush* const* sums,
                 std::span<const std::uint32_t> documents, const WholePush* pushes) {
  for (const std::uint32_t document : documents) {
    const WholePush push = pushes[document];
    for (std::size_t c = 0; c < kColumns; ++c) sums[c][codes[c][document]] += push;
  }
}

}  // namespace

void PushColumns::add(const std::uint8_t* codes, WholePush* sums, std::span<const std::uint32_t> documents,
                      std::span<const WholePush> pushes) {
  codes_[count_] = codes;
  sums_[count_] = sums;
  if (++count_ == kMost) sum_up(documents, pushes);
}

void PushColumns::sum_up(std::span<const std::uint32_t> documents, std::span<const WholePush> pushes) {
  std::size_t done = 0;
  for (; done + 8 <= count_; done += 8) add_columns<8>(codes_ + done, sums_ + done, documents, pushes.data());
  for (; done + 4 <= count_; done += 4) add_columns<4>(codes_ + done, sums_ + done, documents, pushes.data());
  for (; done < count_; ++done) add_columns<1>(codes_ + done, sums_ + done, documents, pushes.data());
  count_ = 0;
}

}  // namespace metafuse::fusion::monotone_trees
