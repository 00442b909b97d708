#pragma once

// The documents that contain one word, encoded for ranking. A reader learns in which columns and how often
// the word occurs in a document, and can skip whole windows of documents that cannot be among the best.
//
// A list begins with its codes. Documents in which the word occurs equally often in each column share one
// code; the codes of the most documents come first. Then follow blocks, one for each window of kWindow
// consecutive ids that contains documents. A block holds the distance from the previous window, the codes in
// it as 64 bits (the last bit represents all further codes), the length of its shortest document, the number
// of its documents, the number of its bytes, and then one number per document that combines the step from the
// previous document with the code; the excess of a large code follows as a second number. All numbers are
// encoded as in number_bytes.h.
//
// The places of the word in its documents, which only phrases need, are kept apart. For each block they hold
// the number of bytes, and then for each document and each column of its code the first place in the column
// and the distances between the others.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace metafuse::fetchers {

/// How often a word occurs in the columns of a document: (column, count > 0), in ascending order of columns.
using ColumnCounts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// A set of columns as bits; an index has at most 64.
using ColumnSet = std::uint64_t;
inline constexpr ColumnSet kAllColumns = ~ColumnSet{0};

/// An encoded list.
struct PostingBytes {
  std::string postings;
  std::string places;  ///< empty for a list without places
};

/// Encodes a list.
class PostingListWriter {
 public:
  /// in:     lengths - number of words per document, by id; must outlive the writer
  explicit PostingListWriter(const std::vector<std::uint32_t>& lengths) : lengths_(&lengths) {}

  /// The number that represents these counts, for add(). Requires counts that are not empty.
  std::uint32_t code_of(const ColumnCounts& counts);
  /// in:     places - encoded; empty if the list has none
  /// Requires ascending ids, each with a length.
  void add(std::uint32_t document, std::uint32_t code, std::string_view places = {});
  std::size_t documents() const { return entries_.size(); }
  /// Returns the bytes and leaves the writer empty.
  PostingBytes finish();

 private:
  struct KeyedHashOfCounts {
    std::size_t operator()(const ColumnCounts& counts) const;
  };
  struct Entry {
    std::uint32_t document, code;
    std::size_t places_end;  ///< in places_; they begin where those of the entry before end
  };

  void append_window(std::string& out, const Entry* begin, const Entry* end,
                     const std::vector<std::uint32_t>& code_places) const;

  const std::vector<std::uint32_t>* lengths_;
  std::unordered_map<ColumnCounts, std::uint32_t, KeyedHashOfCounts> codes_;
  std::vector<Entry> entries_;
  std::string places_;
};

/// What all documents with the same code have in common.
struct PostingCode {
  std::uint32_t documents = 0;
  ColumnCounts counts;
  std::uint64_t places = 0;  ///< in each of its documents: the sum of the counts; of a list that was read
};

/// A decoded list: its codes, and the bytes of its blocks.
struct PostingList {
  static constexpr std::uint32_t kWindow = 1024;
  static constexpr std::size_t kCodeBits = 64;

  std::string bytes;
  std::size_t blocks_at = 0;  ///< offset in `bytes`
  std::vector<PostingCode> codes;

  /// nullopt if the bytes are not a valid list.
  static std::optional<PostingList> read(std::string bytes);

  /// The number of documents that have the word in at least one of the columns.
  std::uint64_t documents_in(ColumnSet columns) const;
};

/// Iterates over the windows of a list, which must outlive it.
class PostingCursor {
 public:
  struct Posting {
    std::uint32_t place;  ///< within the window
    std::uint32_t code;
  };

  explicit PostingCursor(const PostingList& list);

  /// Moves to the first window that is not before `window`. False if the bytes are damaged.
  bool advance(std::uint32_t window);
  bool is_at_end() const { return is_at_end_; }
  std::uint32_t window() const { return window_; }
  std::uint64_t code_bits() const { return code_bits_; }
  std::uint32_t shortest() const { return shortest_; }
  std::uint32_t documents() const { return documents_; }
  /// The number of blocks before this window's.
  std::size_t block() const { return block_number_; }

  /// Reads the window's documents, in ascending order. False if the bytes are damaged.
  /// out:    postings - documents() of them
  bool read(std::vector<Posting>& postings) const;

 private:
  bool next();

  const PostingList* list_;
  std::string_view rest_, block_;
  std::uint32_t window_ = 0, shortest_ = 0, documents_ = 0;
  std::uint64_t code_bits_ = 0;
  std::size_t block_number_ = 0;
  bool is_at_end_ = false, has_begun_ = false;
};

/// Reads the places of a list, block by block.
class PlaceCursor {
 public:
  explicit PlaceCursor(std::string_view places) : rest_(places) {}

  /// Moves to the beginning of a block, by its number, which is at least that of the block before.
  /// False if the bytes are damaged.
  bool advance(std::size_t block);
  /// The next places of the block. False if the bytes are damaged.
  bool take(std::uint64_t places, std::string_view& bytes);

 private:
  std::string_view rest_, block_, left_;  ///< left_: what was not taken of the block
  std::size_t next_block_ = 0;
};

/// Appends the places of one document. Requires ascending places within a column.
/// in:     places - of all columns, in the order of `counts`
void append_places(std::string& out, const ColumnCounts& counts, const std::vector<std::uint32_t>& places);

/// Decodes the places of one document in the columns asked for, column by column; each is the place within
/// its column plus kColumnDistance times the column. False if the bytes are damaged.
bool read_places(std::string_view bytes, const ColumnCounts& counts, ColumnSet columns,
                 std::vector<std::uint64_t>& out);
inline constexpr std::uint64_t kColumnDistance = std::uint64_t{1} << 32;

}  // namespace metafuse::fetchers
