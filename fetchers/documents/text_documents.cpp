#include "fetchers/documents/text_documents.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>

#include "core/text.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/html_tree.h"
#include "fetchers/answers/readable_page.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kLongestTitle = 200;
constexpr std::size_t kLongestTitleLine = 120;
constexpr std::size_t kMostMarkdown = std::size_t{2} << 20;
constexpr std::string_view kBlanks = " \t\r\n\f\v";

std::string cut_title(std::string_view title) {
  return std::string(truncate_utf8(ascii_squeezed(title), kLongestTitle));
}

std::size_t letters_in(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return is_ascii_letter(c) || static_cast<unsigned char>(c) >= 0x80;
  }));
}

std::vector<SourceDocument> only(SourceDocument document) {
  std::vector<SourceDocument> out;
  out.push_back(std::move(document));
  return out;
}

// HTML

/// What a page declares about itself, collected in one walk over its tree.
struct PageFacts {
  std::string language, date;
};

PageFacts facts_of(const xmlNode* root) {
  PageFacts facts;
  for (const xmlNode* node = root; node != nullptr; node = next_node(root, node)) {
    if (node->type != XML_ELEMENT_NODE) continue;
    const std::string_view name = tag_name(*node);
    if (name == "html") facts.language = ascii_squeezed(attribute_of(*node, "lang"));
    if (name == "meta" && facts.date.empty()) {
      const std::string key = ascii_lower(ascii_squeezed(attribute_of(*node, "property")) +
                                          ascii_squeezed(attribute_of(*node, "name")));
      if (key == "article:published_time" || key == "date" || key == "dcterms.date" || key == "creationdate")
        facts.date = ascii_squeezed(attribute_of(*node, "content"));
    }
  }
  return facts;
}

// Markdown

/// Removes the front matter (between a line of --- and one of --- or ...) and returns it with the line end
/// before it.
std::string_view take_front_matter(std::string_view& text) {
  std::string_view rest = text;
  if (ascii_trimmed(take_until(rest, '\n'), kBlanks) != "---" || !text.starts_with('-')) return {};
  while (!rest.empty()) {
    const std::size_t end = text.size() - rest.size();
    std::string_view line = take_until(rest, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line != "---" && line != "...") continue;
    const std::string_view matter = text.substr(3, end - 3);
    text = rest;
    return matter;
  }
  return {};
}

/// The value of "name: value" in front matter, without quotation marks.
std::string matter_value(std::string_view matter, const std::string& name) {
  const std::size_t at = matter.find('\n' + name + ':');
  if (at == std::string_view::npos) return {};
  const std::size_t begin = matter.find(':', at) + 1;
  std::string value = ascii_squeezed(matter.substr(begin, matter.find('\n', begin) - begin));
  if (value.size() > 1 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  return value;
}

/// Takes a line of a text with any line ends.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.substr(end).starts_with("\r\n") ? end + 2 : end + 1, text.size()));
  return line;
}

/// Whether the tables of a Markdown text are small. cmark-gfm fills every row up to the columns of its table,
/// reads the lines above again at each line that could begin one, and takes quadratic time for a row's cells.
/// The first two happen only between empty lines; there, each line is counted once for each column that a
/// line such as |---|---| could begin.
bool has_small_tables(std::string_view text) {
  constexpr std::size_t kMostColumns = 1000;
  constexpr std::size_t kMostCells = std::size_t{1} << 19;
  std::size_t cells = 0, lines = 0, columns = 0;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const auto bars = static_cast<std::size_t>(std::count(line.begin(), line.end(), '|'));
    if (bars >= kMostColumns) return false;
    ++lines;
    if (line.find('-') != std::string_view::npos &&
        line.find_first_not_of("|-:> \t") == std::string_view::npos)
      columns += bars + 1;
    if (cells + lines * columns > kMostCells) return false;
    if (line.find_first_not_of(" \t") != std::string_view::npos) continue;
    cells += lines * columns;
    lines = columns = 0;
  }
  return true;
}

/// Markdown as HTML, with the HTML inside it. The rows of a table that is too large are lines.
std::string html_of_markdown(std::string_view text) {
  cmark_gfm_core_extensions_ensure_registered();
  const std::unique_ptr<cmark_parser, decltype(&cmark_parser_free)> parser(cmark_parser_new(CMARK_OPT_UNSAFE),
                                                                           cmark_parser_free);
  text = truncate_utf8(text, kMostMarkdown);
  cmark_syntax_extension* tables = has_small_tables(text) ? cmark_find_syntax_extension("table") : nullptr;
  if (tables != nullptr) cmark_parser_attach_syntax_extension(parser.get(), tables);
  cmark_parser_feed(parser.get(), text.data(), text.size());
  const std::unique_ptr<cmark_node, decltype(&cmark_node_free)> root(cmark_parser_finish(parser.get()),
                                                                     cmark_node_free);
  const std::unique_ptr<char, decltype(&std::free)> html(
      cmark_render_html(root.get(), CMARK_OPT_UNSAFE, cmark_parser_get_syntax_extensions(parser.get())),
      std::free);
  return html ? std::string(html.get()) : std::string();
}

// Lines

/// Whether a line only decorates: "=====", "* * *", "/****/".
bool is_decoration(std::string_view line) {
  return letters_in(line) == 0 && std::none_of(line.begin(), line.end(), is_ascii_digit);
}

/// Whether a line underlines the one before it: three or more of one character.
bool is_underline(std::string_view line) {
  return line.size() >= 3 && std::string_view("=-~^\"'`#*+.:_").find(line[0]) != std::string_view::npos &&
         line.find_first_not_of(line[0]) == std::string_view::npos;
}

/// Whether a line is written for programs or names what follows: "Format: https://...", "Name: value",
/// "Portability:", a path.
bool is_for_programs(std::string_view line) {
  const std::size_t colon = line.find(": ");
  const bool is_field = colon != std::string_view::npos && colon > 0 &&
                        line.substr(0, colon).find_first_of(" \t") == std::string_view::npos;
  const bool is_label = line.ends_with(':') && line.find_first_of(" \t") == std::string_view::npos;
  return is_field || is_label || line.find("://") != std::string_view::npos || line.starts_with("-*-") ||
         line.starts_with("#!");
}

/// The first line that reads like a title; empty if the text does not begin with one.
std::string title_of_text(std::string_view text) {
  constexpr int kLooked = 5;
  for (int i = 0; i < kLooked && !text.empty();) {
    const std::string_view line = ascii_trimmed(take_until(text, '\n'), kBlanks);
    if (line.empty()) continue;
    ++i;
    if (is_decoration(line)) continue;
    const bool is_title = letters_in(line) >= 2 && line.size() <= kLongestTitleLine && !is_for_programs(line);
    return is_title ? cut_title(line) : std::string();
  }
  return {};
}

/// Joins lines after `take` has changed each, or left it out by returning nothing. Lines that only decorate
/// become empty lines.
template <class Take>
std::string changed_lines(std::string_view text, Take& take) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    while (!line.empty() && kBlanks.find(line.back()) != std::string_view::npos) line.remove_suffix(1);
    const std::optional<std::string> changed = take(line);
    if (!changed) continue;
    if (changed->empty() && (out.empty() || out.ends_with("\n\n"))) continue;
    out += *changed;
    out += '\n';
  }
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

void erase_all(std::string& text, std::string_view marks) {
  std::erase_if(text, [&](char c) { return marks.find(c) != std::string_view::npos; });
}

/// The bytes of a role such as ":ref:" at the beginning of a text, if a literal follows it; else 0.
std::size_t role_bytes(std::string_view text) {
  constexpr std::size_t kLongestRole = 40;
  if (!text.starts_with(':')) return 0;
  const std::size_t end =
      text.substr(0, kLongestRole)
          .find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:+._-", 1);
  return end != std::string_view::npos && end > 2 && text[end] == '`' && text[end - 1] == ':' ? end : 0;
}

/// What a directive of reStructuredText says on its first line, or a footnote or citation; nothing for other
/// lines that begin with "..", such as comments.
std::optional<std::string> explicit_markup(std::string_view content) {
  const std::string_view mark = content.starts_with(".. [") ? "] " : ":: ";
  const std::size_t at = content.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return std::string(content.substr(at + mark.size()));
}

/// Lines of reStructuredText without roles (:ref:`x <y>`), literals and emphasis; nothing for directives and
/// their options. Fields (":param x: the name") keep their names.
class StructuredLines {
 public:
  std::optional<std::string> operator()(std::string_view line) {
    const std::string_view content = ascii_trimmed(line, kBlanks);
    if (content.starts_with(".. ") || content == "..") {
      is_directive_ = content.find("::") != std::string_view::npos;
      const auto words = explicit_markup(content);
      return words ? without_marks(*words) : words;
    }
    if (content.empty()) is_directive_ = false;
    const std::size_t name = content.find(": ", 1);
    const bool is_field = content.starts_with(':') && role_bytes(content) == 0 &&
                          (name != std::string_view::npos || content.find(':', 1) == content.size() - 1);
    if (is_field && (is_directive_ || name == std::string_view::npos)) return std::nullopt;
    if (is_decoration(content)) return std::string();
    return without_marks(is_field ? content.substr(1) : line);
  }

 private:
  static std::string without_marks(std::string_view line) {
    std::string out;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t skipped = role_bytes(line.substr(at));
      if (skipped == 0) out += line[at++];
      at += skipped;
    }
    erase_all(out, "`*|");
    return out;
  }

  bool is_directive_ = false;  ///< the lines since the last empty one belong to a directive
};

bool is_in_word(char c) {
  return is_ascii_letter_or_digit(c) || static_cast<unsigned char>(c) >= 0x80;
}

/// A line without the marks of AsciiDoc's emphasis and literals, which stand around words and never inside
/// them. A + closes only what another has opened, so that C++ stays.
std::string without_edge_marks(std::string_view line) {
  constexpr std::string_view kMarks = "`*_+";
  std::string out;
  bool is_literal = false;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find_first_not_of(kMarks, at), line.size());
    if (end == at) {
      out += line[at++];
      continue;
    }
    const char before = at == 0 ? ' ' : line[at - 1], after = end == line.size() ? ' ' : line[end];
    const bool is_inside = is_in_word(before) && is_in_word(after);
    const bool is_alone =
        kBlanks.find(before) != std::string_view::npos && kBlanks.find(after) != std::string_view::npos;
    const std::string_view run = line.substr(at, end - at);
    at = end;
    if (is_inside || is_alone) {
      out += run;
      continue;
    }
    const bool has_plus = run.find('+') != std::string_view::npos;
    const bool opens = !is_in_word(before);
    if (has_plus && !opens && !is_literal)
      out.append(static_cast<std::size_t>(std::count(run.begin(), run.end(), '+')), '+');
    if (has_plus) is_literal = opens;
  }
  return out;
}

/// Whether a line calls a block macro of AsciiDoc: image::x.png[]
bool is_block_macro(std::string_view line) {
  const std::size_t name = line.find("::");
  const std::size_t target = name == std::string_view::npos ? name : line.find('[', name);
  return name > 0 && target != std::string_view::npos && line.ends_with(']') &&
         std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(name), is_in_word) &&
         line.substr(name, target - name).find_first_of(" \t") == std::string_view::npos;
}

/// A line of AsciiDoc without marks; nothing for attributes and macros.
std::optional<std::string> asciidoc_line(std::string_view line) {
  std::string_view content = ascii_trimmed(line, kBlanks);
  if (content.starts_with("//") ||
      (content.starts_with(':') && content.find(':', 1) != std::string_view::npos) ||
      (content.starts_with('[') && content.ends_with(']')) || is_block_macro(content))
    return std::nullopt;
  if (is_decoration(content)) return std::string();
  content.remove_prefix(std::min(content.find_first_not_of("=*.-"), content.size()));
  if (content.ends_with(" +")) content.remove_suffix(2);  // breaks the line
  std::string out = without_edge_marks(content);
  // the mark between a term and what it means
  if (const std::size_t mark = (out + ' ').find(":: "); mark != std::string::npos && mark > 0)
    out.erase(mark, 2);
  return std::string(ascii_trimmed(out));
}

/// A line of source code without the mark of a comment.
std::optional<std::string> code_line(std::string_view line) {
  constexpr std::array<std::string_view, 16> kMarks = {"/**", "///",    "//!", "/*",  "//", "*/",
                                                       ";;;", ";;",     "##",  "# ",  "* ", "-- ",
                                                       "(*",  "\"\"\"", "%%",  "dnl "};
  const std::size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
  std::string_view content = line.substr(indent);
  if (content.starts_with("#!")) return std::nullopt;
  if (is_decoration(content) && content.size() > 2) return std::string();
  for (const std::string_view mark : kMarks) {
    if (!content.starts_with(mark)) continue;
    content = ascii_trimmed(content.substr(mark.size()), kBlanks);
    if (content.ends_with("*/")) content = ascii_trimmed(content.substr(0, content.size() - 2), kBlanks);
    return std::string(content);
  }
  return content == "*" || content == "#" ? std::string() : std::string(line);
}

/// Where a heading may stand.
enum class Heading { anywhere, first };

/// The first line with a line of one character below it; in AsciiDoc also "= Title". Heading::first: only if
/// no other words come before it.
std::string heading_of(std::string_view text, Heading place) {
  std::string_view before;
  while (!text.empty()) {
    const std::string_view line = ascii_trimmed(take_until(text, '\n'), kBlanks);
    if (line.starts_with("= ") && letters_in(line) > 0) return cut_title(line.substr(2));
    if (is_underline(line) && letters_in(before) > 0 && line.size() + 3 >= before.size())
      return cut_title(before);
    if (place == Heading::first && letters_in(before) > 0) return {};
    before = line;
  }
  return {};
}

template <class Take>
std::vector<SourceDocument> read_lines(std::string_view bytes, Heading place, Take take) {
  const std::string text = decoded_text(bytes);
  SourceDocument document = text_document(changed_lines(text, take));
  if (std::string heading = heading_of(text, place); !heading.empty())
    document.fields["title"] = std::move(heading);
  return only(std::move(document));
}

}  // namespace

SourceDocument html_document(std::string_view page) {
  SourceDocument document;
  // Undeclared bytes would be read as windows-1252, but files without a declaration are UTF-8 today.
  const bool is_other = first_invalid_utf8(page) != std::string_view::npos && !declared_charset(page).empty();
  const std::string decoded = is_other ? std::string() : decoded_text(page);
  if (!is_other) page = decoded;
  const HtmlDocument tree = parse_html(page, "");
  if (!tree) return document;
  const ReadablePage read = readable_page(*tree, "", PageForm::text);
  const bool is_titled = letters_in(read.title) > 0 || read.heading.empty();
  set_field(document, "title", cut_title(is_titled ? read.title : read.heading));
  document.ends_at = end_of(*tree);
  set_text(document, read.text);
  PageFacts facts = facts_of(xmlDocGetRootElement(tree.get()));
  set_field(document, "language", std::move(facts.language));
  set_field(document, "date", std::move(facts.date));
  return document;
}

SourceDocument markdown_document(std::string_view text) {
  const std::string_view matter = take_front_matter(text);
  SourceDocument document = html_document(html_of_markdown(text));
  if (text.size() > kMostMarkdown) document.ends_at = "2 MiB";
  if (std::string title = matter_value(matter, "title"); !title.empty())
    document.fields["title"] = cut_title(title);
  if (document.fields["title"].empty()) {
    const std::string& words = document.fields["text"];
    document.fields["title"] = cut_title(words.substr(0, words.find('\n')));
  }
  const std::string language = matter_value(matter, "language");
  set_field(document, "language", language.empty() ? matter_value(matter, "lang") : language);
  set_field(document, "date", matter_value(matter, "date"));
  std::erase_if(document.fields, [](const auto& field) { return field.second.empty(); });
  return document;
}

SourceDocument text_document(std::string_view text) {
  SourceDocument document;
  const std::string_view content = ascii_trimmed(text, kBlanks);
  set_field(document, "title", title_of_text(content));
  set_text(document, content);
  return document;
}

Result<std::vector<SourceDocument>> read_html(std::string_view bytes) {
  return only(html_document(bytes));
}

Result<std::vector<SourceDocument>> read_markdown(std::string_view bytes) {
  return only(markdown_document(decoded_text(bytes)));
}

Result<std::vector<SourceDocument>> read_structured_text(std::string_view bytes) {
  return read_lines(bytes, Heading::anywhere, StructuredLines());
}

Result<std::vector<SourceDocument>> read_asciidoc(std::string_view bytes) {
  return read_lines(bytes, Heading::anywhere, asciidoc_line);
}

Result<std::vector<SourceDocument>> read_text_file(std::string_view bytes) {
  return read_lines(bytes, Heading::first, [](std::string_view line) -> std::optional<std::string> {
    return is_decoration(line) ? std::string() : std::string(line);
  });
}

Result<std::vector<SourceDocument>> read_source_code(std::string_view bytes) {
  auto documents = read_lines(bytes, Heading::first, code_line);
  documents.front().fields.erase("title");  // its first lines are licences; a file is known by its name
  return documents;
}

}  // namespace metafuse::fetchers
