#include "fetchers/engines/index/word_query.h"

#include <algorithm>

#include "core/number.h"
#include "core/text.h"

namespace metafuse::fetchers {

bool is_word_byte(char c) {
  return is_ascii_letter_or_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view next_token(std::string_view& rest) {
  std::size_t end = 1;
  if (rest.front() == '"') {
    end = rest.find('"', 1);
    while (end != std::string_view::npos && end + 1 < rest.size() && rest[end + 1] == '"')
      end = rest.find('"', end + 2);
    end = end == std::string_view::npos ? rest.size() : end + 1;
  } else if (is_word_byte(rest.front())) {
    while (end < rest.size() && is_word_byte(rest[end])) ++end;
  }
  const std::string_view token = rest.substr(0, end);
  rest.remove_prefix(end);
  return token;
}

namespace {

constexpr std::size_t kMaxWordQueryBytes = 1 << 16;
constexpr int kMaxWordQueryDepth = 200;
constexpr std::size_t kUsualDistance = 10;

/// Juxtaposition binds tightest, then NOT, then AND, then OR.
class WordQueryParser {
 public:
  WordQueryParser(std::string_view query, const std::vector<std::string>& columns)
      : rest_(query), columns_(columns) {
    take();
  }

  Result<QueryNode> parse() {
    TRY(auto node, parse_binary("OR", kAllColumns));
    if (!token_.empty()) return mistake("here");
    return node;
  }

 private:
  void take() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    token_ = rest_.empty() ? std::string_view() : next_token(rest_);
  }

  Error mistake(const std::string& where) const {
    const std::string found = token_.empty() ? "the end" : '"' + std::string(token_.substr(0, 40)) + '"';
    return fail(Code::bad_data, "syntax error " + where + ": " + found);
  }

  bool is_operator() const { return token_ == "AND" || token_ == "OR" || token_ == "NOT"; }
  bool is_text() const {
    return !token_.empty() && (token_.front() == '"' || is_word_byte(token_.front())) && !is_operator();
  }
  /// Whether the token begins a text, a group or a column filter.
  bool begins_primary() const { return is_text() || token_ == "(" || token_ == "{" || token_ == "-"; }

  static std::string_view closer_than(std::string_view operation) {
    return operation == "OR" ? "AND" : operation == "AND" ? "NOT" : "";
  }

  /// Joins two conditions; conditions of the same kind become one with more children.
  static QueryNode joined(QueryNode::Kind kind, QueryNode left, QueryNode right) {
    QueryNode both;
    both.kind = kind;
    if (left.kind == kind)
      both.children = std::move(left.children);
    else
      both.children.push_back(std::move(left));
    both.children.push_back(std::move(right));
    return both;
  }

  Result<QueryNode> parse_binary(std::string_view operation, ColumnSet columns) {
    if (operation.empty()) return parse_sequence(columns);
    TRY(auto left, parse_binary(closer_than(operation), columns));
    while (token_ == operation) {
      take();
      TRY(auto right, parse_binary(closer_than(operation), columns));
      left = joined(operation == "OR"    ? QueryNode::Kind::any
                    : operation == "AND" ? QueryNode::Kind::all
                                         : QueryNode::Kind::without,
                    std::move(left), std::move(right));
    }
    return left;
  }

  Result<QueryNode> parse_sequence(ColumnSet columns) {
    TRY(auto all, parse_primary(columns));
    while (begins_primary()) {
      TRY(auto next, parse_primary(columns));
      all = joined(QueryNode::Kind::all, std::move(all), std::move(next));
    }
    return all;
  }

  Result<QueryNode> parse_primary(ColumnSet columns) {
    TRY(const ColumnSet wanted, take_columns(columns));
    if (token_ == "(") return parse_group(wanted);
    if (!is_text()) return mistake("where a word is expected");
    std::string_view behind = rest_;
    behind.remove_prefix(std::min(behind.find_first_not_of(" \t\r\n"), behind.size()));
    if (token_ == "NEAR" && behind.starts_with('(')) return parse_near(wanted);
    return take_text(wanted);
  }

  Result<QueryNode> parse_group(ColumnSet columns) {
    if (++depth_ > kMaxWordQueryDepth) return fail(Code::bad_data, "too many parentheses");
    take();
    TRY(auto inner, parse_binary("OR", columns));
    if (token_ != ")") return mistake("where ) is expected");
    take();
    --depth_;
    return inner;
  }

  /// NEAR(text text ..., distance)
  Result<QueryNode> parse_near(ColumnSet columns) {
    take();
    take();
    QueryNode near;
    near.kind = QueryNode::Kind::near;
    near.distance = kUsualDistance;
    while (is_text()) {
      TRY(auto text, take_text(columns));
      near.children.push_back(std::move(text));
    }
    if (near.children.empty()) return mistake("in NEAR");
    if (token_ == ",") {
      take();
      std::int64_t distance = 0;
      if (!to_integer(token_, distance) || distance < 0) return mistake("where NEAR's distance is expected");
      near.distance = static_cast<std::size_t>(distance);
      take();
    }
    if (token_ != ")") return mistake("where NEAR's ) is expected");
    take();
    if (near.children.size() > 1) return near;
    return std::move(near.children.front());
  }

  /// A word or a string, possibly continued by + and ended by *.
  Result<QueryNode> take_text(ColumnSet columns) {
    QueryNode node;
    node.columns = columns;
    node.is_quoted = token_.front() == '"';
    TRY_VOID(append_text(node.text));
    while (token_ == "+") {
      take();
      if (!is_text()) return mistake("behind +");
      node.text += ' ';
      node.is_quoted = true;
      TRY_VOID(append_text(node.text));
    }
    if (token_ == "*") {
      node.is_beginning = true;
      take();
    }
    return node;
  }

  Result<void> append_text(std::string& text) {
    if (token_.front() != '"') {
      text += token_;
    } else {
      if (std::count(token_.begin(), token_.end(), '"') % 2 != 0)
        return fail(Code::bad_data, "unterminated string");
      for (std::size_t i = 1; i + 1 < token_.size(); ++i) {
        text += token_[i];
        if (token_[i] == '"') ++i;
      }
    }
    take();
    return {};
  }

  /// Takes a column filter in front of a text or parenthesis and intersects it with `allowed`.
  Result<ColumnSet> take_columns(ColumnSet allowed) {
    const bool is_excluded = token_ == "-";
    if (is_excluded) take();
    const bool is_list = token_ == "{";
    std::string_view behind = rest_;
    behind.remove_prefix(std::min(behind.find_first_not_of(" \t\r\n"), behind.size()));
    if (!is_list && (!is_text() || !behind.starts_with(':'))) {
      if (is_excluded) return mistake("behind -");
      return allowed;
    }
    ColumnSet named = 0;
    if (is_list) take();
    do {
      TRY(const ColumnSet bit, column_bit());
      named |= bit;
      take();
    } while (is_list && token_ != "}" && !token_.empty());
    if (is_list) take();
    if (token_ != ":") return mistake("where : is expected");
    take();
    return (is_excluded ? ~named : named) & allowed;
  }

  Result<ColumnSet> column_bit() const {
    const std::string_view name =
        token_.size() > 1 && token_.front() == '"' ? token_.substr(1, token_.size() - 2) : token_;
    std::string known;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (ascii_lower(columns_[i]) == ascii_lower(name)) return ColumnSet{1} << i;
      known += (known.empty() ? "" : ", ") + columns_[i];
    }
    return fail(Code::bad_data,
                "no such column: \"" + std::string(name.substr(0, 64)) + "\"; there are " + known);
  }

  std::string_view rest_, token_;
  const std::vector<std::string>& columns_;
  int depth_ = 0;
};

}  // namespace

Result<QueryNode> read_word_query(std::string_view query, const std::vector<std::string>& columns) {
  if (query.size() > kMaxWordQueryBytes)
    return fail(Code::bad_data, "the query has more than " + std::to_string(kMaxWordQueryBytes) + " bytes");
  return WordQueryParser(query, columns).parse();
}

}  // namespace metafuse::fetchers
