#include "core/query_syntax.h"

#include <algorithm>
#include <array>

namespace metafuse {
namespace {

constexpr std::string_view kLuceneSpecial = "+-!(){}[]^\"~*?:\\/&|=";
using Guard = QuerySyntax::OperatorGuard;

constexpr std::array kSyntaxes = {
    QuerySyntax{.name = "web",
                .meaning = "web search engines with +must -not \"phrase\" OR; the default",
                .stripped = "\"()|*<>[]{}^\\~:",
                .stripped_at_start = "+-!&=?/",
                .stripped_at_end = "!&?-",
                .strips_ranges = true,
                .operators = "AND OR NOT XOR NEAR ADJ AROUND",
                .site_field = "site:",
                .file_type_field = "filetype:",
                .title_field = "intitle:"},
    QuerySyntax{.name = "plain",
                .meaning = "engines that understand only words",
                .stripped = "\"",
                .all_open = "",
                .any_between = " ",
                .phrase_quote = "",
                .without = ""},
    QuerySyntax{.name = "google",
                .meaning = "Google, Brave, Startpage: a required word is quoted",
                .stripped = "\"()|*<>[]{}^\\~:",
                .stripped_at_start = "+-!&=?/",
                .stripped_at_end = "!&?-",
                .strips_ranges = true,
                .operators = "AND OR NOT AROUND",
                .all_open = "\"",
                .all_close = "\"",
                .has_groups = true,
                .site_field = "site:",
                .file_type_field = "filetype:",
                .title_field = "intitle:",
                .before_field = "before:",
                .after_field = "after:"},
    QuerySyntax{.name = "lucene",
                .meaning = "Lucene's classic parser: Elasticsearch and OpenSearch query_string",
                .stripped = "<>",
                .escaped = kLuceneSpecial,
                .operators = "AND OR NOT TO",
                .operator_guard = Guard::quote,
                .has_groups = true},
    QuerySyntax{.name = "elasticsearch",
                .meaning = "Elasticsearch and OpenSearch simple_query_string",
                .escaped = "+|-\"*()~\\",
                .all_open = "",
                .all_between = " + ",
                .any_between = " | ",
                .has_groups = true,
                .without = " + -"},
    QuerySyntax{.name = "solr",
                .meaning = "Solr's standard, dismax and edismax parsers",
                .stripped = "<>",
                .escaped = "+-!(){}[]^\"~*?:\\/&|=;$",
                .operators = "AND OR NOT TO",
                .operator_guard = Guard::quote,
                .operators_in_any_case = true,
                .has_groups = true},
    QuerySyntax{.name = "fts5",
                .meaning = "SQLite FTS5, including the embedded local engine",
                .stripped = "\"",
                .operators = "AND OR NOT NEAR",
                .operator_guard = Guard::quote,
                .quotes_odd_words = true,
                .all_open = "",
                .all_between = " AND ",
                .has_groups = true,
                .groups_need_operators = true,
                .without = " NOT "},
    QuerySyntax{.name = "xapian",
                .meaning = "Xapian: Omega, Recoll, notmuch",
                .stripped = "\"()*?~:<>[]{}^\\/@",
                .stripped_at_start = "+-",
                .strips_ranges = true,
                .operators = "AND OR NOT XOR NEAR ADJ SYN",
                .operator_guard = Guard::quote,
                .operators_in_any_case = true,
                .has_groups = true},
    QuerySyntax{.name = "groonga",
                .meaning = "Groonga, Mroonga, PGroonga",
                .stripped = "\"",
                .escaped = "+-><~*()\\:!=@^$&|{}[]",
                .operators = "AND OR NOT",
                .operator_guard = Guard::quote,
                .has_groups = true,
                .without = " - "},
    QuerySyntax{.name = "sphinx",
                .meaning = "Sphinx and Manticore, extended syntax",
                .stripped = "<>",
                .escaped = "!\"$'()-/@\\^|~=*?:+&",
                .operators = "MAYBE NEAR NOTNEAR SENTENCE PARAGRAPH ZONE ZONESPAN REGEX",
                .operator_guard = Guard::quote,
                .all_open = "",
                .any_between = " | ",
                .has_groups = true},
    QuerySyntax{.name = "postgresql",
                .meaning = "PostgreSQL's websearch_to_tsquery",
                .stripped = "\"!&|():*<>\\'",
                .stripped_at_start = "+-.,;#$%=?@[]^_`{}~/",
                .operators = "OR",
                .operator_guard = Guard::quote,
                .operators_in_any_case = true,
                .all_open = "",
                .any_between = " or ",
                .or_binds_loosest = true},
    QuerySyntax{.name = "mysql",
                .meaning = "MySQL and MariaDB full text, boolean mode",
                .stripped = "+-><()~*\"@\\",
                .any_between = " ",
                .has_groups = true},
    QuerySyntax{.name = "mediawiki",
                .meaning = "MediaWiki with CirrusSearch",
                .stripped = "\"*~\\?<>[]{}|:/()",
                .stripped_at_start = "-!+",
                .operators = "AND OR NOT",
                .all_open = "",
                .title_field = "intitle:"},
};

std::string_view next_word(std::string_view& words) {
  const std::size_t end = std::min(words.find(' '), words.size());
  const std::string_view word = words.substr(0, end);
  words.remove_prefix(std::min(end + 1, words.size()));
  return word;
}

char to_capital(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

}  // namespace

std::span<const QuerySyntax> query_syntaxes() {
  return kSyntaxes;
}

const QuerySyntax& default_query_syntax() {
  return kSyntaxes.front();
}

const QuerySyntax* find_query_syntax(std::string_view name) {
  for (const QuerySyntax& syntax : kSyntaxes)
    if (syntax.name == name) return &syntax;
  return nullptr;
}

bool is_operator_word(const QuerySyntax& syntax, std::string_view word) {
  const auto same = [&](char a, char b) { return a == (syntax.operators_in_any_case ? to_capital(b) : b); };
  for (std::string_view rest = syntax.operators; !rest.empty();) {
    const std::string_view candidate = next_word(rest);
    if (std::equal(candidate.begin(), candidate.end(), word.begin(), word.end(), same)) return true;
  }
  return false;
}

}  // namespace metafuse
