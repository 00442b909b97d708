#include "tests/support/hostile_values.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "core/query_syntax.h"
#include "core/random.h"
#include "core/text.h"
#include "templates/expander.h"
#include "tests/support/query_lexer.h"

using namespace metafuse;
using templates::Domain;
using test::QueryGrammar;
using test::QueryToken;
using Kind = QueryToken::Kind;

namespace {

const QuerySyntax& syntax_named(std::string_view name) {
  const QuerySyntax* syntax = find_query_syntax(name);
  REQUIRE(syntax != nullptr);
  return *syntax;
}

/// The query of a template with the value in slot A ("joe" is added so that there is always a word).
std::string expanded_hostile(std::string_view query, std::string_view value, std::string_view syntax) {
  Domain domain;
  domain.name = "test";
  domain.slots = {{"A", true, ""}};
  domain.templates = {{"t", {"e"}, std::string(query)}};
  const auto queries =
      templates::expand(domain, {{{"A", "joe " + std::string(value)}}},
                        [&](std::string_view) -> const QuerySyntax& { return syntax_named(syntax); });
  REQUIRE(queries.has_value());
  CHECK(first_invalid_utf8(queries->front().text) == std::string::npos);
  return queries->front().text;
}

bool acts(const QueryToken& token, std::string_view text) {
  return token.kind == Kind::acting && token.text == text;
}

bool is_words(const std::vector<QueryToken>& tokens) {
  return !tokens.empty() && std::all_of(tokens.begin(), tokens.end(), [](const QueryToken& token) {
    return token.kind == Kind::word || token.kind == Kind::phrase;
  });
}

/// Whether the tokens are words joined by the operator `between`, with no other operator except an optional
/// pair of parentheses around them.
bool is_joined_by(std::vector<QueryToken> tokens, std::string_view between) {
  if (tokens.size() > 2 && acts(tokens.front(), "(") && acts(tokens.back(), ")")) {
    tokens.pop_back();
    tokens.erase(tokens.begin());
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool is_between = i % 2 == 1;
    if (is_between != acts(tokens[i], between)) return false;
    if (!is_between && tokens[i].kind != Kind::word && tokens[i].kind != Kind::phrase) return false;
  }
  return tokens.size() % 2 == 1;
}

bool is_each_after(const std::vector<QueryToken>& tokens, std::string_view before) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if ((i % 2 == 0) != acts(tokens[i], before)) return false;
  return !tokens.empty() && tokens.size() % 2 == 0;
}

bool is_only_words(const std::vector<QueryToken>& tokens, std::string_view) {
  return is_words(tokens);
}

bool is_grouped_words(const std::vector<QueryToken>& tokens, std::string_view) {
  if (tokens.size() == 1) return is_words(tokens);
  return tokens.size() > 2 && acts(tokens.front(), "(") && acts(tokens.back(), ")") &&
         is_words({tokens.begin() + 1, tokens.end() - 1});
}

/// The form that `all` and `any` must have in a syntax.
struct Shape {
  std::string_view syntax;
  bool (*all)(const std::vector<QueryToken>&, std::string_view);
  std::string_view all_sign;
  bool (*any)(const std::vector<QueryToken>&, std::string_view);
  std::string_view any_sign;
};

bool joined(const std::vector<QueryToken>& tokens, std::string_view sign) {
  return is_joined_by(tokens, sign);
}

const Shape kShapes[] = {
    {"web", is_each_after, "+", joined, "OR"},       {"plain", is_only_words, "", is_only_words, ""},
    {"google", is_only_words, "", joined, "OR"},     {"lucene", is_each_after, "+", joined, "OR"},
    {"elasticsearch", joined, "+", joined, "|"},     {"solr", is_each_after, "+", joined, "OR"},
    {"fts5", joined, "AND", joined, "OR"},           {"xapian", is_each_after, "+", joined, "OR"},
    {"groonga", is_each_after, "+", joined, "OR"},   {"sphinx", is_only_words, "", joined, "|"},
    {"postgresql", is_only_words, "", joined, "or"}, {"mysql", is_each_after, "+", is_grouped_words, ""},
    {"mediawiki", is_only_words, "", joined, "OR"},
};

void check_value(const QueryGrammar& grammar, const Shape& shape, std::string_view value) {
  const auto lexed = [&](std::string_view query) {
    const std::string text = expanded_hostile(query, value, grammar.syntax);
    UNSCOPED_INFO(grammar.syntax << " | " << query << " | " << text);
    return lex_query(text, grammar);
  };
  CHECK(is_words(lexed("{A}")));
  CHECK(is_words(lexed("{A|words|lower}")));
  CHECK(is_words(lexed("{A|last}")));
  CHECK(shape.all(lexed("{A|all}"), shape.all_sign));
  CHECK(shape.any(lexed("{A|any}"), shape.any_sign));
  if (grammar.syntax == "plain") return;
  const auto phrase = lexed("{A|phrase}");
  CHECK((phrase.size() == 1 && phrase[0].kind == Kind::phrase));
  const auto quoted = lexed("\"before {A} behind\"");
  CHECK((quoted.size() == 1 && quoted[0].kind == Kind::phrase));
}

}  // namespace

TEST_CASE("Every syntax has an independent grammar in the tests", "[templates][hostile]") {
  CHECK(std::size(kShapes) == query_syntaxes().size());
  CHECK(test::query_grammars().size() == query_syntaxes().size());
}

TEST_CASE("No hostile value changes the shape of a query in any syntax", "[templates][hostile]") {
  for (const Shape& shape : kShapes) {
    const auto grammar = std::find_if(test::query_grammars().begin(), test::query_grammars().end(),
                                      [&](const QueryGrammar& one) { return one.syntax == shape.syntax; });
    REQUIRE(grammar != test::query_grammars().end());
    for (const std::string_view value : test::kHostileValues) check_value(*grammar, shape, value);
  }
}

TEST_CASE("No random value changes the shape of a query in any syntax", "[templates][hostile]") {
  constexpr std::string_view kAlphabet = "ab \"'()[]{}<>+-*/\\|&!?:;,.^~=@#$%_\n\t";
  constexpr std::string_view kWords[] = {" OR ", " AND ", " NOT ", " NEAR ",
                                         " or ", " not ", " and ", " TO "};
  Random random(7);
  for (int round = 0; round < 100; ++round) {
    std::string value;
    for (std::uint64_t i = random.below(24); i > 0; --i) {
      value += kAlphabet[random.below(kAlphabet.size())];
      if (random.below(6) == 0) value += kWords[random.below(std::size(kWords))];
    }
    for (const Shape& shape : kShapes)
      for (const QueryGrammar& grammar : test::query_grammars())
        if (grammar.syntax == shape.syntax) check_value(grammar, shape, value);
  }
}
