#pragma once

// The documents that contain one word, encoded for ranking. A reader learns in which columns and how often
// the word occurs in a document, and can skip whole windows of documents that cannot be among the best.
//
// A list has codes and parts. Documents in which the word occurs equally often in each column share one
// code; the codes of the most documents come first, as far as updates keep that order. A part contains
// blocks, one for each window of kWindow consecutive ids that contains documents; parts are small, so that
// an update writes only those of its documents. A block begins with a number that combines the distance from
// the previous window with whether the block has one document. If so, the document's length and its posting
// follow. Otherwise the block holds the number of its documents, the codes in it as 64 bits (the last bit
// represents all further codes), the length of its shortest document, the number of bytes of the postings,
// and then the postings. A posting is a number that combines the step from the previous document with the
// code; the excess of a large code follows as a second number. All numbers are encoded as in number_bytes.h.
//
// The places of the word in its documents, which only phrases need, are kept apart. For each block of a part
// they hold the number of bytes, and then for each document and each column of its code the first place in
// the column and the distances between the others.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fetchers/engines/index/number_bytes.h"

namespace metafuse::fetchers {

/// How often a word occurs in the columns of a document: (column, count > 0), in ascending order of columns.
using ColumnCounts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// A set of columns as bits; an index has at most 64.
using ColumnSet = std::uint64_t;
inline constexpr ColumnSet kAllColumns = ~ColumnSet{0};

/// Consecutive blocks of a list, which are stored together.
struct PostingPart {
  std::uint32_t first_window = 0;
  std::string postings;
  std::string places;  ///< empty for a list without places
};

/// An encoded list.
struct PostingBytes {
  std::uint64_t documents = 0;
  std::string codes;
  std::vector<PostingPart> parts;
};

/// What all documents with the same code have in common.
struct PostingCode {
  std::uint32_t documents = 0;
  ColumnCounts counts;
  std::uint64_t places = 0;  ///< in each of its documents: the sum of the counts
};

class PostingCursor;

/// Encodes a list, or some parts of one.
class PostingListWriter {
 public:
  /// in:     lengths - number of words per document, by id; must outlive the writer
  explicit PostingListWriter(const std::vector<std::uint32_t>& lengths) : lengths_(&lengths) {}

  /// Goes on with a list that has these codes; they keep their numbers. Its documents that are written again
  /// must be taken out.
  void start_with(const std::vector<PostingCode>& codes);
  void take_out(std::uint32_t code);

  /// The number that represents these counts, for add(). Requires counts that are not empty.
  std::uint32_t code_of(const ColumnCounts& counts);
  /// in:     places - encoded; empty if the list has none
  /// Requires ascending ids, each with a length.
  void add(std::uint32_t document, std::uint32_t code, std::string_view places = {});
  /// Adds a block of the list that the writer started with, as it is. Requires a window behind all others.
  /// in:     block, places - must live until finish()
  void add_block(const PostingCursor& block, std::string_view places);
  /// The next window begins a new part.
  void end_part();
  /// Returns the parts and leaves the writer empty.
  /// in:     orders_codes - by their numbers of documents; requires that all parts were added, without blocks
  PostingBytes finish(bool orders_codes = true);

 private:
  struct KeyedHashOfCounts {
    std::size_t operator()(const ColumnCounts& counts) const;
  };
  struct Entry {
    std::uint32_t document, code;
    std::size_t places_end;  ///< in places_; they begin where those of the entry before end
  };

  struct Block {
    std::uint32_t window;
    bool is_single;
    std::string_view bytes, places;
  };

  std::vector<std::uint32_t> write_codes(bool orders_codes, PostingBytes& out) const;
  void write_window(PostingPart& part, std::uint32_t step, const Entry* begin, const Entry* end,
                    const std::vector<std::uint32_t>& code_places) const;
  static void write_places(PostingPart& part, std::string_view places);

  const std::vector<std::uint32_t>* lengths_;
  std::unordered_map<ColumnCounts, std::uint32_t, KeyedHashOfCounts> numbers_;  ///< of codes
  std::vector<PostingCode> codes_;
  std::vector<Entry> entries_;
  std::vector<Block> blocks_;             ///< that are copied
  std::vector<std::uint32_t> part_ends_;  ///< the first windows that are behind each
  std::string places_;
};

/// A list whose codes are decoded, with the bytes of its parts.
struct PostingList {
  static constexpr std::uint32_t kWindow = 1024;
  static constexpr std::size_t kCodeBits = 64;

  struct Part {
    std::uint32_t first_window = 0;
    std::size_t begin = 0;  ///< of its blocks, in `bytes`; they end where those of the next part begin
  };

  std::vector<PostingCode> codes;
  std::string bytes;  ///< the blocks of all parts
  std::vector<Part> parts;

  /// A list without parts. nullopt if the bytes are not valid codes.
  static std::optional<PostingList> read(std::string_view codes);
  /// Appends a part. False if it does not follow the others.
  bool add_part(std::uint32_t first_window, std::string_view postings);

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
  /// The part that the window's block is in, and the number of blocks before it there.
  std::size_t part() const { return part_; }
  std::size_t block() const { return block_number_; }

  /// The block as it lies in its part, but for the number at its beginning, which says `is_single`.
  std::string_view bytes() const { return bytes_; }
  bool is_single() const { return is_single_; }

  /// Calls `take(place, code)` with the documents, in ascending order. False if the bytes are damaged.
  template <class Take>
  bool visit(const Take& take) const;
  /// Reads the window's documents, in ascending order. False if the bytes are damaged.
  /// out:    postings - documents() of them
  bool read(std::vector<Posting>& postings) const;

 private:
  static constexpr std::uint32_t kSmallCodes = 15;  ///< codes below this share a number with the step
  friend class PostingListWriter;

  bool next();
  bool open_part(std::size_t part);
  bool open_block();
  bool open_single();

  const PostingList* list_;
  std::string_view rest_, block_, bytes_;  ///< rest_: of the part
  std::size_t part_ = 0, next_part_ = 0, block_number_ = 0;
  std::uint32_t window_ = 0, shortest_ = 0, documents_ = 0;
  std::uint64_t next_window_ = 0;  ///< the first that the next block may be of
  std::uint64_t code_bits_ = 0;
  bool is_at_end_ = false, has_begun_ = false, is_single_ = false;
};

template <class Take>
bool PostingCursor::visit(const Take& take) const {
  const auto codes = static_cast<std::uint32_t>(list_->codes.size());
  std::string_view rest = block_;
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < documents_; ++i) {
    std::uint32_t both = 0;
    if (!rest.empty() && (static_cast<unsigned char>(rest.front()) & 0x80) == 0) {
      both = static_cast<unsigned char>(rest.front());  // the most frequent case
      rest.remove_prefix(1);
    } else if (!take_number_bytes(rest, both)) {
      return false;
    }
    std::uint32_t code = both % (kSmallCodes + 1);
    if (code == kSmallCodes) {
      std::uint32_t further = 0;
      if (!take_number_bytes(rest, further) || further > codes) return false;
      code += further;
    }
    const std::uint32_t step = both / (kSmallCodes + 1);
    if (step >= PostingList::kWindow || next + step >= PostingList::kWindow || code >= codes) return false;
    take(next + step, code);
    next += step + 1;
  }
  return rest.empty();
}

/// Reads the places of a part, block by block.
class PlaceCursor {
 public:
  explicit PlaceCursor(std::string_view places) : rest_(places) {}

  /// Moves to the beginning of a block, by its number, which is at least that of the block before.
  /// False if the bytes are damaged.
  bool advance(std::size_t block);
  /// The places of the whole block.
  std::string_view block() const { return block_; }
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
