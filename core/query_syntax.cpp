#include "core/query_syntax.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace metafuse {
namespace {

using Guard = QueryOperators::Guard;

constexpr std::array kSyntaxes = {
    QuerySyntax{.name = "web",
                .meaning = "web search engines with +must -not \"phrase\" OR; the default",
                .cleaning = {.stripped = "\"()|*<>[]{}^\\~:",
                             .stripped_at_start = "+-!&=?/",
                             .stripped_at_end = "!&?-",
                             .strips_ranges = true},
                .operators = {.words = "AND OR NOT XOR NEAR ADJ AROUND"},
                .fields = {.site = "site:", .file_type = "filetype:", .title = "intitle:"}},
    QuerySyntax{.name = "plain",
                .meaning = "engines that understand only words",
                .cleaning = {.stripped = "\""},
                .joins = {.all_open = "", .any_between = " ", .phrase_quote = ""},
                .fields = {.without = ""}},
    QuerySyntax{.name = "google",
                .meaning = "Google, Brave, Startpage: a required word is quoted",
                .cleaning = {.stripped = "\"()|*<>[]{}^\\~:",
                             .stripped_at_start = "+-!&=?/",
                             .stripped_at_end = "!&?-",
                             .strips_ranges = true},
                .operators = {.words = "AND OR NOT AROUND"},
                .joins = {.all_open = "\"", .all_close = "\"", .has_groups = true},
                .fields = {.site = "site:",
                           .file_type = "filetype:",
                           .title = "intitle:",
                           .before = "before:",
                           .after = "after:"}},
    QuerySyntax{.name = "lucene",
                .meaning = "Lucene's classic parser: Elasticsearch and OpenSearch query_string",
                .cleaning = {.stripped = "<>", .escaped = "+-!(){}[]^\"~*?:\\/&|="},
                .operators = {.words = "AND OR NOT TO", .guard = Guard::quote},
                .joins = {.has_groups = true}},
    QuerySyntax{.name = "elasticsearch",
                .meaning = "Elasticsearch and OpenSearch simple_query_string",
                .cleaning = {.escaped = "+|-\"*()~\\:"},  // the other query types read field:value
                .joins = {.all_open = "", .all_between = " + ", .any_between = " | ", .has_groups = true},
                .fields = {.without = " + -"}},
    QuerySyntax{.name = "solr",
                .meaning = "Solr's standard, dismax and edismax parsers",
                .cleaning = {.stripped = "<>", .escaped = "+-!(){}[]^\"~*?:\\/&|=;$"},
                .operators = {.words = "AND OR NOT TO", .guard = Guard::quote, .are_in_any_case = true},
                .joins = {.has_groups = true}},
    QuerySyntax{
        .name = "fts5",
        .meaning = "SQLite FTS5, including the embedded local engine",
        .cleaning = {.stripped = "\"", .quotes_odd_words = true},
        .operators = {.words = "AND OR NOT NEAR", .guard = Guard::quote},
        .joins = {.all_open = "", .all_between = " AND ", .has_groups = true, .groups_need_operators = true},
        .fields = {.without = " NOT "}},
    QuerySyntax{
        .name = "xapian",
        .meaning = "Xapian: Omega, Recoll, notmuch",
        .cleaning = {.stripped = "\"()*?~:<>[]{}^\\/@", .stripped_at_start = "+-", .strips_ranges = true},
        .operators = {.words = "AND OR NOT XOR NEAR ADJ SYN", .guard = Guard::quote, .are_in_any_case = true},
        .joins = {.has_groups = true}},
    QuerySyntax{.name = "groonga",
                .meaning = "Groonga, Mroonga, PGroonga",
                .cleaning = {.stripped = "\"", .escaped = "+-><~*()\\:!=@^$&|{}[]"},
                .operators = {.words = "AND OR NOT", .guard = Guard::quote},
                .joins = {.has_groups = true},
                .fields = {.without = " - "}},
    QuerySyntax{.name = "sphinx",
                .meaning = "Sphinx and Manticore, extended syntax",
                .cleaning = {.stripped = "<>", .escaped = "!\"$'()-/@\\^|~=*?:+&"},
                .operators = {.words = "MAYBE NEAR NOTNEAR SENTENCE PARAGRAPH ZONE ZONESPAN REGEX",
                              .guard = Guard::quote},
                .joins = {.all_open = "", .any_between = " | ", .has_groups = true}},
    QuerySyntax{.name = "postgresql",
                .meaning = "PostgreSQL's websearch_to_tsquery",
                .cleaning = {.stripped = "\"!&|():*<>\\'", .stripped_at_start = "+-.,;#$%=?@[]^_`{}~/"},
                .operators = {.words = "OR", .guard = Guard::quote, .are_in_any_case = true},
                .joins = {.all_open = "", .any_between = " or ", .or_binds_loosest = true}},
    QuerySyntax{.name = "mysql",
                .meaning = "MySQL and MariaDB full text, boolean mode",
                .cleaning = {.stripped = "+-><()~*\"@\\"},
                .joins = {.any_between = " ", .has_groups = true}},
    QuerySyntax{.name = "mediawiki",
                .meaning = "MediaWiki with CirrusSearch",
                .cleaning = {.stripped = "\"*~\\?<>[]{}|:/()", .stripped_at_start = "-!+"},
                .operators = {.words = "AND OR NOT"},
                .joins = {.all_open = ""},
                .fields = {.title = "intitle:"}},
};

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
  const auto same = [&](char a, char b) {
    return a == (syntax.operators.are_in_any_case ? ascii_upper(b) : b);
  };
  for (std::string_view rest = syntax.operators.words; !rest.empty();) {
    const std::string_view candidate = take_until(rest, ' ');
    if (std::equal(candidate.begin(), candidate.end(), word.begin(), word.end(), same)) return true;
  }
  return false;
}

}  // namespace metafuse
