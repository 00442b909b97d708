#include "templates/typed_query.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/deadline.h"
#include "core/query_syntax.h"
#include "core/random.h"
#include "core/text.h"
#include "templates/expander.h"
#include "tests/support/hostile_values.h"
#include "tests/support/query_lexer.h"

using namespace metafuse;
using templates::Condition;
using templates::parse_typed_query;
using templates::TypedQuery;
using ConditionKind = Condition::Kind;

namespace {

/// The kinds and values of the conditions, such as "site=kde.org after=2024-01-01".
std::string conditions_in(const TypedQuery& typed) {
  static const char* const kNames[] = {"phrase",   "any",  "not",      "title",  "not-title", "site",
                                       "not-site", "type", "not-type", "before", "after"};
  std::string out;
  for (const Condition& condition : typed.conditions)
    out += (out.empty() ? "" : "; ") + std::string(kNames[static_cast<int>(condition.kind)]) + '=' +
           condition.value;
  return out;
}

struct Reading {
  std::string_view text, words, conditions;
};

/// The query of one template for a typed text.
std::string typed_expansion(std::string_view query, std::string_view typed, std::string_view syntax,
                            const BaseQuery& beside = {}) {
  templates::Domain domain;
  domain.name = "test";
  domain.slots = {{"A", true, ""}, {"B", false, ""}};
  domain.templates = {{"t", {"e"}, std::string(query)}};
  const auto asked = templates::plain_base_query(domain, typed, beside);
  REQUIRE(asked.has_value());
  const auto queries = templates::expand_asked(
      domain, *asked, [&](std::string_view) -> const QuerySyntax& { return *find_query_syntax(syntax); });
  REQUIRE(queries.has_value());
  return queries->front().text;
}

/// The operators of a query and their places: each run of words and phrases is written as one "w".
std::string shape_of(const std::string& query, const test::QueryGrammar& grammar) {
  std::string out;
  for (const test::QueryToken& token : test::lex_query(query, grammar)) {
    const bool is_words =
        token.kind == test::QueryToken::Kind::word || token.kind == test::QueryToken::Kind::phrase;
    const std::string piece = is_words                                         ? "w"
                              : token.kind == test::QueryToken::Kind::unclosed ? "?"
                                                                               : token.text;
    if (!is_words || !out.ends_with(" w")) out += ' ' + piece;
  }
  return out;
}

/// The value without the characters that would end a quoted part of a typed query.
std::string quotable(std::string_view value) {
  std::string out = templates::normalise_value(value);
  std::erase(out, '"');
  return out;
}

}  // namespace

TEST_CASE("Typed queries are read as people mean them", "[templates][typed]") {
  const Reading kReadings[] = {
      {"text editor", "text editor", ""},
      {"text editor -emacs", "text editor", "not=emacs"},
      {"\"text editor\" small", "text editor small", "phrase=text editor"},
      {"“text editor”", "text editor", "phrase=text editor"},
      {"editor -\"gnu emacs\"", "editor", "not=gnu emacs"},
      {"editor site:KDE.org", "editor", "site=kde.org"},
      {"editor site:https://www.kde.org/apps/", "editor", "site=kde.org/apps"},
      {"editor -site:gnu.org", "editor", "not-site=gnu.org"},
      {"editor site:https://*.kde.org/apps/*", "editor", "site=kde.org/apps"},
      {"editor -site:kde.org?a -site:a@kde.org", "editor", "not=kde.org?a; not=a@kde.org"},
      {"editor site:free-software.org/a-b", "editor", "site=free-software.org/a-b"},
      {"vim OR emacs site:kde.org OR nano", "vim emacs OR nano", "any=vim OR emacs; site=kde.org"},
      {"editor site:my_host.example,", "editor", "site=my_host.example"},
      {"editor site:München.de", "editor", "site=xn--mnchen-3ya.de"},
      {"editor site:MÜNCHEN.de/a", "editor", "site=xn--mnchen-3ya.de/a"},
      {"manual filetype:pdf, kde after:2024.", "manual kde", "type=pdf; after=2024-01-01"},
      // what is excluded is never searched for, even if it is no site or file type
      {"editor -site:münchen.de", "editor", "not-site=xn--mnchen-3ya.de"},
      {"editor -site:my_host.example", "editor", "not-site=my_host.example"},
      {"editor -site:localhost:8080", "editor", "not=localhost:8080"},
      {"manual -filetype:pdf,", "manual", "not-type=pdf"},
      {"manual -filetype:+", "manual", ""},
      {"editor -site: kde", "editor kde", ""},
      {"editor -", "editor", ""},
      {"vim OR emacs", "vim emacs", "any=vim OR emacs"},
      {"small vim OR \"gnu emacs\" OR nano editor", "small vim gnu emacs nano editor",
       "any=vim OR gnu emacs OR nano"},
      {"vim | emacs", "vim emacs", "any=vim OR emacs"},
      {"editor site:kde.org OR site:gnome.org", "editor", "site=kde.org; site=gnome.org"},
      {"manual filetype:PDF", "manual", "type=pdf"},
      {"manual ext:.pdf -filetype:ps", "manual", "type=pdf; not-type=ps"},
      {"intitle:manual kde", "manual kde", "title=manual"},
      {"kde intitle:\"user manual\"", "kde user manual", "title=user manual"},
      {"kde -intitle:draft", "kde", "not-title=draft"},
      {"kde after:2023 before:2024-05", "kde", "after=2023-01-01; before=2024-05-01"},
      {"kde before:2024-02-29", "kde", "before=2024-02-29"},
      // texts without conditions
      {"Portland OR", "Portland OR", ""},
      {"OR gate", "OR gate", ""},
      {"vim or emacs", "vim or emacs", ""},
      {"before:noon", "before:noon", ""},
      {"before:2023-02-29 x", "before:2023-02-29 x", ""},
      {"site: kde", "site: kde", ""},
      {"http://kde.org", "http://kde.org", ""},
      {"well-known C++ --verbose +must", "well-known C++ --verbose must", ""},
      {"5\" disk", "5\" disk", ""},
      {"Ada Lovelace — biography …", "Ada Lovelace biography", ""},
      {"問題 ① ⠓⠊ → ■", "問題 ① ⠓⠊", ""},
      {"日本・東京 ☕ •", "日本・東京 ☕", ""},
      {"a - b", "a b", ""},
  };
  for (const Reading& reading : kReadings) {
    INFO(reading.text);
    const TypedQuery typed = parse_typed_query(reading.text);
    CHECK(typed.words() == reading.words);
    CHECK(conditions_in(typed) == reading.conditions);
  }
}

TEST_CASE("Only days that exist are dates", "[templates][typed]") {
  const auto is_date = [](const std::string& day) {
    return !parse_typed_query("x before:" + day).conditions.empty();
  };
  for (const char* day :
       {"2000-02-29", "2024-02-29", "1000-01-01", "2023-12-31", "2023-04-30", "2023-01", "2023"}) {
    INFO(day);
    CHECK(is_date(day));
  }
  for (const char* day : {"1900-02-29", "2023-02-29", "2024-02-30", "0999-01-01", "2023-13-01", "2023-00-01",
                          "2023-04-31", "2023-01-00", "2023-01-32", "2023-1-1"}) {
    INFO(day);
    CHECK_FALSE(is_date(day));
  }
}

TEST_CASE("Removing a condition leaves the rest as typed", "[templates][typed]") {
  const Reading kTaken[] = {
      {"text editor -emacs", "text editor", ""},
      {"a \"text editor\" site:kde.org", "a text editor site:kde.org", "a \"text editor\""},
      {"vim OR emacs editor", "vim emacs editor", ""},
      {"kde intitle:manual", "kde manual", ""},
      {"search site:a.org OR site:b.org", "search site:b.org", "search site:a.org"},
      {"search OR text filetype:pdf OR filetype:html", "search text filetype:pdf OR filetype:html",
       "search OR text filetype:pdf"},
      {"search\"quick start\"page", "search quick start page", ""},
      {"search \"foo -bar\"", "search foo bar", ""},
      {"\"site:kde.org search\"", "site kde.org search", ""},
      {"\"a OR b\" c", "a or b c", ""},
      {"kde intitle:a OR b", "kde a or b", ""},
      {"kde OR -x gnome", "kde or gnome", ""},
      {"kde -x | gnome", "kde gnome", ""},
  };
  for (const Reading& taken : kTaken) {
    const TypedQuery typed = parse_typed_query(taken.text);
    REQUIRE(!typed.conditions.empty());
    CHECK(typed.text_without(typed.conditions.front()) == taken.words);
    if (!taken.conditions.empty()) CHECK(typed.text_without(typed.conditions.back()) == taken.conditions);
  }
}

TEST_CASE("Removing one of three sites leaves the other two as alternatives", "[templates][typed]") {
  const TypedQuery typed = parse_typed_query("x site:a.org OR site:b.org | site:c.org OR y");
  REQUIRE(typed.conditions.size() == 3);
  CHECK(typed.text_without(typed.conditions[0]) == "x site:b.org | site:c.org OR y");
  CHECK(typed.text_without(typed.conditions[1]) == "x site:a.org | site:c.org OR y");
  CHECK(typed.text_without(typed.conditions[2]) == "x site:a.org OR site:b.org OR y");
}

TEST_CASE("A query of a megabyte is read in time proportional to its length", "[templates][typed]") {
  // each takes seconds if a word looks further than its end
  for (const std::string part : {"a ", "a:b ", "\"a b\" ", "a OR ", "site:a "}) {
    std::string text;
    while (text.size() < 1'000'000) text += part;
    INFO(part);
    const TimePoint begin = machine_clock().now();
    CHECK(!parse_typed_query(text).text.empty());
    CHECK(machine_clock().now() - begin < std::chrono::seconds(2));
  }
}

TEST_CASE("Each syntax gets the conditions that it supports after the query", "[templates][typed]") {
  struct Said {
    std::string_view syntax, query;
  };
  // taken from the engines' manuals, which are listed in tests/support/query_lexer.h
  const Said kSaid[] = {
      {"web", "text editor -emacs intitle:kde site:kde.org OR site:gnu.org"},
      {"plain", "text editor"},
      {"google", "text editor -emacs intitle:kde before:2024-01-01 (site:kde.org OR site:gnu.org)"},
      {"lucene", "text editor -emacs"},
      {"elasticsearch", "(text editor) + -emacs"},
      {"solr", "text editor -emacs"},
      {"fts5", "(text editor) NOT emacs"},
      {"xapian", "text editor -emacs"},
      {"groonga", "text editor - emacs"},
      {"sphinx", "text editor -emacs"},
      {"postgresql", "text editor -emacs"},
      {"mysql", "text editor -emacs"},
      {"mediawiki", "text editor -emacs intitle:kde"},
  };
  CHECK(std::size(kSaid) == query_syntaxes().size());
  for (const Said& said : kSaid) {
    INFO(said.syntax);
    // the word of intitle: is also a word of the query
    std::string expected(said.query);
    expected.replace(expected.find("text editor"), 11, "text editor kde");
    CHECK(typed_expansion("{A}", "text editor -emacs intitle:kde before:2024 site:kde.org site:gnu.org",
                          said.syntax) == expected);
  }
}

TEST_CASE("Filters get the plain words and a split phrase is added after the query", "[templates][typed]") {
  CHECK(typed_expansion("{A}", "\"text editor\" small", "web") == "\"text editor\" small");
  CHECK(typed_expansion("{A|words}", "\"text editor\" small", "web") == "text editor small +\"text editor\"");
  CHECK(typed_expansion("{A|all}", "\"text editor\" small", "web") == "+\"text editor\" +small");
  CHECK(typed_expansion("{A|first}", "\"text editor\" small", "fts5") == "(text) AND \"text editor\"");
  CHECK(typed_expansion("{A|words}", "\"text editor\"", "plain") == "text editor");
  CHECK(typed_expansion("{A|initials}", "text editor -emacs", "web") == "te -emacs");
}

TEST_CASE("A phrase is required where a filter makes it one of several alternatives", "[templates][typed]") {
  const auto any = [](std::string_view syntax) {
    return typed_expansion("{A|any}", "\"text editor\" small", syntax);
  };
  CHECK(any("fts5") == "((\"text editor\" OR small)) AND \"text editor\"");
  CHECK(any("web") == "\"text editor\" OR small +\"text editor\"");
  CHECK(any("lucene") == "(\"text editor\" OR small) +\"text editor\"");
  CHECK(typed_expansion("{A}", "\"text editor\" small", "mysql") == "\"text editor\" small +\"text editor\"");
  CHECK(typed_expansion("{A|all}", "\"text editor\" small", "mysql") == "+\"text editor\" +small");
  CHECK(typed_expansion("{A|any}", "\"text editor\"", "fts5") == "\"text editor\"");
  CHECK(typed_expansion("{A|any}", "\"text editor\"", "mysql") == "\"text editor\"");
}

TEST_CASE("Alternatives are kept if the syntax supports them among other words", "[templates][typed]") {
  CHECK(typed_expansion("{A}", "vim OR emacs manual", "web") == "vim OR emacs manual");
  CHECK(typed_expansion("{A}", "vim OR emacs manual", "google") == "(vim OR emacs) manual");
  CHECK(typed_expansion("{A|all}", "vim OR emacs manual", "lucene") == "+(vim OR emacs) +manual");
  CHECK(typed_expansion("{A|all}", "vim OR emacs manual", "fts5") == "((vim OR emacs) AND manual)");
  // a group beside a word is an error in FTS5, and PostgreSQL would read it as (vim) or (emacs manual)
  CHECK(typed_expansion("NEAR({A}, 3)", "vim OR emacs", "fts5") == "NEAR(vim emacs, 3)");
  CHECK(typed_expansion("{A}", "vim OR emacs manual", "postgresql") == "vim emacs manual");
  CHECK(typed_expansion("{A}", "vim OR emacs", "postgresql") == "vim or emacs");
  CHECK(typed_expansion("{A|any}", "vim OR emacs manual", "web") == "vim OR emacs OR manual");
}

TEST_CASE("A slot given by name is never read as conditions", "[templates][typed]") {
  CHECK(typed_expansion("{A} {B|words}", "text -emacs", "web", {{{"B", "-gnu site:kde.org"}}}) ==
        "text gnu site kde.org -emacs");
}

TEST_CASE("A query of only conditions or too many gives an error that says what to do",
          "[templates][typed]") {
  templates::Domain domain;
  domain.slots = {{"A", true, ""}};
  CHECK(templates::plain_base_query(domain, "site:kde.org").error().text.find("conditions only") !=
        std::string::npos);
  std::string many = "x";
  for (int i = 0; i <= 32; ++i) many += " -y" + std::to_string(i);
  CHECK(templates::plain_base_query(domain, many).error().code == Code::usage);
  const std::string longest(templates::kMaxTypedBytes, 'a');
  CHECK(templates::plain_base_query(domain, longest).has_value());
  CHECK(templates::plain_base_query(domain, longest + "a").error().text ==
        "the query is longer than 4096 bytes; shorten it");
  CHECK(templates::plain_base_query(domain, "—").error().text.find("no letter or digit") !=
        std::string::npos);
}

TEST_CASE("No hostile value inside a typed query changes its shape in any syntax",
          "[templates][typed][hostile]") {
  const auto typed_with = [](const std::string& value) {
    return "joe \"p " + value + "\" OR \"q " + value + "\" -\"n " + value + "\" intitle:\"t " + value +
           "\" site:kde.org";
  };
  std::vector<std::string> values(test::kHostileValues.begin(), test::kHostileValues.end());
  Random random(23);
  constexpr std::string_view kAlphabet = "ab '()[]{}<>+-*/\\|&!?:;,.^~=@#$%_\n\t";
  for (int round = 0; round < 100; ++round) {
    std::string value;
    for (std::uint64_t i = random.below(24); i > 0; --i) value += kAlphabet[random.below(kAlphabet.size())];
    values.push_back(value + " OR b NOT c");
  }
  for (const test::QueryGrammar& grammar : test::query_grammars())
    for (const std::string_view query : {"{A}", "{A|all}", "{A|words|lower} [{B}]"}) {
      const std::string wanted =
          shape_of(typed_expansion(query, typed_with("one"), grammar.syntax, {{{"B", "one"}}}), grammar);
      for (const std::string& value : values) {
        const std::string typed = typed_with(quotable(value));
        const std::string text = typed_expansion(query, typed, grammar.syntax, {{{"B", "b " + value}}});
        INFO(grammar.syntax << " | " << typed << " | " << text);
        CHECK(shape_of(text, grammar) == wanted);
      }
    }
}

TEST_CASE("Any typed text is read without losing letters", "[templates][typed][hostile]") {
  constexpr std::string_view kParts[] = {"\"",       " OR ",      " | ", "-",  "site:",    "kde.org",
                                         " before:", "2024",      " a",  " b", "intitle:", " ",
                                         ":",        "filetype:", "pdf", "+",  "“",        "é"};
  Random random(29);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::uint64_t i = random.below(14); i > 0; --i) text += kParts[random.below(std::size(kParts))];
    INFO(text);
    TypedQuery typed = parse_typed_query(text);
    std::size_t last = 0;
    for (const Condition& condition : typed.conditions) {
      CHECK(condition.begin >= last);
      CHECK(condition.begin < condition.end);
      REQUIRE(condition.end <= typed.text.size());
      last = condition.end;
    }
    // removing one condition leaves the others as they are, but for the case of a word "OR"
    for (const Condition& condition : typed.conditions) {
      TypedQuery others = typed;
      std::erase(others.conditions, condition);
      const std::string left = typed.text_without(condition);
      INFO(left);
      CHECK(ascii_lower(conditions_in(parse_typed_query(left))) == ascii_lower(conditions_in(others)));
    }
    // removing all conditions, the last one first, leaves only words
    for (int i = 0; !typed.conditions.empty(); ++i) {
      REQUIRE(i < 64);
      typed = parse_typed_query(typed.text_without(typed.conditions.back()));
    }
    CHECK(!typed.terms.empty() == templates::has_letter(typed.words()));
  }
}

TEST_CASE("Only words beside OR are alternatives", "[templates][typed]") {
  // a syntax that reads a term as two words keeps them together as an alternative, and apart elsewhere
  CHECK(typed_expansion("{A}", "gnu vi(m OR emacs", "google") == "gnu (\"vi m\" OR emacs)");
  CHECK(typed_expansion("{A}", "gnu vim OR e(macs", "google") == "gnu (vim OR \"e macs\")");
  CHECK(typed_expansion("{A}", "vi(m gnu", "google") == "vi m gnu");
  CHECK(typed_expansion("{A}", "gnu vi(m", "google") == "gnu vi m");
  // a sign for "must" stands before alternatives only where every word has one
  CHECK(typed_expansion("{A}", "cat OR dog food", "lucene") == "(cat OR dog) food");
  CHECK(typed_expansion("{A|all}", "cat OR dog food", "lucene") == "+(cat OR dog) +food");
  CHECK(typed_expansion("{A|all}", "a OR b c OR d", "fts5") == "((a OR b) AND (c OR d))");
  CHECK(typed_expansion("{A|all}", "vi\"text editor\" x", "fts5") == "(vi AND \"text editor\" AND x)");
}
