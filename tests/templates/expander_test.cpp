#include "templates/expander.h"

#include <catch2/catch.hpp>

#include "templates/template_file.h"

using namespace metafuse;
using namespace metafuse::templates;

namespace {

Domain domain_of(std::string query) {
  Domain domain;
  domain.name = "test";
  domain.slots = {{"NAME", true, ""}, {"PLACE", false, ""}};
  domain.templates = {{"t", {"e"}, std::move(query)}};
  return domain;
}

std::string expanded(std::string query, std::string name, std::string place = "",
                     std::string_view syntax = "web") {
  const auto syntax_of = [&](std::string_view) -> const QuerySyntax& { return *find_query_syntax(syntax); };
  const BaseQuery base_query{{{"NAME", std::move(name)}, {"PLACE", std::move(place)}}};
  const auto queries = expand(domain_of(std::move(query)), base_query, syntax_of);
  REQUIRE(queries.has_value());
  REQUIRE(queries->size() == 1);
  return queries->front().text;
}

}  // namespace

TEST_CASE("The paper's template expands as the paper says", "[templates][expander]") {
  CHECK(expanded("+\"{NAME}\" +machine +learning", "Joe Researcher") ==
        "+\"Joe Researcher\" +machine +learning");
  CHECK(expanded("\"{NAME}\" {PLACE}", "Learning University", "Springfield") ==
        "\"Learning University\" Springfield");
}

TEST_CASE("Filters write values as documented", "[templates][expander]") {
  const std::string name = "Joe  Q. Researcher";
  CHECK(expanded("{NAME}", name) == "Joe Q. Researcher");
  CHECK(expanded("{NAME|words}", name) == "Joe Q Researcher");
  CHECK(expanded("{NAME|all}", "a b") == "+a +b");
  CHECK(expanded("{NAME|any}", "a b") == "a OR b");
  CHECK(expanded("{NAME|phrase}", "a b") == "\"a b\"");
  CHECK(expanded("{NAME|first}", name) == "Joe");
  CHECK(expanded("{NAME|last}", name) == "Researcher");
  CHECK(expanded("{NAME|initials}", name) == "JQR");
  CHECK(expanded("{NAME|initials}", "'Joe' .Net #Researcher") == "JNR");
  CHECK(expanded("{NAME|lower}", name) == "joe q. researcher");
}

TEST_CASE("A slot without words has neither a first nor a last one", "[templates][expander]") {
  CHECK(expanded("{NAME} {PLACE|first}", "a", "") == "a");
  CHECK(expanded("{NAME} {PLACE|last}", "a", "") == "a");
  CHECK(expanded("{NAME} {PLACE|last|phrase}", "a", "?") == "a");
}

TEST_CASE("A list is called by its template's label, and by its engine where there are several",
          "[templates][expander]") {
  Domain domain = domain_of("{NAME}");
  domain.templates = {
      {"plain", {"e", "f"}, "{NAME}"}, {"one", {"e"}, "{NAME}"}, {"two", {"e", "f"}, "{NAME}"}};
  domain.templates[1].label = "Words";
  domain.templates[2].label = "Phrases";
  CHECK(list_label(domain, "plain", "e").empty());
  CHECK(list_label(domain, "one", "e") == "Words");
  CHECK(list_label(domain, "two", "f") == "Phrases (f)");
  CHECK(list_label(domain, "none", "e").empty());
}

TEST_CASE("The filter short keeps two to four words and nothing else", "[templates][expander]") {
  CHECK(expanded("{NAME|short} x", "a") == "x");
  CHECK(expanded("{NAME|short} x", "a b") == "a b x");
  CHECK(expanded("{NAME|short} x", "a b c d") == "a b c d x");
  CHECK(expanded("{NAME|short} x", "a b c d e") == "x");
  CHECK(expanded("[\"{NAME|short}\"] x", "a b c d e") == "x");
}

TEST_CASE("Filters chain from left to right", "[templates][expander]") {
  CHECK(expanded("{NAME|last|lower}", "Joe Researcher") == "researcher");
  CHECK(expanded("{NAME|lower|initials}", "Joe Researcher") == "jr");
  CHECK(expanded("{NAME|words|all|lower}", "Joe, Researcher") == "+joe +researcher");
  CHECK(expanded("{NAME|phrase|all}", "Joe Researcher") == "+\"Joe Researcher\"");
  CHECK(expanded("{NAME|phrase|lower}", "Joe Researcher") == "\"joe researcher\"");
  CHECK(expanded("{NAME|any|last}", "Joe Researcher") == "Researcher");
}

TEST_CASE("Filters use the engine's own syntax", "[templates][expander]") {
  CHECK(expanded("{NAME|all}", "a b", "", "fts5") == "(a AND b)");
  CHECK(expanded("{NAME|any}", "a b", "", "fts5") == "(a OR b)");
  CHECK(expanded("{NAME|any}", "a", "", "fts5") == "a");
  CHECK(expanded("{NAME}", "web-based OR", "", "fts5") == "\"web-based\" \"OR\"");
  CHECK(expanded("{NAME}", "azAZ09_ 9 \xc3\xa9", "", "fts5") == "azAZ09_ 9 \xc3\xa9");
  CHECK(expanded("{NAME|all}", "a b", "", "google") == "\"a\" \"b\"");
  CHECK(expanded("{NAME|all}", "a b", "", "plain") == "a b");
  CHECK(expanded("{NAME|phrase}", "a b", "", "plain") == "a b");
  CHECK(expanded("{NAME|any}", "a b", "", "elasticsearch") == "(a | b)");
  CHECK(expanded("{NAME}", "c++ (a:b)", "", "lucene") == "c\\+\\+ \\(a\\:b\\)");
  CHECK(expanded("{NAME|any}", "a or b", "", "postgresql") == "a or \"or\" or b");
}

TEST_CASE("Names of programming languages survive", "[templates][expander]") {
  CHECK(expanded("{NAME}", "C++ C# .NET node.js AT&T O'Brien e-mail") ==
        "C++ C# .NET node.js AT&T O'Brien e-mail");
  CHECK(expanded("{NAME|words}", "C++, C#; (.NET)") == "C++ C# .NET");
}

TEST_CASE("Look-alikes of operators and invisible characters do not reach an engine",
          "[templates][expander]") {
  CHECK(expanded("{NAME}", "joe \u201Csecret\u201D \u00ABx\u00BB \uFF02y\uFF02") == "joe secret x y");
  CHECK(expanded("\"{NAME}\"", "joe\u201D \u201Csecret") == "\"joe secret\"");
  CHECK(expanded("{NAME}", "\uFF0Djoe \uFF0Bsecret \u2212x (y\uFF09") == "joe secret x y");
  CHECK(expanded("{NAME|all}", "a\u3000b\u00A0c\u2028d") == "+a +b +c +d");
  CHECK(expanded("{NAME}", "j\u200Bo\u202Ee\uFEFF") == "joe");
  for (const char* invisible :
       {"\u00AD", "\u200B", "\u200E", "\u200F", "\u202A", "\u2060", "\u206F", "\uFFF9"})
    CHECK(expanded("{NAME}", std::string("jo") + invisible + "e") == "joe");
  for (const char* blank :
       {"\u007F", "\u1680", "\u2000", "\u200A", "\u2029", "\u202F", "\u205F", "\uFFFC", "\uFFFD"})
    CHECK(expanded("{NAME|all}", std::string("jo") + blank + "e") == "+jo +e");
  CHECK(expanded("{NAME}", "joe\xFF\xFE secret\xC0") == "joe secret");
  CHECK(expanded("{NAME}", "\u0645\u06CC\u200C\u0631") ==
        "\u0645\u06CC\u200C\u0631");  // a joiner inside a word
}

TEST_CASE("A group is dropped when a slot inside it is empty", "[templates][expander]") {
  CHECK(expanded("\"{NAME}\" [near {PLACE}] x", "a", "b") == "\"a\" near b x");
  CHECK(expanded("\"{NAME}\" [near {PLACE}] x", "a", "") == "\"a\" x");
  CHECK(expanded("\"{NAME}\" [near {PLACE}] x", "a", " \t") == "\"a\" x");
  CHECK(expanded("\"{NAME}\" [near {PLACE}] x", "a", "\"\"") == "\"a\" x");
  CHECK(expanded("\"{NAME}[ in {PLACE}]\"", "a", "") == "\"a\"");
  CHECK(expanded("\"{NAME}[ in {PLACE}]\"", "a", "b c") == "\"a in b c\"");
  CHECK(expanded("[{NAME} [{PLACE}] x]", "a", "") == "a x");
}

TEST_CASE("White space is trimmed at the ends and merged in between", "[templates][expander]") {
  CHECK(expanded("  {NAME}  \t\n x  {PLACE} ", "a") == "a x");
  CHECK(expanded("{NAME}", " a\t\nb\r\n ") == "a b");
}

TEST_CASE("Capitals of many scripts become lower case in every locale", "[templates][expander]") {
  CHECK(expanded("{NAME|lower}", "ÀÉÎ ŁŽŸ ΑΩΆ ЖЁ Ḁ Ա İß") == "àéî łžÿ αωά жё ḁ ա İß");
  CHECK(expanded("{NAME|initials}", "Łukasz Żółć") == "ŁŻ");
}

TEST_CASE("A template with several engines is one feature per engine", "[templates][expander]") {
  Domain domain = domain_of("{NAME|all}");
  domain.templates[0].engines = {"web", "local"};
  const auto syntax_of = [](std::string_view engine) -> const QuerySyntax& {
    return *find_query_syntax(engine == "local" ? "fts5" : "web");
  };
  const auto queries = expand(domain, {{{"NAME", "a b"}}}, syntax_of);
  REQUIRE(queries.has_value());
  REQUIRE(queries->size() == 2);
  CHECK((*queries)[0] == ExpandedQuery{"t", "web", "+a +b"});
  CHECK((*queries)[1] == ExpandedQuery{"t", "local", "(a AND b)"});
  CHECK((*queries)[1].feature_name() == "t@local");
}

TEST_CASE("A bad base query is refused with the name of its slot", "[templates][expander]") {
  const Domain domain = domain_of("{NAME}");
  const auto error_of = [&](const BaseQuery& query) {
    const auto queries = expand(domain, query);
    REQUIRE(queries.has_error());
    CHECK(queries.error().code == Code::usage);
    return queries.error().text;
  };
  CHECK(error_of({}).find("requires the slot NAME") != std::string::npos);
  CHECK(error_of({{{"NAME", "  "}}}).find("slot NAME has no letter") != std::string::npos);
  CHECK(error_of({{{"NAME", "\"*\" -"}}}).find("slot NAME has no letter") != std::string::npos);
  CHECK(error_of({{{"NAME", "a"}, {"NMAE", "b"}}}).find("no slot \"NMAE\"; its slots are NAME, PLACE") !=
        std::string::npos);
  CHECK(error_of({{{"NAME", std::string(4097, 'a')}}}).find("longer than 4096 bytes") != std::string::npos);
  CHECK(error_of({{{"NAME", "a"}, {"PLACE", std::string(4097, 'a')}}}).find("slot PLACE is longer") !=
        std::string::npos);
  CHECK(expand(domain, {{{"NAME", std::string(4096, 'a')}, {"PLACE", std::string(4096, 'b')}}}).has_value());
}

TEST_CASE("A plain query fills QUERY or the first required slot", "[templates][expander]") {
  Domain domain = domain_of("{NAME}");
  CHECK(plain_base_query(domain, "a b")->base.slots.at("NAME") == "a b");
  domain.slots.push_back({"SECOND", true, ""});
  CHECK(plain_base_query(domain, "a b")->base.slots == std::map<std::string, std::string>{{"NAME", "a b"}});
  domain.slots.push_back({"QUERY", false, ""});
  CHECK(plain_base_query(domain, "a b")->base.slots.at("QUERY") == "a b");
  domain.slots = {{"PLACE", false, ""}};
  CHECK(plain_base_query(domain, "a").error().text.find("neither a slot QUERY nor a required one") !=
        std::string::npos);
  CHECK(plain_base_query(domain_of("{NAME}"), " - ").error().code == Code::usage);
}

TEST_CASE("A plain query may have thirty-two conditions", "[templates][expander]") {
  std::string query = "words";
  for (std::size_t i = 0; i < templates::kMostConditions; ++i) query += " -x" + std::to_string(i);
  CHECK(plain_base_query(domain_of("{NAME}"), query).has_value());
  const auto refused = plain_base_query(domain_of("{NAME}"), query + " -y");
  REQUIRE(refused.has_error());
  CHECK(refused.error().text.find("more than 32 conditions") != std::string::npos);
}

TEST_CASE("A plain query can be combined with named slots", "[templates][expander]") {
  const Domain domain = domain_of("{NAME}");
  const auto both = plain_base_query(domain, "a b", {{{"PLACE", "c"}}});
  REQUIRE(both.has_value());
  CHECK(both->base.slots == std::map<std::string, std::string>{{"NAME", "a b"}, {"PLACE", "c"}});
  CHECK(plain_base_query(domain, "a b", {{{"NAME", "c"}}}).error().text ==
        "the query fills the slot NAME, which has another value; give one of them");
  const auto same = plain_base_query(domain, "a -b", {{{"NAME", "a -b"}}});
  REQUIRE(same.has_value());
  CHECK(same->base == plain_base_query(domain, "a -b")->base);
}

TEST_CASE("The shipped domains have as many templates as in the paper and no warnings",
          "[templates][expander]") {
  const std::string folder = METAFUSE_SOURCE_DIR "/config/templates/";
  const auto ml = read_domain_file(folder + "ml-homepages.yaml");
  const auto university = read_domain_file(folder + "university-homepages.yaml");
  const auto software = read_domain_file(folder + "free-software.yaml");
  REQUIRE(ml.has_value());
  REQUIRE(university.has_value());
  REQUIRE(software.has_value());
  CHECK(ml->domain.templates.size() == 16);
  CHECK(university->domain.templates.size() == 22);
  CHECK(software->domain.templates.size() >= 16);
  CHECK(ml->warnings.empty());
  CHECK(university->warnings.empty());
  CHECK(software->warnings.empty());
  const auto queries = expand_asked(ml->domain, *plain_base_query(ml->domain, "Joe Researcher"));
  REQUIRE(queries.has_value());
  CHECK(queries->at(3) == ExpandedQuery{"name-must-ml", "web", "+\"Joe Researcher\" +machine +learning"});
}

TEST_CASE("An expanded query has at most the bytes that its engine takes", "[templates][expander]") {
  const auto fits = [](std::size_t bytes) {
    const auto syntax_of = [](std::string_view) -> const QuerySyntax& { return *find_query_syntax("web"); };
    return expand(domain_of("{NAME} xy"), BaseQuery{{{"NAME", "abcd"}}}, syntax_of, {64, bytes}).has_value();
  };
  CHECK(fits(7));
  CHECK_FALSE(fits(6));
  CHECK(expanded("{NAME|all}", "\u0100b c", "", "fts5") == "(\u0100b AND c)");  // a byte of \u0100 is 0x80
}
