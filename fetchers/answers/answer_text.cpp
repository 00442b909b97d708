#include "fetchers/answers/answer_text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <iconv.h>
#include <libxml/HTMLparser.h>

#include "core/byte_blocks.h"
#include "core/number.h"
#include "core/text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::array<std::string_view, 34> kInlineTags = {
    "a",    "abbr",  "b",    "big",    "br",  "cite", "code", "div", "em", "font", "h1", "h2",
    "h3",   "hr",    "i",    "img",    "kbd", "li",   "mark", "ol",  "p",  "pre",  "q",  "s",
    "samp", "small", "span", "strong", "sub", "sup",  "tt",   "u",   "ul", "var"};

/// A tag that begins at `text[0] == '<'`: its lower-case name and its length, which is 0 if there is no tag.
struct Tag {
  std::string name;
  bool is_closing = false;
  std::size_t size = 0;
};

/// Finds the next '>' of a text, once for all places before it.
class NextClose {
 public:
  explicit NextClose(std::string_view text) : text_(text), at_(text.find('>')) {}
  /// Its offset from a place on. The places must ascend.
  std::size_t after(std::size_t place) {
    if (at_ < place) at_ = text_.find('>', place);
    return at_ == std::string_view::npos ? at_ : at_ - place;
  }

 private:
  std::string_view text_;
  std::size_t at_;
};

/// in:     close - the offset of the first '>'
Tag read_tag(std::string_view text, std::size_t close) {
  Tag tag;
  if (text.starts_with("<!--")) {
    const std::size_t end = text.find("-->", 4);
    tag.name = "!--";
    tag.size = end == std::string_view::npos ? text.size() : end + 3;
    return tag;
  }
  std::size_t at = 1;
  if (at < text.size() && text[at] == '/') tag.is_closing = true, ++at;
  if (at >= text.size() || !is_ascii_letter(text[at])) return tag;
  while (at < text.size() && (is_ascii_letter(text[at]) || (text[at] >= '0' && text[at] <= '9') ||
                              text[at] == ':' || text[at] == '-'))
    tag.name += ascii_lower(text[at++]);
  if (at < text.size() && text[at] != '>' && text[at] != '/' && text[at] != ' ' && text[at] != '\n' &&
      text[at] != '\t')
    return tag;
  if (close != std::string_view::npos) tag.size = close + 1;
  return tag;
}

bool is_found_word_tag(const Tag& tag) {
  return std::binary_search(kInlineTags.begin(), kInlineTags.end(), tag.name) ||
         tag.name.starts_with("jats:") || tag.name == "!--";
}

/// The offset after the closing tag of a script or style; `text` starts after the opening tag.
std::size_t end_of_raw(std::string_view text, const std::string& name) {
  NextClose close(text);
  for (std::size_t at = text.find("</"); at != std::string_view::npos; at = text.find("</", at + 2)) {
    const Tag tag = read_tag(text.substr(at), close.after(at));
    if (tag.is_closing && tag.name == name && tag.size > 0) return at + tag.size;
  }
  return text.size();
}

/// Replaces code points that are not characters by U+FFFD.
char32_t as_character(unsigned long c) {
  return c == 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF) ? 0xFFFD : static_cast<char32_t>(c);
}

/// Appends the character of the entity that begins at `text[0] == '&'`. Returns the entity's length, 0 if it
/// is not one.
std::size_t append_entity(std::string& out, std::string_view text) {
  const std::size_t end = text.substr(0, 12).find(';');
  if (end == std::string_view::npos || end < 2) return 0;
  const std::string name(text.substr(1, end - 1));
  if (name[0] == '#') {
    const bool is_hex = name.size() > 2 && (name[1] == 'x' || name[1] == 'X');
    const std::string digits = name.substr(is_hex ? 2 : 1);
    const std::string_view allowed = is_hex ? "0123456789abcdefABCDEF" : "0123456789";
    if (digits.empty() || digits.size() > 8 || digits.find_first_not_of(allowed) != std::string::npos)
      return 0;
    append_code_point(out, as_character(std::stoul(digits, nullptr, is_hex ? 16 : 10)));
    return end + 1;
  }
  if (name == "apos") {
    out += '\'';
    return end + 1;
  }
  const htmlEntityDesc* entity = htmlEntityLookup(reinterpret_cast<const xmlChar*>(name.c_str()));
  if (entity == nullptr) return 0;
  append_code_point(out, as_character(entity->value));
  return end + 1;
}

std::string decode_entities(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t taken = text[at] == '&' ? append_entity(out, text.substr(at)) : 0;
    if (taken == 0) out += text[at];
    at += std::max<std::size_t>(taken, 1);
  }
  return out;
}

/// Whether the tag separates words: a block does, a tag around part of a word does not.
bool separates_words(const Tag& tag) {
  return tag.name == "br" || tag.name == "p" || tag.name == "div" || tag.name == "li" || tag.name == "hr" ||
         tag.name == "td" || tag.name == "tr" || (tag.name.size() == 2 && tag.name[0] == 'h') ||
         tag.name == "jats:p" || tag.name == "jats:title" || tag.name == "ul" || tag.name == "ol";
}

std::string without_tags(std::string_view text, bool is_html) {
  if (text.find('<') == std::string_view::npos) return is_html ? decode_entities(text) : std::string(text);
  std::string out;
  bool found = false;
  NextClose close(text);
  for (std::size_t at = 0; at < text.size();) {
    const Tag tag = text[at] == '<' ? read_tag(text.substr(at), close.after(at)) : Tag{};
    const bool is_raw = tag.name == "script" || tag.name == "style";
    if (tag.size == 0 || (!is_html && !is_raw && !is_found_word_tag(tag))) {
      out += text[at++];
      continue;
    }
    found = true;
    at += tag.size;
    if (is_raw && !tag.is_closing) at += end_of_raw(text.substr(at), tag.name);
    if (separates_words(tag)) out += ' ';
  }
  return is_html || found ? decode_entities(out) : out;
}

/// The length of the blank or invisible mark at `text[0]`, 0 for anything else; `is_blank` tells which of the
/// two it is.
std::size_t blank_or_mark(std::string_view text, bool& is_blank) {
  const auto byte = static_cast<unsigned char>(text[0]);
  is_blank = true;
  if (byte <= 0x20 || byte == 0x7F) return 1;
  if (text.starts_with("\xC2") && text.size() > 1 && static_cast<unsigned char>(text[1]) <= 0xA0) return 2;
  if (text.starts_with("\xE2\x80\xA8") || text.starts_with("\xE2\x80\xA9") ||
      text.starts_with("\xE3\x80\x80"))
    return 3;
  is_blank = false;
  if (text.starts_with("\xEF\xBB\xBF") || text.starts_with("\xE2\x80\x8B") || text.starts_with("\xC2\xAD") ||
      text.starts_with("\xD8\x9C"))
    return text[0] == '\xC2' || text[0] == '\xD8' ? 2 : 3;
  const auto third = text.size() > 2 ? static_cast<unsigned char>(text[2]) : 0U;
  if (text.starts_with("\xE2\x80") && (third == 0x8E || third == 0x8F || (third >= 0xAA && third <= 0xAE)))
    return 3;
  if (text.starts_with("\xE2\x81") && third >= 0xA6 && third <= 0xA9) return 3;
  return 0;
}

/// Nonzero in each byte that cleaning would change: control characters, non-ASCII, markup, entities if they
/// are decoded, and the first of two blanks.
auto unclean_places(ByteBlock bytes, ByteBlock next, bool is_html) {
  const unsigned char entity = is_html ? '&' : '<';
  const auto control_or_not_ascii = (SignedBlock(bytes) < 0x20) | (bytes == 0x7F);
  return control_or_not_ascii | (bytes == '<') | (bytes == entity) | ((bytes == ' ') & (next == ' '));
}

/// True for a line of ASCII words with single blanks between them, which cleaning would leave unchanged. Most
/// texts are like this; the others take the slow path. Requires that the text has no blank at its ends.
bool is_clean(std::string_view text, bool is_html) {
  return holds_nowhere(text,
                       [&](ByteBlock bytes, ByteBlock next) { return unclean_places(bytes, next, is_html); });
}

std::string in_one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool has_gap = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte > 0x20 && byte < 0x7F) ||
        (byte > 0x7F && byte != 0xC2 && byte != 0xD8 && byte != 0xE2 && byte != 0xE3 && byte != 0xEF)) {
      if (has_gap && !out.empty()) out += ' ';
      has_gap = false;
      out += text[at++];
      continue;
    }
    bool is_blank = false;
    const std::size_t skipped = blank_or_mark(text.substr(at), is_blank);
    if (skipped > 0) {
      has_gap = has_gap || is_blank;
      at += skipped;
      continue;
    }
    if (has_gap && !out.empty()) out += ' ';
    has_gap = false;
    out += text[at++];
  }
  return out;
}

}  // namespace

std::string clean_text(std::string_view text, bool is_html, std::size_t max_bytes) {
  while (text.ends_with(' ') || text.ends_with('\n')) text.remove_suffix(1);
  while (text.starts_with(' ') || text.starts_with('\n')) text.remove_prefix(1);
  if (text.size() <= max_bytes && is_clean(text, is_html)) return std::string(text);
  if (text.size() > 64 * max_bytes) text = text.substr(0, 64 * max_bytes);
  const std::string valid =
      first_invalid_utf8(text) == std::string_view::npos ? std::string(text) : to_valid_utf8(text);
  const std::string line = in_one_line(without_tags(valid, is_html));
  std::string_view kept = truncate_utf8(line, max_bytes);
  while (kept.ends_with(' ')) kept.remove_suffix(1);
  return std::string(kept);
}

bool clean_number(std::string_view text, double& value) {
  std::string number = in_one_line(to_valid_utf8(text.substr(0, 40)));
  const bool is_percent = number.ends_with('%');
  if (is_percent) number.erase(std::min(number.find_first_of(" %"), number.size()));
  for (std::size_t comma = number.find(','); comma != std::string::npos; comma = number.find(',', comma)) {
    const std::size_t next = std::min(number.find_first_of(",.", comma + 1), number.size());
    if (comma == 0 || next != comma + 4) return false;  // the comma does not separate thousands
    number.erase(comma, 1);
  }
  if (!to_double(number, value) || value - value != 0) return false;
  if (is_percent) value /= 100;
  return true;
}

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// The bytes of the smallest part of a text in this charset.
std::size_t unit_bytes(const std::string& charset) {
  if (charset.starts_with("utf-16")) return 2;
  return charset.starts_with("utf-32") ? 4 : 1;
}

/// nullopt when iconv does not know the charset. Units that are invalid in it are replaced.
std::optional<std::string> converted(std::string_view text, const std::string& charset) {
  const iconv_t opened = iconv_open("UTF-8", charset.c_str());
  if (opened == reinterpret_cast<iconv_t>(-1)) return std::nullopt;
  const std::unique_ptr<void, int (*)(iconv_t)> handle(opened, iconv_close);
  std::string out;
  std::array<char, 4096> buffer{};
  char* in = const_cast<char*>(text.data());
  std::size_t left = text.size();
  while (left > 0) {
    char* to = buffer.data();
    std::size_t room = buffer.size();
    const bool is_stuck =
        iconv(opened, &in, &left, &to, &room) == static_cast<std::size_t>(-1) && errno != E2BIG;
    out.append(buffer.data(), buffer.size() - room);
    if (!is_stuck) continue;
    out += kReplacement;
    const std::size_t skipped = std::min(unit_bytes(charset), left);
    in += skipped;
    left -= skipped;
  }
  return out;
}

/// Texts in some charsets are valid UTF-8 to the bytes, but have a byte that UTF-8 texts do not have: the ESC
/// with which ISO-2022-JP changes between its sets of characters, the zeros of UTF-16 and UTF-32.
bool has_mark_of(std::string_view charset, std::string_view text) {
  if (charset.starts_with("iso-2022-")) return text.find('\x1B') != std::string_view::npos;
  const bool is_wide = charset.starts_with("utf-16") || charset.starts_with("utf-32");
  return is_wide && text.find('\0') != std::string_view::npos;
}

}  // namespace

std::string charset_of(std::string_view content_type) {
  const std::string lower = ascii_lower(content_type);
  const std::size_t at = lower.find("charset=");
  if (at == std::string::npos) return {};
  std::string charset = lower.substr(at + 8);
  charset = charset.substr(0, charset.find_first_of("; ,"));
  charset.erase(std::remove(charset.begin(), charset.end(), '"'), charset.end());
  return charset.size() <= 40 ? charset : std::string();
}

std::optional<std::string> as_utf8(std::string_view text, const std::string& charset) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return converted(text, "utf-16");
  if (charset.empty() || charset == "utf-8" || charset == "utf8") return std::nullopt;
  if (first_invalid_utf8(text) == std::string_view::npos && !has_mark_of(charset, text)) return std::nullopt;
  return converted(text, charset);
}

std::optional<std::string> as_valid_utf8(std::string_view text, const std::string& charset) {
  if (auto utf8 = as_utf8(text, charset)) return utf8;
  if (first_invalid_utf8(text) == std::string_view::npos) return std::nullopt;
  return to_valid_utf8(text);
}

namespace {

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

bool ends_line_or_cell(char32_t c) {
  return c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

std::string without_controls(std::string_view text) {
  const std::string valid = to_valid_utf8(text);
  std::string out;
  std::size_t kept = 0;  // bytes of `valid` that are in `out`
  for (std::size_t at = 0; at < valid.size();) {
    if (valid[at] >= ' ' && valid[at] < 0x7F) {  // nearly all of most documents
      ++at;
      continue;
    }
    const std::size_t begin = at;
    const char32_t c = next_code_point(valid, at);
    if (!is_control(c) || ends_line_or_cell(c)) continue;
    out.append(valid, kept, begin - kept);
    out += ' ';
    kept = at;
  }
  return kept == 0 ? valid : out.append(valid, kept);
}

std::string printable(std::string_view text) {
  std::string out = without_controls(text);
  std::ranges::replace_if(out, ends_line_or_cell, ' ');
  return out;
}

namespace {

/// Whether most characters beyond ASCII of a text were wrong, and replaced by U+FFFD.
bool is_mostly_replaced(std::string_view text) {
  std::size_t replaced = 0;
  for (std::size_t at = text.find(kReplacement); at != std::string_view::npos;
       at = text.find(kReplacement, at + kReplacement.size()))
    ++replaced;
  const auto all =
      std::count_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xC0; });
  return 2 * replaced > static_cast<std::size_t>(all);
}

}  // namespace

std::string decoded_text(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  if (auto as_told = as_utf8(bytes, "")) return std::move(*as_told);
  std::string text = to_valid_utf8(bytes);
  if (text == bytes || !is_mostly_replaced(text)) return text;
  return converted(bytes, "windows-1252").value_or(text);
}

std::string_view without_prefix(std::string_view name) {
  return name.substr(name.find(':') + 1);
}

}  // namespace metafuse::fetchers
