#include "fetchers/engines/index/posting_list.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "core/contract.h"
#include "core/keyed_hash.h"

namespace metafuse::fetchers {
namespace {

constexpr std::uint32_t kMaxListColumns = 64;
constexpr std::uint32_t kLastWindow = 0xffffffff / PostingList::kWindow;
constexpr std::size_t kPartBytes = 16'384;  ///< about the most that a part has

void append_code(std::string& out, const PostingCode& code) {
  append_number_bytes(out, code.documents);
  append_number_bytes(out, static_cast<std::uint32_t>(code.counts.size()));
  for (const auto& [column, count] : code.counts) {
    append_number_bytes(out, column);
    append_number_bytes(out, count);
  }
}

bool take_code(std::string_view& bytes, PostingCode& code) {
  std::uint32_t columns = 0;
  if (!take_number_bytes(bytes, code.documents) || !take_number_bytes(bytes, columns) || columns == 0 ||
      columns > kMaxListColumns)
    return false;
  for (std::uint32_t i = 0; i < columns; ++i) {
    std::uint32_t column = 0;
    std::uint32_t count = 0;
    if (!take_number_bytes(bytes, column) || !take_number_bytes(bytes, count) || column >= kMaxListColumns ||
        count == 0 || (i > 0 && column <= code.counts.back().first))
      return false;
    code.counts.emplace_back(column, count);
    code.places += count;
  }
  return true;
}

}  // namespace

std::size_t PostingListWriter::KeyedHashOfCounts::operator()(const ColumnCounts& counts) const {
  static_assert(sizeof(ColumnCounts::value_type) == 8, "a pair has no unused bytes");
  return KeyedHash()({reinterpret_cast<const char*>(counts.data()), counts.size() * 8});
}

void PostingListWriter::start_with(const std::vector<PostingCode>& codes) {
  require(codes_.empty(), "an empty writer");
  codes_ = codes;
  for (std::uint32_t i = 0; i < codes.size(); ++i) numbers_.try_emplace(codes[i].counts, i);
}

void PostingListWriter::take_out(std::uint32_t code) {
  if (codes_[code].documents > 0) --codes_[code].documents;
}

std::uint32_t PostingListWriter::code_of(const ColumnCounts& counts) {
  require(!counts.empty(), "counts of a word that is there");
  const auto [known, is_new] = numbers_.try_emplace(counts, static_cast<std::uint32_t>(codes_.size()));
  if (is_new) codes_.push_back({0, counts, 0});
  return known->second;
}

void PostingListWriter::add(std::uint32_t document, std::uint32_t code, std::string_view places) {
  require(document < lengths_->size() && code < codes_.size(),
          "a document of the index and a code of the list");
  require(entries_.empty() || document > entries_.back().document, "documents in ascending order");
  places_ += places;
  ++codes_[code].documents;
  entries_.push_back({document, code, places_.size()});
}

/// out:    the new number of each code
std::vector<std::uint32_t> PostingListWriter::write_codes(bool orders_codes, PostingBytes& out) const {
  std::vector<std::uint32_t> order(codes_.size());
  std::iota(order.begin(), order.end(), 0U);
  if (orders_codes) {
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return codes_[a].documents != codes_[b].documents ? codes_[a].documents > codes_[b].documents
                                                        : codes_[a].counts < codes_[b].counts;
    });
    // codes that no longer have documents are dropped
    while (!order.empty() && codes_[order.back()].documents == 0) order.pop_back();
  }
  append_number_bytes(out.codes, static_cast<std::uint32_t>(order.size()));
  std::vector<std::uint32_t> code_places(codes_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    append_code(out.codes, codes_[order[i]]);
    code_places[order[i]] = i;
    out.documents += codes_[order[i]].documents;
  }
  return code_places;
}

void PostingListWriter::add_block(const PostingCursor& block, std::string_view places) {
  blocks_.push_back({block.window(), block.is_single(), block.bytes(), places});
}

void PostingListWriter::end_part() {
  std::uint32_t behind = 0;
  if (!blocks_.empty()) behind = blocks_.back().window + 1;
  if (!entries_.empty()) behind = std::max(behind, entries_.back().document / PostingList::kWindow + 1);
  part_ends_.push_back(behind);
}

PostingBytes PostingListWriter::finish(bool orders_codes) {
  PostingBytes out;
  const auto code_places = write_codes(orders_codes, out);
  std::uint32_t next_window = 0;
  auto part_end = part_ends_.begin();
  auto block = blocks_.begin();
  bool begins_part = true;
  const Entry* const end = entries_.data() + entries_.size();
  for (const Entry* begin = entries_.data(); begin != end || block != blocks_.end();) {
    const std::uint32_t entered = begin == end ? kLastWindow + 1 : begin->document / PostingList::kWindow;
    const bool is_copied = block != blocks_.end() && block->window < entered;
    const std::uint32_t window = is_copied ? block->window : entered;
    for (; part_end != part_ends_.end() && *part_end <= window; ++part_end) begins_part = true;
    if (begins_part) {
      out.parts.push_back({window, {}, {}});
      next_window = window;
    }
    PostingPart& part = out.parts.back();
    if (is_copied) {
      append_number_bytes(part.postings, (window - next_window) * 2 + (block->is_single ? 1 : 0));
      part.postings += block->bytes;
      write_places(part, block->places);
      ++block;
    } else {
      const Entry* behind = std::find_if(
          begin, end, [&](const Entry& entry) { return entry.document / PostingList::kWindow != window; });
      write_window(part, window - next_window, begin, behind, code_places);
      begin = behind;
    }
    next_window = window + 1;
    begins_part = part.postings.size() + part.places.size() >= kPartBytes;
  }
  numbers_.clear();
  codes_.clear();
  entries_.clear();
  blocks_.clear();
  part_ends_.clear();
  places_.clear();
  return out;
}

void PostingListWriter::write_window(PostingPart& part, std::uint32_t step, const Entry* begin,
                                     const Entry* end, const std::vector<std::uint32_t>& code_places) const {
  constexpr std::uint32_t kSmallCodes = PostingCursor::kSmallCodes;
  std::uint64_t bits = 0;
  std::uint32_t shortest = ~std::uint32_t{0};
  std::string postings;
  std::uint32_t next = begin->document / PostingList::kWindow * PostingList::kWindow;
  for (const Entry* entry = begin; entry != end; ++entry) {
    const std::uint32_t code = code_places[entry->code];
    bits |= std::uint64_t{1} << std::min<std::uint32_t>(code, PostingList::kCodeBits - 1);
    shortest = std::min(shortest, (*lengths_)[entry->document]);
    append_number_bytes(postings, (entry->document - next) * (kSmallCodes + 1) + std::min(code, kSmallCodes));
    if (code >= kSmallCodes) append_number_bytes(postings, code - kSmallCodes);
    next = entry->document + 1;
  }
  const bool is_single = end - begin == 1;
  append_number_bytes(part.postings, step * 2 + (is_single ? 1 : 0));
  if (!is_single) {
    append_number_bytes(part.postings, static_cast<std::uint32_t>(end - begin));
    append_number_bytes(part.postings, static_cast<std::uint32_t>(bits));
    append_number_bytes(part.postings, static_cast<std::uint32_t>(bits >> 32));
  }
  append_number_bytes(part.postings, shortest);
  if (!is_single) append_number_bytes(part.postings, static_cast<std::uint32_t>(postings.size()));
  part.postings += postings;
  const std::size_t places_begin = begin == entries_.data() ? 0 : std::prev(begin)->places_end;
  write_places(part,
               std::string_view(places_).substr(places_begin, std::prev(end)->places_end - places_begin));
}

void PostingListWriter::write_places(PostingPart& part, std::string_view places) {
  if (places.empty()) return;
  append_number_bytes(part.places, static_cast<std::uint32_t>(places.size()));
  part.places += places;
}

std::optional<PostingList> PostingList::read(std::string_view codes) {
  PostingList list;
  std::uint32_t count = 0;
  if (!take_number_bytes(codes, count) || count > codes.size()) return std::nullopt;
  list.codes.resize(count);
  for (PostingCode& code : list.codes)
    if (!take_code(codes, code)) return std::nullopt;
  if (!codes.empty()) return std::nullopt;
  return list;
}

bool PostingList::add_part(std::uint32_t first_window, std::string_view postings) {
  if (postings.empty() || first_window > kLastWindow ||
      (!parts.empty() && parts.back().first_window >= first_window))
    return false;
  parts.push_back({first_window, bytes.size()});
  bytes += postings;
  return true;
}

std::uint64_t PostingList::documents_in(ColumnSet columns) const {
  std::uint64_t sum = 0;
  for (const PostingCode& code : codes)
    if (std::any_of(code.counts.begin(), code.counts.end(),
                    [&](const auto& count) { return ((columns >> count.first) & 1) != 0; }))
      sum += code.documents;
  return sum;
}

PostingCursor::PostingCursor(const PostingList& list) : list_(&list) {}

bool PostingCursor::open_part(std::size_t part) {
  const auto& parts = list_->parts;
  const std::size_t end = part + 1 < parts.size() ? parts[part + 1].begin : list_->bytes.size();
  rest_ = std::string_view(list_->bytes).substr(parts[part].begin, end - parts[part].begin);
  part_ = part;
  next_part_ = part + 1;
  block_number_ = 0;
  const bool is_behind = !has_begun_ || parts[part].first_window > window_;
  next_window_ = parts[part].first_window;
  return is_behind;
}

/// Reads the head of a block, all but its window.
bool PostingCursor::open_block() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  std::uint32_t size = 0;
  if (!take_number_bytes(rest_, documents_) || !take_number_bytes(rest_, low) ||
      !take_number_bytes(rest_, high) || !take_number_bytes(rest_, shortest_) ||
      !take_number_bytes(rest_, size) || documents_ < 2 || documents_ > PostingList::kWindow ||
      size > rest_.size())
    return false;
  code_bits_ = low | std::uint64_t{high} << 32;
  block_ = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

/// Reads a block with one document.
bool PostingCursor::open_single() {
  documents_ = 1;
  if (!take_number_bytes(rest_, shortest_)) return false;
  block_ = rest_;
  std::uint32_t both = 0;
  std::uint32_t further = 0;
  if (!take_number_bytes(rest_, both)) return false;
  const std::uint32_t code = both % (kSmallCodes + 1);
  if (code == kSmallCodes && !take_number_bytes(rest_, further)) return false;
  code_bits_ =
      std::uint64_t{1} << std::min<std::uint64_t>(std::uint64_t{code} + further, PostingList::kCodeBits - 1);
  block_.remove_suffix(rest_.size());
  return true;
}

bool PostingCursor::next() {
  bool is_first = false;
  if (rest_.empty()) {
    if (next_part_ == list_->parts.size()) {
      is_at_end_ = true;
      return true;
    }
    if (!open_part(next_part_)) return false;
    is_first = true;
  }
  std::uint32_t step = 0;
  if (!take_number_bytes(rest_, step)) return false;
  const std::uint64_t window = next_window_ + (step >> 1);
  is_single_ = (step & 1) != 0;
  bytes_ = rest_;
  if (window > kLastWindow || !(is_single_ ? open_single() : open_block())) return false;
  bytes_.remove_suffix(rest_.size());
  window_ = static_cast<std::uint32_t>(window);
  next_window_ = window + 1;
  block_number_ += is_first ? 0 : 1;
  has_begun_ = true;
  return true;
}

bool PostingCursor::advance(std::uint32_t window) {
  if (is_at_end_ || (has_begun_ && window_ >= window)) return true;
  std::size_t part = next_part_;
  while (part < list_->parts.size() && list_->parts[part].first_window <= window) ++part;
  if (part > next_part_) {  // the parts before have only earlier windows
    rest_ = {};
    next_part_ = part - 1;
  }
  while (!is_at_end_ && (!has_begun_ || window_ < window))
    if (!next()) return false;
  return true;
}

bool PostingCursor::read(std::vector<Posting>& postings) const {
  postings.clear();
  return visit([&](std::uint32_t place, std::uint32_t code) { postings.push_back({place, code}); });
}

bool PlaceCursor::advance(std::size_t block) {
  for (; next_block_ <= block; ++next_block_) {
    std::uint32_t size = 0;
    if (!take_number_bytes(rest_, size) || size > rest_.size()) return false;
    block_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }
  left_ = block_;
  return true;
}

bool PlaceCursor::take(std::uint64_t numbers, std::string_view& bytes) {
  const auto taken = first_numbers(left_, numbers);
  if (!taken) return false;
  bytes = *taken;
  left_.remove_prefix(bytes.size());
  return true;
}

void append_places(std::string& out, const ColumnCounts& counts, const std::vector<std::uint32_t>& places) {
  std::size_t at = 0;
  for (const auto& [column, count] : counts) {
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < count; ++i, ++at) {
      require(places[at] >= last, "places in ascending order");
      append_number_bytes(out, places[at] - last);
      last = places[at];
    }
  }
}

bool read_places(std::string_view bytes, const ColumnCounts& counts, ColumnSet columns,
                 std::vector<std::uint64_t>& out) {
  out.clear();
  for (const auto& [column, count] : counts) {
    std::uint64_t place = kColumnDistance * column;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t step = 0;
      if (!take_number_bytes(bytes, step)) return false;
      place += step;
      if (((columns >> column) & 1) != 0) out.push_back(place);
    }
  }
  return bytes.empty();
}

}  // namespace metafuse::fetchers
