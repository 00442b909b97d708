#include "fetchers/engines/index/posting_list.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/word_dice.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using metafuse::test::WordDice;

TEST_CASE("A list of documents is read back unchanged", "[fetchers][local][ranking]") {
  WordDice dice(11);
  std::vector<std::uint32_t> lengths;
  std::vector<std::pair<std::uint32_t, ColumnCounts>> written;
  for (std::uint32_t id = 0; id < 20'000; ++id) {
    lengths.push_back(static_cast<std::uint32_t>(100 + dice.below(50)));
    if ((id > 6000 && id < 11'000) || dice.below(2) == 0) continue;
    ColumnCounts counts;
    // a few documents have rare counts, so that codes of every size occur
    counts.emplace_back(0, static_cast<std::uint32_t>(1 + dice.below(1 + dice.below(200))));
    if (dice.below(2) == 0) counts.emplace_back(63, 7);
    written.emplace_back(id, counts);
  }
  PostingListWriter writer(lengths);
  for (const auto& [id, counts] : written) {
    writer.add(id, writer.code_of(counts));
    if (id % 4000 < 2) writer.end_part();
  }
  const PostingBytes bytes = writer.finish();
  CHECK(bytes.documents == written.size());
  CHECK(bytes.parts.size() > 1);
  auto list = PostingList::read(bytes.codes);
  REQUIRE(list.has_value());
  for (const PostingPart& part : bytes.parts) REQUIRE(list->add_part(part.first_window, part.postings));
  CHECK(list->documents_in(kAllColumns) == written.size());
  CHECK(list->documents_in(2) == 0);
  CHECK_FALSE(PostingList(*list).add_part(bytes.parts.back().first_window, bytes.parts[0].postings));
  PostingCursor cursor(*list);
  std::vector<std::pair<std::uint32_t, ColumnCounts>> read;
  std::vector<PostingCursor::Posting> postings;
  for (std::uint32_t window = 0; cursor.advance(window) && !cursor.is_at_end();
       window = cursor.window() + 1) {
    REQUIRE(cursor.read(postings));
    std::uint32_t shortest = 1000;
    for (std::uint32_t i = 0; i < cursor.documents(); ++i) {
      const std::uint32_t id = cursor.window() * PostingList::kWindow + postings[i].place;
      read.emplace_back(id, list->codes[postings[i].code].counts);
      CHECK(((cursor.code_bits() >> std::min(postings[i].code, 63U)) & 1) != 0);
      shortest = std::min(shortest, lengths[id]);
    }
    CHECK(cursor.shortest() == shortest);
  }
  CHECK(read == written);
  CHECK_FALSE(PostingList::read("").has_value());
  // A cursor that is advanced finds the window that follows.
  for (int i = 0; i < 200; ++i) {
    PostingCursor skipping(*list);
    for (std::uint32_t wanted = 0; wanted < 20;) {
      REQUIRE(skipping.advance(wanted));
      const auto expected = std::find_if(written.begin(), written.end(), [&](const auto& one) {
        return one.first >= wanted * PostingList::kWindow;
      });
      REQUIRE(skipping.is_at_end() == (expected == written.end()));
      if (!skipping.is_at_end()) CHECK(skipping.window() == expected->first / PostingList::kWindow);
      wanted += static_cast<std::uint32_t>(1 + dice.below(6));
    }
  }
  // Truncated or changed bytes are refused or read as another list, and never read beyond their end.
  for (int i = 0; i < 2000; ++i) {
    const auto damaged = [&](std::string text) {
      if (dice.below(3) == 0) text.resize(dice.below(text.size()));
      if (!text.empty())
        text[dice.below(std::min<std::size_t>(text.size(), 3000))] ^= static_cast<char>(1 + dice.below(255));
      return text;
    };
    auto other = PostingList::read(dice.below(2) == 0 ? damaged(bytes.codes) : bytes.codes);
    if (!other) continue;
    for (const PostingPart& part : bytes.parts)
      static_cast<void>(other->add_part(part.first_window, damaged(part.postings)));
    PostingCursor at(*other);
    for (std::uint32_t window = 0; at.advance(window) && !at.is_at_end(); window = at.window() + 1)
      if (!at.read(postings)) break;
  }
}
