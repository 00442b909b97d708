#include "fetchers/engines/index/posting_list.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "core/contract.h"
#include "core/keyed_hash.h"
#include "fetchers/engines/index/number_bytes.h"

namespace metafuse::fetchers {
namespace {

constexpr std::uint32_t kSmallCodes = 15;  ///< codes below this share a number with the step
constexpr std::uint32_t kMaxListColumns = 64;

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

std::uint32_t PostingListWriter::code_of(const ColumnCounts& counts) {
  require(!counts.empty(), "counts of a word that is there");
  return codes_.try_emplace(counts, static_cast<std::uint32_t>(codes_.size())).first->second;
}

void PostingListWriter::add(std::uint32_t document, std::uint32_t code, std::string_view places) {
  require(document < lengths_->size() && code < codes_.size(),
          "a document of the index and a code of the list");
  require(entries_.empty() || document > entries_.back().document, "documents in ascending order");
  places_ += places;
  entries_.push_back({document, code, places_.size()});
}

PostingBytes PostingListWriter::finish() {
  std::vector<PostingCode> codes(codes_.size());
  for (const auto& [counts, code] : codes_) codes[code].counts = counts;
  for (const Entry& entry : entries_) ++codes[entry.code].documents;
  std::vector<std::uint32_t> order(codes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return codes[a].documents != codes[b].documents ? codes[a].documents > codes[b].documents
                                                    : codes[a].counts < codes[b].counts;
  });
  // codes that no longer have documents are dropped
  while (!order.empty() && codes[order.back()].documents == 0) order.pop_back();
  PostingBytes out;
  append_number_bytes(out.postings, static_cast<std::uint32_t>(order.size()));
  std::vector<std::uint32_t> code_places(codes.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    append_code(out.postings, codes[order[i]]);
    code_places[order[i]] = i;
  }
  std::uint32_t next_window = 0;
  std::size_t places_begin = 0;
  for (const Entry *begin = entries_.data(), *end = begin + entries_.size(); begin != end;) {
    const std::uint32_t window = begin->document / PostingList::kWindow;
    const Entry* behind = std::find_if(
        begin, end, [&](const Entry& entry) { return entry.document / PostingList::kWindow != window; });
    append_number_bytes(out.postings, window - next_window);
    append_window(out.postings, begin, behind, code_places);
    next_window = window + 1;
    begin = behind;
    if (places_.empty()) continue;
    const std::size_t places_end = std::prev(behind)->places_end;
    append_number_bytes(out.places, static_cast<std::uint32_t>(places_end - places_begin));
    out.places.append(places_, places_begin, places_end - places_begin);
    places_begin = places_end;
  }
  codes_.clear();
  entries_.clear();
  places_.clear();
  return out;
}

void PostingListWriter::append_window(std::string& out, const Entry* begin, const Entry* end,
                                      const std::vector<std::uint32_t>& code_places) const {
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
  append_number_bytes(out, static_cast<std::uint32_t>(bits));
  append_number_bytes(out, static_cast<std::uint32_t>(bits >> 32));
  append_number_bytes(out, shortest);
  append_number_bytes(out, static_cast<std::uint32_t>(end - begin));
  append_number_bytes(out, static_cast<std::uint32_t>(postings.size()));
  out += postings;
}

std::optional<PostingList> PostingList::read(std::string bytes) {
  PostingList list;
  std::string_view rest = bytes;
  std::uint32_t codes = 0;
  if (!take_number_bytes(rest, codes) || codes > bytes.size()) return std::nullopt;
  list.codes.resize(codes);
  for (PostingCode& code : list.codes)
    if (!take_code(rest, code)) return std::nullopt;
  list.blocks_at = bytes.size() - rest.size();
  list.bytes = std::move(bytes);
  return list;
}

std::uint64_t PostingList::documents_in(ColumnSet columns) const {
  std::uint64_t sum = 0;
  for (const PostingCode& code : codes)
    if (std::any_of(code.counts.begin(), code.counts.end(),
                    [&](const auto& count) { return ((columns >> count.first) & 1) != 0; }))
      sum += code.documents;
  return sum;
}

PostingCursor::PostingCursor(const PostingList& list)
    : list_(&list), rest_(std::string_view(list.bytes).substr(list.blocks_at)) {}

bool PostingCursor::next() {
  if (rest_.empty()) {
    is_at_end_ = true;
    return true;
  }
  std::uint32_t step = 0;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  std::uint32_t size = 0;
  if (!take_number_bytes(rest_, step) || !take_number_bytes(rest_, low) || !take_number_bytes(rest_, high) ||
      !take_number_bytes(rest_, shortest_) || !take_number_bytes(rest_, documents_) ||
      !take_number_bytes(rest_, size))
    return false;
  const std::uint64_t window = std::uint64_t{window_} + (has_begun_ ? 1 : 0) + step;
  constexpr std::uint64_t kMaxWindow = 0xffffffff / PostingList::kWindow;
  if (window > kMaxWindow || documents_ == 0 || documents_ > PostingList::kWindow || size > rest_.size())
    return false;
  window_ = static_cast<std::uint32_t>(window);
  code_bits_ = low | std::uint64_t{high} << 32;
  block_ = rest_.substr(0, size);
  block_number_ += has_begun_ ? 1 : 0;
  rest_.remove_prefix(size);
  has_begun_ = true;
  return true;
}

bool PostingCursor::advance(std::uint32_t window) {
  while (!is_at_end_ && (!has_begun_ || window_ < window))
    if (!next()) return false;
  return true;
}

bool PostingCursor::read(std::vector<Posting>& postings) const {
  std::string_view rest = block_;
  postings.resize(documents_);
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
      if (!take_number_bytes(rest, further) || further > list_->codes.size()) return false;
      code += further;
    }
    const std::uint32_t step = both / (kSmallCodes + 1);
    if (step >= PostingList::kWindow || next + step >= PostingList::kWindow || code >= list_->codes.size())
      return false;
    postings[i] = {next + step, code};
    next += step + 1;
  }
  return rest.empty();
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
