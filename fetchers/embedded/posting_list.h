#pragma once

// The documents of one word as bytes, made for ranking: who reads them knows in which columns and how often
// the word stands in a document, and can leave out whole windows of documents that cannot be among the best.
//
// A list begins with its codes. Documents in which the word stands equally often in each column have the same
// code; codes of more documents come first. Behind them come blocks, one for each window of kWindow
// successive ids that has documents: how far it is from the last one, the codes in it as 64 bits (the last
// one for all further codes), the length of its shortest document, the number of its documents, the number of
// bytes, and then for each document a number that holds the step from the last one and the code. All numbers
// are those of number_bytes.h.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace metafuse::fetchers {

/// How often a word stands in columns of a document: (column, count > 0), columns ascending.
using ColumnCounts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Columns as bits; an index has at most 64.
using ColumnSet = std::uint64_t;
inline constexpr ColumnSet kAllColumns = ~ColumnSet{0};

/// Makes the bytes of a list.
class PostingListWriter {
 public:
  /// in: lengths - words per document, by id; must outlive the writer
  explicit PostingListWriter(const std::vector<std::uint32_t>& lengths) : lengths_(&lengths) {}

  /// The number of a code, for add(). Requires counts that are not empty.
  std::uint32_t code_of(const ColumnCounts& counts);
  /// Requires ids that ascend and have a length.
  void add(std::uint32_t document, std::uint32_t code);
  /// The bytes; the writer is empty afterwards.
  std::string finish();

 private:
  struct Hash {
    std::size_t operator()(const ColumnCounts& counts) const;
  };
  struct Entry {
    std::uint32_t document, code;
  };

  void append_window(std::string& out, const Entry* begin, const Entry* end,
                     const std::vector<std::uint32_t>& code_places) const;

  const std::vector<std::uint32_t>* lengths_;
  std::unordered_map<ColumnCounts, std::uint32_t, Hash> codes_;
  std::vector<Entry> entries_;
};

/// What all documents of a code have in common.
struct PostingCode {
  std::uint32_t documents = 0;
  ColumnCounts counts;
};

/// A list that was read.
struct PostingList {
  static constexpr std::uint32_t kWindow = 1024;
  static constexpr std::size_t kCodeBits = 64;

  std::string bytes;
  std::size_t blocks_at = 0;  ///< where the blocks begin in `bytes`
  std::vector<PostingCode> codes;

  /// Nothing where the bytes are no list.
  static std::optional<PostingList> read(std::string bytes);

  /// How many documents have the word in one of the columns.
  std::uint64_t documents_in(ColumnSet columns) const;
};

/// Goes through the windows of a list, which must outlive it.
class PostingCursor {
 public:
  struct Posting {
    std::uint32_t place;  ///< in the window
    std::uint32_t code;
  };

  explicit PostingCursor(const PostingList& list);

  /// Moves to the first window at or behind `window`; false where the bytes are damaged.
  bool advance(std::uint32_t window);
  bool is_at_end() const { return is_at_end_; }
  std::uint32_t window() const { return window_; }
  std::uint64_t code_bits() const { return code_bits_; }
  std::uint32_t shortest() const { return shortest_; }
  std::uint32_t documents() const { return documents_; }

  /// The window's documents, ascending; nothing where the bytes are damaged.
  /// out: postings - kWindow places, of which the first documents() are filled
  bool read(std::array<Posting, PostingList::kWindow>& postings) const;

 private:
  bool next();

  const PostingList* list_;
  std::string_view rest_, block_;
  std::uint32_t window_ = 0, shortest_ = 0, documents_ = 0;
  std::uint64_t code_bits_ = 0;
  bool is_at_end_ = false, has_begun_ = false;
};

}  // namespace metafuse::fetchers
