#include "evaluation/runs/letor_file.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/diagnostics.h"
#include "core/text_file.h"
#include "evaluation/runs/lines.h"
#include "evaluation/runs/topic_index.h"

namespace metafuse::evaluation {
namespace {

constexpr const char* kForm = "a row is: grade qid:ID index:value ... # document";

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

std::string_view first_word(std::string_view text) {
  std::size_t begin = 0;
  while (begin < text.size() && is_blank(text[begin])) ++begin;
  std::size_t end = begin;
  while (end < text.size() && static_cast<unsigned char>(text[end]) > ' ') ++end;
  return text.substr(begin, end - begin);
}

/// The document id of a comment `#docid = X ...` or `# X ...`.
std::string_view document_of(std::string_view comment) {
  comment.remove_prefix(1);
  const std::string_view word = first_word(comment);
  if (!word.starts_with("docid")) return word;
  const std::size_t equals = comment.find('=');
  return equals == std::string_view::npos ? word : first_word(comment.substr(equals + 1));
}

/// Parses the lines of one block, and holds the state that they share.
class Rows {
 public:
  /// in: block_end - lines may be read ahead up to here
  Rows(const std::string& path, bool values_are_ranks, const char* block_end)
      : path_(path), values_are_ranks_(values_are_ranks), block_end_(block_end) {}

  /// Parses a row; false for a line that holds only a comment or blanks.
  Result<bool> parse(const char* at, const char* end, std::size_t line, LetorRow& row) {
    at_ = at;
    end_ = end;
    line_ = line;
    cells_.clear();
    skip_blanks();
    if (at_ == end_ || *at_ == '#') return false;
    const char* const begin = at_;
    if (!read_number(row.grade) || !ends_field() || !std::isfinite(row.grade))
      return bad("the grade " + shown(field_at(begin)) + " is not a number; " + kForm);
    TRY_VOID(parse_query(row));
    last_index_ = 0;
    for (skip_blanks(); at_ < end_ && *at_ != '#'; skip_blanks())
      if (!parse_short_cell() && !parse_cell()) return bad(problem_);
    row.document = at_ < end_ ? document_of({at_, static_cast<std::size_t>(end_ - at_)}) : std::string_view();
    row.cells = cells_;
    row.line = line;
    return true;
  }

 private:
  void skip_blanks() {
    while (at_ < end_ && is_blank(*at_)) ++at_;
  }
  bool ends_field() const { return at_ == end_ || is_blank(*at_); }

  /// Like read_double, but tries short whole numbers first, since most ranks, grades and counts are such.
  bool read_number(double& value) {
    unsigned number = 0;
    const char* p = at_;
    for (; p < end_ && p - at_ < 4 && *p >= '0' && *p <= '9'; ++p)
      number = number * 10 + static_cast<unsigned>(*p - '0');
    if (p == at_ || (p < end_ && !is_blank(*p))) return read_double(at_, end_, value);
    value = number;
    at_ = p;
    return true;
  }

  std::string_view field_at(const char* begin) const {
    const char* p = begin;
    while (p < end_ && !is_blank(*p)) ++p;
    return {begin, static_cast<std::size_t>(p - begin)};
  }

  Error bad(std::string_view what) const { return fail(Code::bad_data, located(path_, {line_, 0}, what)); }

  Result<void> parse_query(LetorRow& row) {
    skip_blanks();
    // Nearly always this is the query of the previous line.
    const auto left = static_cast<std::size_t>(end_ - at_);
    if (last_query_.size() < left && is_blank(at_[last_query_.size()]) &&
        same_bytes(at_, last_query_.data(), last_query_.size())) {
      at_ += last_query_.size();
      row.query = last_query_.substr(4);
      return {};
    }
    const std::string_view field = field_at(at_);
    if (!field.starts_with("qid:") || field.size() == 4)
      return bad("the second column is " + shown(field) + ", not qid:ID; " + kForm);
    row.query = field.substr(4);
    for (const char c : row.query)
      if (static_cast<unsigned char>(c) < ' ') return bad("a control byte; this is not a text file");
    at_ += field.size();
    last_query_ = field;
    return {};
  }

  /// Parses a cell that fits into eight bytes with its blank, such as "16:128 ", without a branch per digit;
  /// lists of ranks consist of such cells. False, with nothing consumed, for any other cell.
  bool parse_short_cell() {
    if (!is_short_ || block_end_ - at_ < 8) return false;
    const std::uint64_t word = eight_bytes(at_);
    const std::uint64_t differs = word ^ 0x3a3a3a3a3a3a3a3aU;
    const std::uint64_t colons = (differs - 0x0101010101010101U) & ~differs & 0x8080808080808080U;
    const std::uint64_t blanks = (word - 0x2121212121212121U) & ~word & 0x8080808080808080U;
    const unsigned colon = static_cast<unsigned>(std::countr_zero(colons)) / 8;
    const unsigned end = static_cast<unsigned>(std::countr_zero(blanks)) / 8;
    const unsigned digits = end - colon - 1;
    is_short_ = blanks != 0;
    if (blanks == 0 || colon - 1 > 2 || digits - 1 > 2) return false;
    if (at_[end] != ' ' && at_ + end != end_) return false;
    // Up to three digits each; the last digit is in the third byte, with zeros before the first.
    const std::uint64_t values = word ^ 0x3030303030303030U;
    const std::uint64_t index = values << (64 - 8 * colon) >> 40;
    const std::uint64_t value = values >> 8 * (colon + 1) << (64 - 8 * digits) >> 40;
    if (((index | value | (index + 0x767676) | (value + 0x767676)) & 0x808080) != 0) return false;
    const auto number = [](std::uint64_t three) {
      return static_cast<std::uint32_t>((three & 0xff) * 100 + (three >> 8 & 0xff) * 10 + (three >> 16));
    };
    if (number(index) <= last_index_ || (values_are_ranks_ && value == 0)) return false;
    last_index_ = number(index);
    cells_.push_back({last_index_, false, static_cast<double>(number(value))});
    at_ += end;
    return true;
  }

  /// Parses any cell; false, with `problem_` set, for a malformed one.
  bool parse_cell() {
    const char* const begin = at_;
    is_short_ = false;
    std::uint64_t index = 0;
    while (at_ < end_ && *at_ >= '0' && *at_ <= '9' && index <= kLargestFeature)
      index = index * 10 + static_cast<std::uint64_t>(*at_++ - '0');
    if (at_ == end_ || *at_ != ':' || index <= last_index_ || index > kLargestFeature) [[unlikely]]
      return refuse_index(begin, index);
    last_index_ = static_cast<std::uint32_t>(index);
    ++at_;
    LetorCell& cell = cells_.emplace_back(LetorCell{last_index_, false, 0.0});
    if (at_ < end_ && *at_ == 'N') {
      cell.is_unranked = true;
      const bool is_null = end_ - at_ >= 4 && std::memcmp(at_, "NULL", 4) == 0;
      if (is_null) at_ += 4;
      return (is_null && ends_field()) || refuse(begin, " is neither a number nor NULL");
    }
    if (!read_number(cell.value) || !ends_field()) [[unlikely]]
      return refuse(begin, " is neither a number nor NULL");
    if (!std::isfinite(cell.value)) [[unlikely]]
      return refuse(begin, " is not finite; give a number or NULL");
    if (values_are_ranks_ && (cell.value < 1.0 || cell.value != std::floor(cell.value))) [[unlikely]]
      return refuse(begin, " is not a whole number of at least 1", "the rank of ");
    is_short_ = at_ - begin < 8;
    return true;
  }

  bool refuse(const char* begin, std::string_view why, std::string_view what = "the value of ") {
    problem_ = std::string(what) + shown(field_at(begin)) + std::string(why);
    return false;
  }

  bool refuse_index(const char* begin, std::uint64_t index) {
    const bool is_index = at_ > begin && at_ < end_ && *at_ == ':' && index > 0 && index <= kLargestFeature;
    problem_ = is_index
                   ? "feature " + std::to_string(index) + " comes after feature " +
                         std::to_string(last_index_) + "; write each feature once, in ascending order"
                   : "the column " + shown(field_at(begin)) + " is not index:value with an index from 1 to " +
                         std::to_string(kLargestFeature) + "; " + kForm;
    return false;
  }

  const std::string& path_;
  bool values_are_ranks_;
  const char* block_end_;
  std::vector<LetorCell> cells_;
  std::string_view last_query_;  // with "qid:"; empty before the first row
  bool is_short_ = true;         // parse_short_cell is worth trying: the last cell was short
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::size_t line_ = 0;
  std::uint32_t last_index_ = 0;
  std::string problem_;
};

Result<std::size_t> parse_block(const std::string& path, std::string_view lines, std::size_t line,
                                bool values_are_ranks, const TakeLetorRow& take) {
  const char* at = lines.data();
  const char* const end = at + lines.size();
  Rows rows(path, values_are_ranks, end);
  ByteScanner<LineEnds> line_ends(at, end);
  std::size_t count = 0;
  LetorRow row;
  for (; at < end; ++line) {
    const char* const line_end = line_ends.next();
    TRY(auto parsed, rows.parse(at, line_end, line, row));
    if (parsed) {
      ++count;
      TRY_VOID(take(row));
    }
    at = line_end + 1;
  }
  return count;
}

}  // namespace

Result<void> parse_letor_lines(const std::string& path, std::string_view lines, std::size_t first_line,
                               bool values_are_ranks, const TakeLetorRow& take) {
  TRY_VOID(parse_block(path, lines, first_line, values_are_ranks, take));
  return {};
}

Result<void> for_each_letor_row(const std::string& path, bool values_are_ranks, const TakeLetorRow& take) {
  std::size_t count = 0;
  auto read = for_each_block(path, [&](std::string_view lines, std::size_t first_line) -> Result<void> {
    TRY(const auto parsed, parse_block(path, lines, first_line, values_are_ranks, take));
    count += parsed;
    return {};
  });
  if (!read) return read;
  if (count == 0) return no_letor_row(path);
  return {};
}

Result<void> check_trained_features(const std::string& path, const LetorRow& row) {
  if (row.cells.empty() || row.cells.back().index <= kLargestTrainedFeature) return {};
  return fail(Code::bad_data, path + ":" + std::to_string(row.line) + ": feature " +
                                  std::to_string(row.cells.back().index) + ", and training takes up to " +
                                  std::to_string(kLargestTrainedFeature) + "; number the features anew");
}

Error no_letor_row(const std::string& path) {
  return fail(Code::bad_data, path + ": contains no rows; check that it is the right file and complete");
}

}  // namespace metafuse::evaluation
