#include "fetchers/engines/index/word_query.h"

#include <algorithm>
#include <memory>

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

constexpr std::size_t kMaxWordQueryBytes = 4096;
constexpr int kMaxWordQueryDepth = 40;

/// The text between quotes; nullopt if the quotes are not closed.
std::optional<std::string> unquoted(std::string_view token) {
  if (std::count(token.begin(), token.end(), '"') % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 1; i + 1 < token.size(); ++i) {
    out += token[i];
    if (token[i] == '"') ++i;
  }
  return out;
}

/// Parses FTS5's grammar without phrases, NEAR, prefixes and `-`. Juxtaposition binds tightest, then NOT,
/// then AND, then OR. Returns nullopt for a query that contains anything else.
class WordQueryParser {
 public:
  WordQueryParser(std::string_view query, const std::vector<std::string>& columns)
      : rest_(query), columns_(columns) {
    take();
  }

  std::optional<QueryNode> parse() {
    auto node = parse_binary("OR", kAllColumns);
    return token_.empty() ? std::move(node) : std::nullopt;
  }

  std::vector<QueryWord> words;

 private:
  void take() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    token_ = rest_.empty() ? std::string_view() : next_token(rest_);
  }

  bool is_word() const {
    return !token_.empty() && (token_.front() == '"' || is_word_byte(token_.front())) && token_ != "AND" &&
           token_ != "OR" && token_ != "NOT" && token_ != "NEAR";
  }

  static std::string_view closer_than(std::string_view operation) {
    return operation == "OR" ? "AND" : operation == "AND" ? "NOT" : "";
  }

  std::optional<QueryNode> parse_binary(std::string_view operation, ColumnSet columns) {
    if (operation.empty()) return parse_primary(columns);
    auto left = parse_binary(closer_than(operation), columns);
    while (left && token_ == operation) {
      take();
      auto right = parse_binary(closer_than(operation), columns);
      if (!right) return std::nullopt;
      QueryNode both;
      both.kind = operation == "OR"    ? QueryNode::Kind::any
                  : operation == "AND" ? QueryNode::Kind::all
                                       : QueryNode::Kind::without;
      both.children.push_back(std::move(*left));
      both.children.push_back(std::move(*right));
      left = std::move(both);
    }
    return left;
  }

  /// Parses `(...)`, or a sequence of words, each possibly preceded by a column filter.
  std::optional<QueryNode> parse_primary(ColumnSet columns) {
    QueryNode all;
    all.kind = QueryNode::Kind::all;
    while (true) {
      const auto wanted = take_columns(columns);
      if (!wanted) return std::nullopt;
      if (token_ == "(") return all.children.empty() ? parse_group(*wanted) : std::nullopt;
      if (!is_word()) return std::nullopt;
      auto word = take_word(*wanted);
      if (!word) return std::nullopt;
      all.children.push_back(std::move(*word));
      const bool goes_on = is_word() || token_ == "{";
      if (!goes_on) return all.children.size() == 1 ? std::move(all.children.front()) : std::move(all);
    }
  }

  std::optional<QueryNode> parse_group(ColumnSet columns) {
    if (++depth_ > kMaxWordQueryDepth) return std::nullopt;
    take();
    auto inner = parse_binary("OR", columns);
    if (!inner || token_ != ")") return std::nullopt;
    take();
    --depth_;
    return inner;
  }

  std::optional<QueryNode> take_word(ColumnSet columns) {
    const auto text = token_.front() == '"' ? unquoted(token_) : std::string(token_);
    if (!text || words.size() == kMaxQueryWords) return std::nullopt;
    take();
    QueryNode node;
    node.word = words.size();
    words.push_back({*text, columns});
    return node;
  }

  /// Takes a column filter in front of a word or parenthesis and intersects it with `allowed`. nullopt if
  /// there is no column of that name, or if no column remains.
  std::optional<ColumnSet> take_columns(ColumnSet allowed) {
    const bool is_list = token_ == "{";
    std::string_view behind = rest_;
    behind.remove_prefix(std::min(behind.find_first_not_of(" \t\r\n"), behind.size()));
    if (!is_list && (!is_word() || !behind.starts_with(':'))) return allowed;
    ColumnSet named = 0;
    if (is_list) take();
    do {
      const auto bit = column_bit();
      if (!bit) return std::nullopt;
      named |= *bit;
      take();
    } while (is_list && token_ != "}");
    if (is_list) take();
    if (token_ != ":" || (named & allowed) == 0) return std::nullopt;
    take();
    return named & allowed;
  }

  std::optional<ColumnSet> column_bit() const {
    if (!is_word()) return std::nullopt;
    const auto name = token_.front() == '"' ? unquoted(token_) : std::string(token_);
    for (std::size_t i = 0; name && i < columns_.size(); ++i)
      if (ascii_lower(columns_[i]) == ascii_lower(*name)) return ColumnSet{1} << i;
    return std::nullopt;
  }

  std::string_view rest_, token_;
  const std::vector<std::string>& columns_;
  int depth_ = 0;
};

bool is_alternatives(const QueryNode& node) {
  return node.kind == QueryNode::Kind::word ||
         (node.kind == QueryNode::Kind::any &&
          std::all_of(node.children.begin(), node.children.end(), is_alternatives));
}

/// Whether a query only asks for one word of each of several groups and none of others. In other conditions,
/// which words FTS5 counts depends on the positions of its cursors, so FTS5 itself must answer them.
bool is_groups(const QueryNode& node) {
  switch (node.kind) {
    case QueryNode::Kind::all:
      return std::all_of(node.children.begin(), node.children.end(), is_groups);
    case QueryNode::Kind::without:
      return is_groups(node.children[0]) && is_alternatives(node.children[1]);
    default:
      return is_alternatives(node);
  }
}

}  // namespace

std::optional<WordQuery> read_word_query(std::string_view query, const std::vector<std::string>& columns) {
  if (query.size() > kMaxWordQueryBytes || query.find('\0') != std::string_view::npos) return std::nullopt;
  WordQueryParser parser(query, columns);
  auto node = parser.parse();
  if (!node || !is_groups(*node)) return std::nullopt;
  return WordQuery{std::move(parser.words), *std::move(node)};
}

}  // namespace metafuse::fetchers
