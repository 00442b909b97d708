#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace metafuse::test {

/// What an engine's manual says about its query language, written down independently of core's table: a
/// second opinion on which characters have a meaning.
struct QueryGrammar {
  std::string_view syntax;        ///< core's name for it
  std::string_view acting;        ///< characters that have a meaning anywhere outside quotes
  std::string_view acting_first;  ///< characters that have one at the start of a word
  std::string_view operators;     ///< words that are operators, in capitals between blanks: " AND OR "
  bool has_backslash = false;     ///< a backslash escapes a character
  bool any_case = false;          ///< operators work in lower case too
};

// Sources: Lucene 9 QueryParser syntax page; Elasticsearch simple_query_string and Solr edismax references;
// SQLite FTS5 sec. 3; Xapian queryparser.html; Groonga query_syntax; Manticore full-text operators;
// PostgreSQL textsearch-controls (websearch_to_tsquery); MySQL fulltext-boolean; mediawiki.org
// Help:CirrusSearch; AltaVista's and Google's help pages.
inline const std::vector<QueryGrammar>& query_grammars() {
  static const std::vector<QueryGrammar> table = {
      {"web", "()|*:~^", "+-!&", " AND OR NOT NEAR ", false, false},
      {"plain", "", "", "", false, false},
      {"google", "()|*:~", "+-&", " AND OR AROUND ", false, false},
      {"lucene", "+-!(){}[]^~*?:/<>=&|", "", " AND OR NOT ", true, false},
      {"elasticsearch", "+|-*()~:", "", "", true, false},  // and field:value of `match` and `term`
      {"solr", "+-!(){}[]^~*?:/<>=&|;", "", " AND OR NOT ", true, true},
      {"fts5", "()*:+-^,{}.;'/\\!?&|<>=~#@$%[]`", "", " AND OR NOT NEAR ", false, false},
      {"xapian", "()*?~:", "+-", " AND OR NOT XOR NEAR ADJ ", false, true},
      {"groonga", "+-><~*():", "", " OR AND NOT ", true, false},
      {"sphinx", "!$()-/<@^|~=*", "", " MAYBE NEAR SENTENCE PARAGRAPH ZONE ", true, false},
      {"postgresql", "", "-", " OR ", false, true},
      {"mysql", "+-><()~*@", "", "", false, false},
      {"mediawiki", "*~\\?:<>[]|", "-!", " AND OR NOT ", false, false},
  };
  return table;
}

/// A token of a query: a word, a "phrase", or something with a meaning (acting).
struct QueryToken {
  enum class Kind { word, phrase, acting, unclosed };
  Kind kind = Kind::word;
  std::string text;
};

/// Splits a query into tokens, character by character, as the grammar says.
inline std::vector<QueryToken> lex_query(std::string_view query, const QueryGrammar& grammar) {
  std::vector<QueryToken> tokens;
  const auto has = [](std::string_view set, char c) { return set.find(c) != std::string_view::npos; };
  std::string word;
  bool is_escaped_word = false;
  const auto end_word = [&] {
    if (word.empty()) return;
    std::string capitals = ' ' + word + ' ';
    if (grammar.any_case)
      for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const bool acts = !is_escaped_word && grammar.operators.find(capitals) != std::string_view::npos;
    tokens.push_back({acts ? QueryToken::Kind::acting : QueryToken::Kind::word, word});
    word.clear();
    is_escaped_word = false;
  };
  for (std::size_t i = 0; i < query.size(); ++i) {
    const char c = query[i];
    if (grammar.has_backslash && c == '\\') {
      if (i + 1 == query.size()) {
        tokens.push_back({QueryToken::Kind::unclosed, "\\"});
        break;
      }
      word += query[++i];
      is_escaped_word = true;
    } else if (c == '"') {
      end_word();
      std::string phrase;
      for (++i; i < query.size() && query[i] != '"'; ++i) {
        if (grammar.has_backslash && query[i] == '\\') ++i;
        if (i < query.size()) phrase += query[i];
      }
      tokens.push_back({i < query.size() ? QueryToken::Kind::phrase : QueryToken::Kind::unclosed, phrase});
    } else if (c == ' ') {
      end_word();
    } else if (has(grammar.acting, c) || (word.empty() && has(grammar.acting_first, c))) {
      end_word();
      tokens.push_back({QueryToken::Kind::acting, std::string(1, c)});
    } else {
      word += c;
    }
  }
  end_word();
  return tokens;
}

}  // namespace metafuse::test
