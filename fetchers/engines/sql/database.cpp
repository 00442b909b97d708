#include "fetchers/engines/sql/database.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/contract.h"
#include "core/languages.h"
#include "core/number.h"
#include "core/text.h"
#include "core/url.h"
#include "fetchers/answers/answer_dates.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/part_text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::array<std::string_view, 5> kBoundNames = {"query", "wildcard", "vector", "limit", "offset"};

bool is_name_character(char c) {
  return is_ascii_letter_or_digit(c) || c == '_';
}

/// Splits a statement into quoted or commented text and the rest.
class SqlScanner {
 public:
  /// in:     has_brackets - whether [...] quotes a name; elsewhere it is a part of an array
  SqlScanner(std::string_view sql, bool has_brackets) : sql_(sql), has_brackets_(has_brackets) {}

  bool is_at_end() const { return at_ >= sql_.size(); }
  char current() const { return sql_[at_]; }
  char next() const { return at_ + 1 < sql_.size() ? sql_[at_ + 1] : '\0'; }

  /// Takes a string literal, quoted name, comment or dollar quote that begins here; empty if there is none.
  std::string_view take_quoted() {
    const char c = current();
    if (c == '\'' || c == '"' || c == '`') return take_through(find_quote(c));
    if (c == '[' && has_brackets_) return take_through(sql_.find(']', at_));
    if (c == '-' && next() == '-') return take_through(sql_.find('\n', at_));
    if (c == '/' && next() == '*') return take_through(after("*/", at_ + 2));
    if (c != '$') return {};
    const std::size_t end = sql_.find('$', at_ + 1);
    if (end == std::string_view::npos) return {};
    const std::string_view tag = sql_.substr(at_, end + 1 - at_);
    const bool is_tag =
        std::all_of(tag.begin() + 1, tag.end() - 1, is_name_character) && !is_ascii_digit(tag[1]);
    return is_tag ? take_through(after(tag, end + 1)) : std::string_view();
  }

  /// Takes a parameter ":name" and returns its name; empty if there is none here.
  std::string_view take_parameter() {
    const bool is_slice = is_ascii_digit(next());  // of an array, a[1:2]
    if (current() != ':' || is_slice || (at_ > 0 && sql_[at_ - 1] == ':')) return {};
    std::size_t end = at_ + 1;
    while (end < sql_.size() && is_name_character(sql_[end])) ++end;
    const std::string_view name = sql_.substr(at_ + 1, end - at_ - 1);
    if (!name.empty()) at_ = end;
    return name;
  }

  char take() { return sql_[at_++]; }

 private:
  /// The position of the closing quote. A doubled quote belongs to the text.
  std::size_t find_quote(char quote) const {
    std::size_t end = sql_.find(quote, at_ + 1);
    while (end != std::string_view::npos && end + 1 < sql_.size() && sql_[end + 1] == quote)
      end = sql_.find(quote, end + 2);
    return end;
  }
  std::size_t after(std::string_view mark, std::size_t from) const {
    const std::size_t found = sql_.find(mark, from);
    return found == std::string_view::npos ? found : found + mark.size() - 1;
  }
  std::string_view take_through(std::size_t last) {
    const std::size_t end = last == std::string_view::npos ? sql_.size() : last + 1;
    const std::string_view taken = sql_.substr(at_, end - at_);
    at_ = end;
    return taken;
  }

  std::string_view sql_;
  bool has_brackets_;
  std::size_t at_ = 0;
};

std::string mark_of(std::vector<std::string>& names, std::string_view name, SqlStatementText::Marks marks) {
  if (marks != SqlStatementText::Marks::numbered) {
    names.emplace_back(name);
    return marks == SqlStatementText::Marks::question ? "?" : ':' + std::string(name);
  }
  const auto found = std::find(names.begin(), names.end(), name);
  const auto position = static_cast<std::size_t>(found - names.begin()) + 1;
  if (found == names.end()) names.emplace_back(name);
  return "$" + std::to_string(position);
}

}  // namespace

bool SqlStatementText::has(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<SqlArgument> SqlStatementText::arguments(const SqlWindow& window) const {
  std::vector<SqlArgument> out;
  for (const std::string& name : names) {
    if (name == "query") out.emplace_back(std::string(window.query));
    if (name == "wildcard") out.emplace_back("%" + std::string(window.query) + "%");
    if (name == "vector") out.emplace_back(window.vector);
    if (name == "limit") out.emplace_back(std::int64_t{window.depth} + (has("offset") ? 0 : window.offset));
    if (name == "offset") out.emplace_back(std::int64_t{window.offset});
  }
  return out;
}

Result<SqlStatementText> with_marks(std::string_view sql, SqlStatementText::Marks marks) {
  SqlStatementText out;
  SqlScanner scanner(sql, marks == SqlStatementText::Marks::named);
  while (!scanner.is_at_end()) {
    if (const std::string_view quoted = scanner.take_quoted(); !quoted.empty()) {
      out.text += quoted;
      continue;
    }
    if (const std::string_view name = scanner.take_parameter(); !name.empty()) {
      if (std::find(kBoundNames.begin(), kBoundNames.end(), name) == kBoundNames.end())
        return fail(Code::bad_config, "unknown value :" + std::string(name) +
                                          "; use one of :query, :wildcard, :vector, :limit and :offset");
      out.text += mark_of(out.names, name, marks);
      continue;
    }
    const bool is_own_mark = marks == SqlStatementText::Marks::numbered
                                 ? scanner.current() == '$' && is_ascii_digit(scanner.next())
                                 : scanner.current() == '?';
    if (is_own_mark)
      return fail(Code::bad_config,
                  "the statement contains \"?\" or \"$1\"; use named values such as :query instead");
    out.text += scanner.take();
  }
  return out;
}

void HitRows::add(std::span<const std::string_view> columns, std::span<const std::string_view> values) {
  require(columns.size() == values.size(), "a value for each column");
  if (is_full() || to_skip_-- > 0) return;
  const auto value_of = [&](std::string_view name) -> std::string_view {
    const auto found = std::find(columns.begin(), columns.end(), name);
    return found == columns.end() ? std::string_view()
                                  : values[static_cast<std::size_t>(found - columns.begin())];
  };
  const auto part_of_url = [&](const std::string& name) {
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) unknown_ = name;
    return value_of(name);
  };
  const auto url =
      url_format_.empty() ? std::string(value_of("url")) : filled_format(url_format_, part_of_url);
  auto resolved = url ? resolved_url(*url, "") : std::nullopt;
  if (!resolved) return;
  Hit hit;
  hit.url = std::move(*resolved);
  hit.title = clean_text(value_of("title"), false, kMaxTitleBytes);
  hit.snippet = clean_text(value_of("content"), false, kMaxSnippetBytes);
  hit.published = clean_date(value_of("published"));
  hit.language = language_tag(value_of("language"));
  double score = 0;
  // Servers have infinite numbers and numbers that are none; no score is one.
  if (to_double(value_of("score"), score) && std::isfinite(score)) hit.score = score;
  list_.hits.push_back(std::move(hit));
}

Result<RankedList> HitRows::take() {
  if (!unknown_.empty())
    return fail(Code::bad_config, "url_format: the statement has no column \"" + unknown_ + '"');
  return std::move(list_);
}

Error left_out(std::string_view what, std::string_view package) {
  return fail(Code::bad_config,
              fmt::format("this program was built without {}; install {} and build it again (scripts/setup "
                          "--with databases)",
                          what, package));
}

}  // namespace metafuse::fetchers
