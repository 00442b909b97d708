#include "evaluation/runs/run_line.h"

#include <bit>
#include <cmath>

#include "core/clones.h"
#include "evaluation/runs/byte_scanner.h"
#include "evaluation/runs/id_table.h"
#include "evaluation/runs/line_parser.h"
#include "evaluation/runs/short_decimal.h"

namespace metafuse::evaluation {
namespace {

constexpr const char* kColumns = "a run line is: topic Q0 document rank score tag";

/// Up to nine digits and nothing else: what ranks are.
[[gnu::always_inline]] inline bool to_small_integer(std::string_view text, std::int64_t& value) {
  if (text.empty() || text.size() > 9) return false;
  std::int64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + (c - '0');
  }
  value = number;
  return true;
}

/// The fields of one line behind the topic. `tag` is what the file's tag must be.
Result<void> parse_line(const FileText& file, LineParser& parser, std::string_view tag, bool is_lenient,
                        RunLine& line) {
  const char* const begin = parser.at();
  parser.field();
  line.document = parser.field();
  const std::string_view rank = parser.field();
  const std::string_view score = parser.field();
  const std::string_view line_tag = parser.field();
  if (line_tag.empty())
    return bad_line(file, begin, std::string("too few columns or a control byte; ") + kColumns);
  if (!to_small_integer(rank, line.rank) && !to_integer(rank, line.rank))
    return bad_line(file, begin, "the rank " + shown(rank) + " is no whole number; " + kColumns);
  if (line.rank < 0)
    return bad_line(file, begin, "the rank " + shown(rank) + " is negative; ranks count from 0 or 1");
  if (!to_double(score, line.score))
    return bad_line(file, begin, "the score " + shown(score) + " is no number; " + kColumns);
  if (!std::isfinite(line.score))
    return bad_line(file, begin,
                    "the score " + shown(score) + " is not finite; give every document a number");
  if (is_lenient) {
    parser.skip_line();
    return {};
  }
  if (!parser.at_line_end())
    return bad_line(file, begin, std::string("too many columns (ids and tags hold no blanks); ") + kColumns);
  if (!same_id(line_tag, tag))
    return bad_line(file, begin,
                    "the tag " + shown(line_tag) + " differs from the file's first, " + shown(tag) +
                        "; put each run into a file of its own");
  return {};
}

bool is_separator(char c) {
  return c == ' ' || c == '\t';
}

/// Where the six fields of a plain line end, as places from its begin.
struct PlainLine {
  unsigned topic_end;
  unsigned iteration_end;
  unsigned document_end;
  unsigned rank_end;
  unsigned score_end;
  unsigned tag_end;
};

/// A plain line has six fields with one blank between two and a line feed behind, as nearly all lines have.
///
/// in:  bits - the places of bytes that end fields, from `at` on
[[gnu::always_inline]] inline bool split_plain_line(const char* at, std::uint64_t bits, PlainLine& line) {
  std::uint64_t left = bits;
  const auto next_end = [&left] {
    const auto place = static_cast<unsigned>(std::countr_zero(left));
    left &= left - 1;
    return place;
  };
  line.topic_end = next_end();
  line.iteration_end = next_end();
  line.document_end = next_end();
  line.rank_end = next_end();
  line.score_end = next_end();
  if (left == 0) return false;
  line.tag_end = next_end();
  const std::uint64_t six = bits ^ left;
  const bool has_empty_field = (six & (six << 1 | 1)) != 0;
  return !has_empty_field && is_separator(at[line.topic_end]) && is_separator(at[line.iteration_end]) &&
         is_separator(at[line.document_end]) && is_separator(at[line.rank_end]) &&
         is_separator(at[line.score_end]) && at[line.tag_end] == '\n';
}

/// Reads a plain line of at most 64 bytes and moves `at` behind it; false when the line has to be parsed
/// otherwise.
/// in: end - behind the lines of the topic; text_end - behind the file's last byte
[[gnu::always_inline]] inline bool read_plain_line(const char*& at, const char* end, const char* text_end,
                                                   std::string_view tag, bool is_lenient, RunLine& line) {
  PlainLine ends;
  if (!split_plain_line(at, bits_of_block<FieldEnds>(at, text_end), ends)) return false;
  const auto field = [at](unsigned end_before, unsigned field_end) {
    return std::string_view(at + end_before + 1, field_end - end_before - 1);
  };
  if (at + ends.tag_end >= end) return false;
  if (!is_lenient && !same_id(field(ends.score_end, ends.tag_end), tag)) return false;
  line.document = field(ends.iteration_end, ends.document_end);
  if (!to_small_integer(field(ends.document_end, ends.rank_end), line.rank)) return false;
  const std::string_view score = field(ends.rank_end, ends.score_end);
  const bool is_short = text_end - score.data() >= 24 &&
                        read_short_decimal(score.data(), score.data() + score.size(), line.score);
  if (!is_short && (!to_double(score, line.score) || !std::isfinite(line.score))) return false;
  at += ends.tag_end + 1;
  return true;
}

}  // namespace

/// Reads plain lines up to the first that is none.
METAFUSE_CLONES const char* read_plain_lines(const char* at, const char* end, const char* file_end,
                                             std::string_view tag, bool is_lenient,
                                             std::vector<RunLine>& lines) {
  constexpr std::size_t kMore = 32;
  std::size_t count = lines.size();
  while (at < end) {
    if (count == lines.size()) lines.resize(count + kMore);
    if (!read_plain_line(at, end, file_end, tag, is_lenient, lines[count])) break;
    ++count;
  }
  lines.resize(count);
  return at;
}

Result<void> parse_run_lines(const FileText& file, std::string_view text, std::string_view tag,
                             bool is_lenient, std::vector<RunLine>& lines) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const char* const file_end = file.text.data() + file.text.size();
  while (at < end) {
    at = read_plain_lines(at, end, file_end, tag, is_lenient, lines);
    if (at >= end) break;
    LineParser parser(at, end);
    parser.field();
    if (auto parsed = parse_line(file, parser, tag, is_lenient, lines.emplace_back()); !parsed) return parsed;
    at = parser.next_line();
  }
  return {};
}

}  // namespace metafuse::evaluation
