#include "templates/typed_query.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/site.h"
#include "core/text.h"

namespace metafuse::templates {
namespace {

using Kind = Condition::Kind;

constexpr std::size_t kLongestEnding = 10;
constexpr std::size_t kLongestHost = 253;
constexpr const char* kOr = " OR ";
constexpr std::string_view kPunctuation = ",;:!?.";

/// Turns "https://www.KDE.org/apps/" into "kde.org/apps"; nothing for what engines would not take.
std::optional<std::string> site_of(std::string_view text) {
  const auto [host, path, has_more] = read_site(text);
  const auto is_host_part = [](char c) {
    return is_ascii_small_or_digit(c) || c == '.' || c == '-' || c == '_';
  };
  const auto is_path_part = [](char c) {
    return is_ascii_letter_or_digit(c) || std::string_view("._-/").find(c) != std::string_view::npos;
  };
  const bool is_host = !has_more && !host.empty() && host.size() <= kLongestHost &&
                       is_ascii_small_or_digit(host.front()) && is_ascii_small_or_digit(host.back()) &&
                       std::all_of(host.begin(), host.end(), is_host_part) &&
                       host.find("..") == std::string::npos;
  if (!is_host || !std::all_of(path.begin(), path.end(), is_path_part) ||
      path.find("..") != std::string::npos)
    return std::nullopt;
  return host + path;
}

std::optional<std::string> ending_of(std::string_view text) {
  if (text.starts_with('.')) text.remove_prefix(1);
  std::string ending = ascii_lower(text);
  const bool is_ending = !ending.empty() && ending.size() <= kLongestEnding &&
                         std::all_of(ending.begin(), ending.end(), is_ascii_small_or_digit);
  return is_ending ? std::optional(std::move(ending)) : std::nullopt;
}

/// The first day of a year or month, or the day itself: "2024", "2024-05", "2024-05-17".
std::optional<std::string> day_of(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00";
  if (text.size() != 4 && text.size() != 7 && text.size() != 10) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (kForm[i] == '0' ? !is_ascii_digit(text[i]) : text[i] != '-') return std::nullopt;
  std::string day = std::string(text) + std::string("-01-01").substr(text.size() == 4 ? 0 : 3);
  day.resize(kForm.size());
  const auto number = [&](std::size_t at) { return 10 * (day[at] - '0') + (day[at + 1] - '0'); };
  const int year = 100 * number(0) + number(2), month = number(5), date = number(8);
  constexpr std::array kDays = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 1000 || month < 1 || month > 12 || date < 1 || date > kDays[static_cast<std::size_t>(month - 1)])
    return std::nullopt;
  const bool is_leap_year = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && date == 29 && !is_leap_year ? std::nullopt : std::optional(std::move(day));
}

std::optional<std::string> words_as_typed(std::string_view text) {
  return has_letter(text) ? std::optional(std::string(text)) : std::nullopt;
}

/// A row of the table of fields, which are typed as `name:value`.
struct Field {
  std::string_view name;
  Kind kind;
  std::optional<Kind> negative;  ///< the kind with a minus in front
  std::optional<std::string> (*read)(std::string_view value);
};

constexpr std::array kFields = {
    Field{"site", Kind::site, Kind::not_site, site_of},
    Field{"filetype", Kind::file_type, Kind::not_file_type, ending_of},
    Field{"ext", Kind::file_type, Kind::not_file_type, ending_of},
    Field{"intitle", Kind::in_title, Kind::not_in_title, words_as_typed},
    Field{"before", Kind::before, std::nullopt, day_of},
    Field{"after", Kind::after, std::nullopt, day_of},
};

/// A piece of the text between blanks, as typed.
struct Token {
  std::size_t begin = 0, end = 0;
  bool is_minus = false;
  bool is_quoted = false;
  const Field* field = nullptr;
  std::string_view value;  ///< without sign, field and quotes
};

class TypedParser {
 public:
  explicit TypedParser(TypedQuery& out)
      : out_(out), text_(out.text), last_quote_(std::min(text_.rfind('"'), text_.size())) {}

  void parse() {
    while (skip_blanks()) {
      const Token token = next();
      is_after_or_ = is_or(token);
      if (is_after_or_ && skip_blanks()) {
        or_begin_ = token.begin;
        or_end_ = token.end;
        take(next());
      } else {
        take(token);
      }
    }
    finish_alternatives();
  }

 private:
  enum class Joinable { nothing, term, site, file_type };  ///< alternatives must be of the same kind

  bool skip_blanks() {
    at_ = text_.find_first_not_of(' ', at_);
    return at_ != std::string_view::npos;
  }

  Token next() {
    Token token;
    token.begin = at_;
    if (text_[at_] == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ' ' && text_[at_ + 1] != '-') {
      token.is_minus = true;
      ++at_;
    }
    if (const std::size_t colon = word_here().find(':'); colon != std::string_view::npos) {
      const std::string name = ascii_lower(text_.substr(at_, colon));
      for (const Field& field : kFields)
        if (field.name == name && (!token.is_minus || field.negative)) token.field = &field;
      if (token.field != nullptr) at_ += colon + 1;
    }
    take_value(token);
    if (token.field != nullptr && !token.is_quoted)
      token.value = token.value.substr(0, token.value.find_last_not_of(kPunctuation) + 1);
    return token;
  }

  /// The text up to the next blank. Nothing looks further for a word, so that all together cost O(bytes).
  std::string_view word_here() const { return text_.substr(at_, text_.find(' ', at_) - at_); }

  void take_value(Token& token) {
    if (at_ < text_.size() && text_[at_] == '"') {
      token.is_quoted = at_ < last_quote_;
      if (token.is_quoted) {
        const std::size_t close = text_.find('"', at_ + 1);
        token.value = text_.substr(at_ + 1, close - at_ - 1);
        token.end = at_ = close + 1;
        return;
      }
      ++at_;  // an unclosed quote is ignored
    }
    token.value = word_here();
    // a closed quote that opens inside a word begins a phrase
    if (const std::size_t quote = token.value.find('"');
        quote != std::string_view::npos && quote > 0 && at_ + quote < last_quote_)
      token.value = token.value.substr(0, quote);
    token.end = at_ += token.value.size();
  }

  static Joinable joinable(const Token& token) {
    if (token.is_minus || !has_letter(token.value)) return Joinable::nothing;
    if (token.field == nullptr) return Joinable::term;
    if (!token.field->read(token.value)) return Joinable::nothing;
    if (token.field->kind == Kind::site) return Joinable::site;
    return token.field->kind == Kind::file_type ? Joinable::file_type : Joinable::nothing;
  }

  /// Whether the token joins alternatives: only between two of the same kind, since in "Portland OR" it is
  /// a place.
  bool is_or(const Token& token) {
    if (token.is_quoted || token.is_minus || (token.value != "OR" && token.value != "|")) return false;
    const std::size_t behind = at_;
    const bool is_joining = last_ != Joinable::nothing && skip_blanks() && joinable(next()) == last_;
    at_ = behind;
    return is_joining;
  }

  void take(const Token& token) {
    const Joinable kind = joinable(token);
    if (kind != Joinable::term || !is_after_or_) finish_alternatives();
    last_ = kind;
    if (token.field != nullptr && take_field(token)) return;
    if (!token.is_minus)
      take_words(token);
    else if (has_letter(token.value))
      add_condition(Kind::excluded, std::string(token.value), token.begin, token.end);
  }

  void add_condition(Kind kind, std::string value, std::size_t begin, std::size_t end) {
    out_.conditions.push_back({kind, std::move(value), begin, end, begin, end});
  }

  bool take_field(const Token& token) {
    auto value = token.field->read(token.value);
    if (!value) return false;
    const Kind kind = token.is_minus ? *token.field->negative : token.field->kind;
    add_condition(kind, std::move(*value), token.begin, token.end);
    if (is_after_or_) {
      Condition* const added = &out_.conditions.back();
      added->begin_with_or = or_begin_;
      if (Condition* const before = added - 1; before->begin_with_or == before->begin)
        before->end_with_or = or_end_;
    }
    if (kind == Kind::in_title) out_.terms.push_back({std::string(token.value), token.is_quoted, false});
    return true;
  }

  void take_words(const Token& token) {
    const bool is_field = token.field != nullptr;
    std::string_view value = is_field ? text_.substr(token.begin, token.end - token.begin) : token.value;
    while (!token.is_quoted && value.starts_with('+')) value.remove_prefix(1);
    if (!has_letter(value)) return;
    const bool is_alternative = is_after_or_ && !alternatives_.empty();
    if (!is_alternative) begin_ = token.begin;
    end_ = token.end;
    const bool is_phrase = token.is_quoted && !is_field;
    out_.terms.push_back({std::string(value), is_phrase, is_alternative});
    if (last_ == Joinable::term) alternatives_.push_back(out_.terms.back());
  }

  /// Turns the terms collected so far into a condition, if they form one.
  void finish_alternatives() {
    std::string value;
    for (const TypedTerm& term : alternatives_) value += (value.empty() ? "" : kOr) + term.text;
    const bool is_any = alternatives_.size() > 1;
    if (is_any || (alternatives_.size() == 1 && alternatives_.front().is_phrase))
      add_condition(is_any ? Kind::any : Kind::phrase, std::move(value), begin_, end_);
    alternatives_.clear();
  }

  TypedQuery& out_;
  std::string_view text_;
  std::size_t last_quote_;  ///< a quote before it is closed; the text's size without any
  std::size_t at_ = 0;
  /// The last term, preceded by the terms that it is an alternative to.
  std::vector<TypedTerm> alternatives_;
  std::size_t begin_ = 0, end_ = 0;  ///< their position in the text
  Joinable last_ = Joinable::nothing;
  bool is_after_or_ = false;
  std::size_t or_begin_ = 0, or_end_ = 0;  ///< the OR before the token that is taken, if is_after_or_
};

}  // namespace

TypedQuery parse_typed_query(std::string_view text) {
  TypedQuery out;
  out.text = normalise_value(text);
  TypedParser(out).parse();
  return out;
}

std::string TypedQuery::words() const {
  std::string out;
  for (const TypedTerm& term : terms) out += (out.empty() ? "" : " ") + term.text;
  return out;
}

namespace {

/// The words of a term or condition as one unit: a word, or a phrase if the syntax reads it as several words.
SlotValue one_unit(std::string_view text, const QuerySyntax& syntax, bool is_phrase) {
  SlotValue value = words_of(text, syntax);
  if (value.units.size() < 2 && !is_phrase) return value;
  SlotValue::Unit all{{}, true};
  for (const SlotValue::Unit& unit : value.units)
    all.words.insert(all.words.end(), unit.words.begin(), unit.words.end());
  if (!all.words.empty()) value.units = {std::move(all)};
  return value;
}

/// What the syntax writes for a condition of this kind; empty if it cannot express one.
std::string_view sign_of(const QuerySyntax& syntax, Kind kind) {
  switch (kind) {
    case Kind::phrase:
      return syntax.joins.phrase_quote;
    case Kind::any:
      return syntax.joins.any_between == " " ? "" : syntax.joins.any_between;
    case Kind::excluded:
      return syntax.fields.without;
    case Kind::in_title:
    case Kind::not_in_title:
      return syntax.fields.title;
    case Kind::site:
    case Kind::not_site:
      return syntax.fields.site;
    case Kind::file_type:
    case Kind::not_file_type:
      return syntax.fields.file_type;
    case Kind::before:
      return syntax.fields.before;
    case Kind::after:
      return syntax.fields.after;
  }
  return {};
}

/// Appends conditions to one query.
class ConditionWriter {
 public:
  ConditionWriter(std::string query, const QuerySyntax& syntax) : query_(std::move(query)), syntax_(syntax) {}

  void add(const Condition& condition) {
    const std::string sign(sign_of(syntax_, condition.kind));
    if (sign.empty()) return;
    switch (condition.kind) {
      case Kind::phrase:
        return add_phrase(condition.value);
      case Kind::any:
        return;  // is part of the slot's value
      case Kind::excluded:
        return add_excluded({}, written(condition.value));
      case Kind::in_title:
        return add_title(condition.value);
      case Kind::not_in_title:
        return add_excluded(sign, written(condition.value));
      case Kind::site:
        return sites_.push_back(sign + condition.value);
      case Kind::file_type:
        return endings_.push_back(sign + condition.value);
      case Kind::not_site:
      case Kind::not_file_type:
        return add_excluded(sign, condition.value);
      case Kind::before:
      case Kind::after:
        return add_must(sign + condition.value);
    }
  }

  std::string finish() && {
    add_one_of(sites_);
    add_one_of(endings_);
    return std::move(query_);
  }

 private:
  std::string written(std::string_view words) const {
    return write_value(one_unit(words, syntax_, false), syntax_, false);
  }

  void add_phrase(std::string_view words) {
    SlotValue value = one_unit(words, syntax_, true);
    const std::string phrase = write_value(value, syntax_, false);
    value.join = SlotValue::Join::all;
    const std::string must = write_value(value, syntax_, false);
    if (!requires_already(phrase, must)) add_must(must);
  }

  /// Whether the query requires a phrase as it is. In a query with alternatives, it may be one of them.
  bool requires_already(const std::string& phrase, const std::string& must) const {
    if (phrase.empty() || query_ == phrase) return true;
    if (must != phrase && query_.find(must) != std::string::npos) return true;
    return query_.find(phrase) != std::string::npos &&
           query_.find(syntax_.joins.any_between) == std::string::npos;
  }

  void add_title(std::string_view words) {
    if (const std::string text = written(words); !text.empty())
      add_must(std::string(syntax_.fields.title) + text);
  }

  void add_must(const std::string& text) {
    if (syntax_.joins.all_between != " ") wrap();
    query_ += std::string(syntax_.joins.all_between) + text;
  }

  void add_excluded(std::string_view field, const std::string& text) {
    if (text.empty()) return;
    if (syntax_.joins.all_between != " ") wrap();
    query_ += std::string(syntax_.fields.without) + std::string(field) + text;
  }

  void add_one_of(const std::vector<std::string>& texts) {
    std::string joined;
    for (const std::string& text : texts)
      joined += std::string(joined.empty() ? "" : syntax_.joins.any_between) + text;
    if (texts.empty()) return;
    add_must(texts.size() > 1 && syntax_.joins.has_groups ? '(' + joined + ')' : joined);
  }

  /// Puts the query into parentheses, so that an operator after it applies to all of it.
  void wrap() {
    if (!is_wrapped_ && syntax_.joins.has_groups) query_ = '(' + query_ + ')';
    is_wrapped_ = true;
  }

  std::string query_;
  const QuerySyntax& syntax_;
  std::vector<std::string> sites_, endings_;
  bool is_wrapped_ = false;
};

}  // namespace

SlotValue value_of(const TypedQuery& typed, const QuerySyntax& syntax) {
  SlotValue out;
  for (std::size_t i = 0; i < typed.terms.size(); ++i) {
    const TypedTerm& term = typed.terms[i];
    const bool begins_alternatives = i + 1 < typed.terms.size() && typed.terms[i + 1].is_alternative;
    SlotValue value = term.is_phrase || term.is_alternative || begins_alternatives
                          ? one_unit(term.text, syntax, term.is_phrase)
                          : words_of(term.text, syntax);
    if (!value.units.empty()) value.units.front().is_alternative = term.is_alternative && !out.units.empty();
    out.units.insert(out.units.end(), value.units.begin(), value.units.end());
  }
  return out;
}

bool can_say(const QuerySyntax& syntax, Kind kind) {
  return !sign_of(syntax, kind).empty();
}

std::string with_conditions(std::string query, const TypedQuery& typed, const QuerySyntax& syntax) {
  if (query.empty()) return query;
  ConditionWriter writer(std::move(query), syntax);
  for (const Condition& condition : typed.conditions) writer.add(condition);
  return std::move(writer).finish();
}

}  // namespace metafuse::templates
