#include "templates/template_file.h"

#include <algorithm>
#include <ctime>
#include <sstream>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "core/text_file.h"
#include "core/yaml_reader.h"
#include "templates/expander.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::templates;

namespace {

constexpr std::string_view kHead = "version: 1\ndomain: d\nslots: {NAME: {required: true}, PLACE: }\n";

std::vector<std::string> errors_of(std::string_view text) {
  const auto file = parse_domain_file(text, "f");
  INFO(text);
  REQUIRE(file.has_error());
  CHECK(file.error().code == Code::bad_config);
  std::istringstream lines(file.error().text);
  std::vector<std::string> errors;
  for (std::string line; std::getline(lines, line);) errors.push_back(line);
  return errors;
}

/// The only error of a file.
std::string error_of(const std::string& text) {
  const auto errors = errors_of(text);
  REQUIRE(errors.size() == 1);
  return errors[0];
}

bool begins(const std::string& text, std::string_view with) {
  INFO(text << "\nshould begin with\n" << with);
  CHECK(text.rfind(with, 0) == 0);
  return true;
}

/// A file with one template and the given query text; the template begins in line 4.
std::string with_query(std::string_view query) {
  return std::string(kHead) + "templates: [{id: a, engine: e,\n query: " + std::string(query) + "}]\n";
}

}  // namespace

TEST_CASE("A file of search templates is read completely", "[templates][file]") {
  const auto file = parse_domain_file(
      "version: 1\r\ndomain: ml-2\r\ndescription: Some pages\r\ndepth: 20\r\n"
      "slots:\r\n  NAME: {required: true, description: \"who\"}\r\n  PLACE: {}\r\n"
      "templates:\r\n  - id: a.1\r\n    engine: [x, y]\r\n    query: '\"{NAME}\" [{PLACE}]'\r\n",
      "f");
  REQUIRE(file.has_value());
  CHECK(file->warnings.empty());
  const Domain& domain = file->domain;
  CHECK(domain.name == "ml-2");
  CHECK(domain.description == "Some pages");
  CHECK(domain.depth == 20);
  REQUIRE(domain.slots.size() == 2);
  CHECK(domain.slots[0].is_required);
  CHECK(domain.slots[0].description == "who");
  CHECK_FALSE(domain.slots[1].is_required);
  REQUIRE(domain.templates.size() == 1);
  CHECK(domain.templates[0].id == "a.1");
  CHECK(domain.templates[0].engines == std::vector<std::string>{"x", "y"});
  CHECK(domain.templates[0].query == "\"{NAME}\" [{PLACE}]");
}

TEST_CASE("Every kind of mistake in the file has its line and column", "[templates][file]") {
  const std::string tail = "templates: [{id: a, engine: e, query: '{NAME}'}]\n";
  const std::string head(kHead);
  begins(error_of("domain: d\nslots: {NAME: }\n" + tail), "f:1:1: the file lacks the key \"version\"");
  begins(error_of("version: 2\ndomain: d\nslots: {NAME: }\n" + tail), "f:1:10: version must be");
  begins(error_of("version: 1\nslots: {NAME: }\n" + tail), "f:1:1: the file lacks the key \"domain\"");
  begins(error_of("version: 1\ndomain: A b\nslots: {NAME: }\n" + tail), "f:2:9: the domain \"A b\" must be");
  begins(error_of("version: 1\ndomain: [d]\nslots: {NAME: }\n" + tail), "f:2:9: domain must be a string");
  begins(error_of("version: 1\ndomain: " + std::string(65, 'd') + "\nslots: {NAME: }\n" + tail),
         "f:2:9: the domain");
  begins(error_of(head + "depth: 0\n" + tail), "f:4:8: depth must be a whole number from 1 to 1000");
  begins(error_of(head + "depth: ten\n" + tail), "f:4:8: depth must be");
  begins(error_of(head + "deep: 3\n" + tail),
         "f:4:1: unknown key \"deep\" in the file; known keys are version, domain");
  begins(error_of(head + "description: [a]\n" + tail), "f:4:14: description must be a string");
  begins(error_of("version: 1\ndomain: d\nslots: [NAME]\n" + tail), "f:3:8: slots must be a map");
  begins(error_of("version: 1\ndomain: d\nslots: {1A: , NAME: }\n" + tail),
         "f:3:9: \"1A\" is not a slot name");
  begins(error_of("version: 1\ndomain: d\nslots: {NAME: 3}\n" + tail), "f:3:15: slot NAME must be a map");
  begins(error_of("version: 1\ndomain: d\nslots: {NAME: {required: 3}}\n" + tail),
         "f:3:26: required must be true or");
  begins(error_of("version: 1\ndomain: d\nslots: {NAME: {need: true}}\n" + tail),
         "f:3:16: unknown key \"need\"");
  begins(error_of("version: 1\ndomain: d\nslots: {NAME: , NAME: }\n" + tail),
         "f:3:17: the key \"NAME\" occurs twice");
  begins(error_of(head), "f:1:1: the file lacks the key \"templates\"");
  begins(error_of(head + "templates: {}\n"), "f:4:12: templates must be a list");
  begins(error_of(head + "templates: []\n"), "f:4:12: no template");
  begins(error_of(head + "templates: [3]\n").substr(0), "f:4:13: a template must be a map");
}

TEST_CASE("Every kind of mistake in a template has its line and column", "[templates][file]") {
  const std::string head(kHead);
  begins(error_of(head + "templates: [{engine: e, query: '{NAME}'}]\n"),
         "f:4:13: a template lacks the key \"id\"");
  begins(error_of(head + "templates: [{id: a, query: '{NAME}'}]\n"),
         "f:4:13: a template lacks the key \"engine\"");
  begins(error_of(head + "templates: [{id: a, engine: e}]\n"), "f:4:13: a template lacks the key \"query\"");
  begins(error_of(head + "templates: [{id: a b, engine: e, query: '{NAME}'}]\n"),
         "f:4:18: the id \"a b\" must be");
  for (const std::string& id : std::vector<std::string>{".a", "-a", "a/b", std::string(65, 'a')}) {
    INFO(id);
    CHECK_FALSE(error_of(head + "templates: [{id: " + id + ", engine: e, query: '{NAME}'}]\n").empty());
  }
  for (const std::string& id : std::vector<std::string>{"a.", "A-", "_", "9", std::string(64, 'a')}) {
    INFO(id);
    CHECK(parse_domain_file(head + "templates: [{id: " + id + ", engine: e, query: '{NAME}'}]\n", "f")
              .has_value());
  }
  begins(error_of(head + "templates: [{id: a, engine: [], query: '{NAME}'}]\n"),
         "f:4:29: no engine; name at least one");
  begins(error_of(head + "templates: [{id: a, engine: , query: '{NAME}'}]\n"), "f:4:");
  begins(error_of(head + "templates: [{id: a, engine: {}, query: '{NAME}'}]\n"),
         "f:4:29: engine must be a list");
  begins(error_of(head + "templates: [{id: a, engine: 'x y', query: '{NAME}'}]\n"),
         "f:4:29: \"x y\" is not an engine name");
  begins(error_of(head + "templates: [{id: a, engine: [x, x], query: '{NAME}'}]\n"),
         "f:4:33: the engine \"x\" occurs");
  begins(error_of(head + "templates: [{id: a, engine: e, qery: x, query: '{NAME}'}]\n"),
         "f:4:32: unknown key \"qery\"");
  begins(
      error_of(head +
               "templates:\n- {id: a, engine: e, query: '{NAME}'}\n- {id: a, engine: e, query: '{NAME}'}\n"),
      "f:6:8: the id \"a\" occurs twice");
  begins(error_of(head + "templates: [{id: a, engine: e, query: [x]}]\n"), "f:4:39: query must be a string");
  begins(error_of(head + "templates: [{id: a, engine: e, query: 'x'}]\n"), "f:4:39: no slot in the query");
}

TEST_CASE("Mistakes inside a query have their place in the file", "[templates][file]") {
  begins(error_of(with_query("'{NAME} {X}'")), "f:5:18: unknown slot \"X\"; known slots are NAME, PLACE");
  begins(error_of(with_query("'it''s {NAME} {X}'")), "f:5:24: unknown slot \"X\"");
  begins(error_of(with_query("\"\\\"{NAME}\\\" \\u00e9 \\x41 {X}\"")), "f:5:34: unknown slot \"X\"");
  // characters of two, three and four bytes, written as escapes of different lengths
  begins(error_of(with_query("\"\\u07ff{X}\"")), "f:5:17: unknown slot \"X\"");
  begins(error_of(with_query("\"\\u0800{X}\"")), "f:5:17: unknown slot \"X\"");
  begins(error_of(with_query("\"\\ufffd{X}\"")), "f:5:17: unknown slot \"X\"");
  begins(error_of(with_query("\"\\U00010000{X}\"")), "f:5:21: unknown slot \"X\"");
  begins(error_of(with_query("'{NAME|lowr}'")), "f:5:16: unknown filter \"lowr\"");
  begins(error_of(with_query("'{NAME} ]'")), "f:5:17: ] without a [");
  begins(error_of(with_query("\"{NAME}\n\n   é {X}\"")), "f:7:8: unknown slot \"X\"");
  const std::string block = std::string(kHead) + "templates:\n  - id: a\n    engine: e\n    query: ";
  begins(error_of(block + "a {NAME} {X}\n"), "f:7:22: unknown slot \"X\"");
  begins(error_of(block + "x {NAME}\n      and {X}\n"), "f:8:12: unknown slot \"X\"");
  begins(error_of(block + ">-\n      {NAME}\n      and {X}\n"), "f:9:12: unknown slot \"X\"");
  begins(error_of(block + ">\n      {NAME}\n\n      and {X}\n"), "f:10:12: unknown slot \"X\"");
  begins(error_of(block + "|\n      {NAME}\n      and {X}\n"), "f:9:12: unknown slot \"X\"");
  begins(error_of(block + "&q '{NAME} {X}'\n"), "f:7:24: unknown slot \"X\"");
}

TEST_CASE("All mistakes of a file are reported at once in the order of the file", "[templates][file]") {
  const auto errors = errors_of(
      "version: 9\ndomain: D\nslots:\n  2: {}\n  NAME: {required: 1}\ntemplates:\n"
      "  - {id: a, engine: e, query: '{NAME} {X} {Y|z}'}\n  - {id: a, engine: '', query: '\"{NAME}'}\n  - "
      "{ids: b}\n");
  CHECK(errors.size() == 14);
  CHECK(std::is_sorted(errors.begin(), errors.end(), [](const std::string& a, const std::string& b) {
    return std::stoi(a.substr(2)) < std::stoi(b.substr(2));
  }));
}

TEST_CASE("Something odd that is not a mistake is a warning", "[templates][file]") {
  const auto file = parse_domain_file(
      "version: 1\ndomain: d\nslots: {A: , B: }\ntemplates: [{id: a, engine: e, query: 'x {A}'}]\n", "f");
  REQUIRE(file.has_value());
  REQUIRE(file->warnings.size() == 3);
  begins(file->warnings[0], "f:4:42: the slot A may be empty here");
  begins(file->warnings[1], "f:3:14: the slot B is not used by any template");
  begins(file->warnings[2], "f:3:9: no slot is required or named QUERY");
}

TEST_CASE("A file with callers' lists and no slots has the slot QUERY", "[templates][file]") {
  const std::string head = "version: 1\ndomain: d\nlists: [own]\ntemplates:\n  - {id: a, engine: e, query: ";
  const auto used = parse_domain_file(head + "'{QUERY}'}\n", "f");
  REQUIRE(used.has_value());
  CHECK(used->warnings.empty());
  CHECK(error_of(head + "constant}\n").find("f:5:") == 0);
}

TEST_CASE("A query that may become empty is a warning", "[templates][file]") {
  const std::string head = "version: 1\ndomain: d\nslots: {A: {required: true}, B: }\ntemplates:\n";
  const auto warnings_of = [&](const std::string& query) {
    const auto file = parse_domain_file(
        head + "- {id: a, engine: e, query: '{A} [{B}]'}\n- {id: b, engine: e, query: '" + query + "'}\n",
        "f");
    REQUIRE(file.has_value());
    return file->warnings.size();
  };
  CHECK(warnings_of("[x {B}]") == 1);
  CHECK(warnings_of("[x {B}] y") == 0);
  CHECK(warnings_of("[{B}] {A}") == 0);
  CHECK(warnings_of("[x {A|short}]") == 0);  // only a filter can empty it
  CHECK(warnings_of("[x {A} {B}]") == 1);
}

TEST_CASE("A damaged file is read or refused with places inside the file", "[templates][file]") {
  const auto whole = read_text(METAFUSE_SOURCE_DIR "/config/templates/free-software.yaml", 1 << 20);
  REQUIRE(whole.has_value());
  const auto lines = static_cast<std::size_t>(std::count(whole->begin(), whole->end(), '\n'));
  constexpr std::string_view kBytes =
      "{}[]|\"'\\:,-#&*!>? \n\t\xC3"
      "a1";
  Random random(5);
  std::size_t refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = *whole;
    for (std::uint64_t i = 1 + random.below(4); i > 0; --i) {
      const std::size_t at = random.below(text.size());
      if (random.below(3) == 0) text.erase(at, 1 + random.below(40));
      if (random.below(2) == 0) text.insert(at, 1, kBytes[random.below(kBytes.size())]);
      if (at < text.size()) text[at] = kBytes[random.below(kBytes.size())];
    }
    const auto file = parse_domain_file(text, "f");
    if (file.has_value()) {
      const auto queries = expand(file->domain, {{{"TOPIC", "a b"}}});
      CHECK((queries.has_value() || queries.error().code == Code::usage));
      continue;
    }
    ++refused;
    std::istringstream errors(file.error().text);
    for (std::string error; std::getline(errors, error);) {
      INFO(error);
      CHECK(error.rfind("f:", 0) == 0);
      const std::size_t line = error[2] == ' ' ? 0 : std::stoul(error.substr(2));
      CHECK(line <= lines + 5);
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("A file that has no templates is one clear error", "[templates][file]") {
  const test::TemporaryFolder folder;
  CHECK(read_domain_file(folder.path("absent.yaml")).error().code == Code::no_input);
  for (const std::string_view content : {"", "\n", "{", "[1, 2]", "text", "\xFF\xFE", "a: *b\n", "a\0b"}) {
    const auto file = read_domain_file(folder.write("f.yaml", content));
    REQUIRE(file.has_error());
    CHECK(file.error().code == Code::bad_config);
    CHECK(file.error().text.find("f.yaml") != std::string::npos);
  }
  CHECK(read_domain_file(folder.write("nul.yaml", std::string_view("version\0: 1\n", 12))).has_error());
  CHECK(read_domain_file(folder.write("big.yaml", "a: \"" + std::string(2 << 20, 'x') + "\"")).has_error());
  CHECK(read_domain_file(folder.write("bom.yaml", "\xEF\xBB\xBF" + with_query("'{NAME}'"))).has_value());
  std::string unended = with_query("'{NAME}'");
  unended.pop_back();
  CHECK(read_domain_file(folder.write("unended.yaml", unended)).has_value());
}

TEST_CASE("Error messages about a hostile file stay small", "[templates][security]") {
  std::string slots, query;
  for (int i = 0; i < 200; ++i) slots += (i == 0 ? "S" : ", S") + std::to_string(i) + ": ";
  for (int i = 0; i < 4000; ++i) query += "{X}";
  const std::string file = "version: 1\ndomain: d\nslots: {" + slots + "}\ntemplates:\n";
  const auto unknown = parse_domain_file(file + "  - {id: a, engine: e, query: '" + query + "'}\n", "f");
  REQUIRE(unknown.has_error());
  const std::string said = unknown.error().text;
  CHECK(said.size() < 100 * 600);
  CHECK(std::count(said.begin(), said.end(), '\n') == 100);
  CHECK(unknown.error().text.find("S9 and 190 more") != std::string::npos);
  CHECK(unknown.error().text.ends_with("f: more mistakes follow; correct these first"));

  const auto long_key =
      parse_domain_file(std::string(kHead) + std::string(100000, 'k') + ": 1\ntemplates: []\n", "f");
  REQUIRE(long_key.has_error());
  CHECK(long_key.error().text.size() < 2000);

  std::string nested;
  for (int i = 0; i < 20000; ++i) nested += "[ ";
  const auto deep = parse_domain_file(
      std::string(kHead) + "templates:\n  - {id: a, engine: e, query: '" + nested + "{NAME}'}\n", "f");
  REQUIRE(deep.has_error());
  CHECK(deep.error().text.find("nested deeper than 16 levels") != std::string::npos);
}

TEST_CASE("A file is read in time linear in its lines", "[templates][security]") {
  // 40,000 blank lines and 8,000 templates: counting lines from the beginning of the file for each template
  // would pass 300 million line ends, which takes seconds.
  std::string text(kHead);
  text += "templates:\n" + std::string(40000, '\n');
  for (int i = 0; i < 8000; ++i) text += " - {id: a" + std::to_string(i) + ", engine: e, query: '{NAME}'}\n";
  const auto begin = std::clock();
  const auto file = parse_domain_file(text, "f");
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  REQUIRE(file.has_value());
  CHECK(file->domain.templates.size() == 8000);
  SUCCEED(seconds << " s");
  const auto begin_of_yaml = std::clock();
  REQUIRE(parse_yaml(text, "f").has_value());
  const double yaml_seconds = static_cast<double>(std::clock() - begin_of_yaml) / CLOCKS_PER_SEC;
  CHECK(seconds < 3 * yaml_seconds + 0.2);
}

TEST_CASE("An expanded query has at most as many bytes as its reader allows", "[templates][security]") {
  std::string query;
  for (int i = 0; i < 20000; ++i) query += "{NAME} ";
  const auto file = parse_domain_file(
      std::string(kHead) + "templates:\n  - {id: a, engine: e, query: '" + query + "'}\n", "f");
  REQUIRE(file.has_value());
  const BaseQuery hostile{{{"NAME", std::string(4096, 'x')}}};
  const auto refused = expand(file->domain, hostile, {}, {64, 4096});
  REQUIRE(refused.has_error());
  CHECK(refused.error().code == Code::usage);
  CHECK(refused.error().text.find("the query of template a is longer than 4096 bytes") != std::string::npos);

  const auto one =
      parse_domain_file(std::string(kHead) + "templates:\n  - {id: a, engine: e, query: '{NAME}'}\n", "f");
  REQUIRE(one.has_value());
  const BaseQuery longest{{{"NAME", std::string(4096, 'x')}}};
  CHECK(expand(one->domain, longest, {}, {64, 4096}).has_value());
  CHECK(expand(one->domain, longest, {}, {64, 4095}).has_error());
}

TEST_CASE("Labels and examples are read and bounded", "[templates][yaml]") {
  const std::string head = "version: 1\ndomain: pages\nslots: {QUERY: {required: true}}\n";
  const auto file = parse_domain_file(head +
                                          "examples: [one two, three]\ntemplates:\n"
                                          "  - {id: a, label: words, engine: [e, f], query: '{QUERY}'}\n"
                                          "  - {id: b, label: title, engine: e, query: '{QUERY}'}\n"
                                          "  - {id: c, engine: e, query: '{QUERY}'}\n",
                                      "f");
  REQUIRE(file.has_value());
  CHECK(file->domain.examples == std::vector<std::string>{"one two", "three"});
  CHECK(list_label(file->domain, "a", "f") == "words (f)");
  CHECK(list_label(file->domain, "b", "e") == "title");
  CHECK(list_label(file->domain, "c", "e").empty());
  const std::string plain = "templates: [{id: a, engine: e, query: '{QUERY}'}]\n";
  CHECK_FALSE(
      parse_domain_file(head + "examples: [" + std::string(65, 'x') + "]\n" + plain, "f").has_value());
  CHECK_FALSE(parse_domain_file(head + "examples: [a,b,c,d,e,f,g,h,i,j,k,l,m]\n" + plain, "f").has_value());
  CHECK_FALSE(parse_domain_file(head + "templates: [{id: a, label: " + std::string(65, 'x') +
                                    ", engine: e, query: '{QUERY}'}]\n",
                                "f")
                  .has_value());
}

TEST_CASE("The places of a query's many unknown slots are found in time linear in the query",
          "[templates][security]") {
  std::string query;
  while (query.size() < 900'000) query += "{A}";
  const std::string text = std::string(kHead) + "templates: [{id: a, engine: e, query: '" + query + "'}]\n";
  const auto begin = std::clock();
  const auto errors = errors_of(text);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  REQUIRE(errors.size() == Diagnostics::kMost + 1);
  CHECK(begins(errors[0], "f:4:41: "));
  CHECK(begins(errors[99], "f:4:338: "));
  const auto begin_of_yaml = std::clock();
  REQUIRE(parse_yaml(text, "f").has_value());
  const double yaml_seconds = static_cast<double>(std::clock() - begin_of_yaml) / CLOCKS_PER_SEC;
  CHECK(seconds < 3 * yaml_seconds + 0.5);
}

TEST_CASE("The limits of a domain file are reached and not exceeded", "[templates][file][limits]") {
  const auto is_good = [](const std::string& text, const DomainFileLimits& limits = {}) {
    return parse_domain_file(text, "f", limits).has_value();
  };
  const auto with = [](const std::string& line) {
    return std::string(kHead) + line + "\ntemplates: [{id: a, engine: e, query: '{NAME}'}]\n";
  };
  const auto names = [](std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += (i > 0 ? ", n" : "n") + std::to_string(i);
    return out;
  };
  const auto slots = [](const std::string& slot) {
    return "version: 1\ndomain: d\nslots: {" + slot + "}\ntemplates: [{id: a, engine: e, query: '{S}'}]\n";
  };
  const auto lists = [&](std::size_t count) {
    return is_good("version: 1\ndomain: d\nlists: [" + names(count) + "]\n");
  };
  const auto rerankers = [&](int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += "{id: r" + std::to_string(i) + ", engine: e}, ";
    return is_good(with("rerank: [" + out + "]"));
  };
  const std::string name(64, 'n');
  CHECK(is_good(with("examples: [" + names(12) + "]")));
  CHECK_FALSE(is_good(with("examples: [" + names(13) + "]")));
  CHECK(is_good(with("examples: [" + name + "]")));
  CHECK_FALSE(is_good(with("examples: [" + name + "n]")));
  CHECK(is_good(slots("S: {values: [" + names(200) + "]}")));
  CHECK_FALSE(is_good(slots("S: {values: [" + names(201) + "]}")));
  const auto many_slots = [&](std::size_t count) {
    std::string out = "S: ";
    for (std::size_t i = 1; i < count; ++i) out += ", S" + std::to_string(i) + ": ";
    return is_good(slots(out));
  };
  CHECK(many_slots(200));
  CHECK_FALSE(many_slots(201));
  CHECK(is_good(slots("S: , " + name + ": ")));
  CHECK_FALSE(is_good(slots("S: , " + name + "n: ")));
  CHECK(lists(64));
  CHECK_FALSE(lists(65));
  CHECK(rerankers(8));
  CHECK_FALSE(rerankers(9));
  for (const auto& [top, is_right] : {std::pair(0, false), {1, true}, {200, true}, {201, false}})
    CHECK(is_good(with("rerank: {id: r, engine: e, top: " + std::to_string(top) + "}")) == is_right);
  for (const auto& [depth, is_right] : {std::pair(0, false), {1, true}, {1000, true}, {1001, false}})
    CHECK(is_good(with("depth: " + std::to_string(depth))) == is_right);
  for (const auto& [k, is_right] : {std::pair("-0.1", false), {"0", true}, {"1000", true}, {"1000.1", false}})
    CHECK(is_good(with(std::string("rrf_k: ") + k)) == is_right);
  CHECK(is_good("version: 1\ndomain: " + name + "\nlists: [a]\n"));
  CHECK_FALSE(is_good("version: 1\ndomain: " + name + "n\nlists: [a]\n"));
  CHECK(is_good("version: 1\ndomain: d\nlists: [" + name + "]\n"));
  CHECK_FALSE(is_good("version: 1\ndomain: d\nlists: [" + name + "n]\n"));
  CHECK_FALSE(is_good("version: 0\ndomain: d\nlists: [a]\n"));
  CHECK_FALSE(is_good("version: 2\ndomain: d\nlists: [a]\n"));
  const auto templates = [&](const std::string& label) {
    return std::string(kHead) + "templates: [{id: a, engine: e, query: '{NAME}', label: " + label +
           "}, {id: b, engine: e, query: '{PLACE} x'}]\n";
  };
  CHECK(is_good(templates(name)));
  CHECK_FALSE(is_good(templates(name + "n")));
  DomainFileLimits limits;
  limits.max_templates = 2;
  CHECK(is_good(templates("l"), limits));
  limits.max_templates = 1;
  CHECK_FALSE(is_good(templates("l"), limits));
}

TEST_CASE("Rerankers and names that are no names are refused", "[templates][file]") {
  const auto error = [](const std::string& line) {
    return error_of(std::string(kHead) + "templates: [{id: a, engine: e, query: '{NAME}'}]\n" + line + "\n");
  };
  begins(error("rerank: [like-top, like-top]"), "f:5:20: the reranker \"like-top\" occurs twice");
  begins(error("rerank: other"), "f:5:9: rerank must be like-top, or {id, engine, top}");
  begins(error("rerank: {id: r}"), "f:5:9: rerank must be like-top, or {id, engine, top}");
  begins(error("rerank: {id: a, engine: f}"), "f:5:14: the id \"a\" occurs twice");
  begins(error("rerank: {id: r, engine: 'e f'}"), "f:5:9: \"e f\" is not an engine name");
  begins(error("rerank: {id: r, engine: e, bottom: 1}"), "f:5:");
  begins(error("group: page"), "f:5:8: group must be site");
  for (const char* bad : {"'a@b'", "'a/b'", "'a b'", "''", "\"a\\x7fb\""})
    begins(error_of(std::string("version: 1\ndomain: d\nlists: [") + bad + "]\n"), "f:3:9: ");
  begins(error_of("version: 1\ndomain: d\nlists: [a, b, a]\n"), "f:3:15: the list \"a\" occurs twice");
  begins(error_of("version: 1\ndomain: d\nlists: []\n"), "f:3:8: no list");
}

TEST_CASE("Warnings name slots that may be empty or are never used", "[templates][file]") {
  const auto warnings = [](const std::string& query,
                           const std::string& slots = "{A: {required: true}, B: }") {
    const auto file = parse_domain_file("version: 1\ndomain: d\nslots: " + slots +
                                            "\ntemplates: [{id: a, engine: e, query: '" + query + "'}]\n",
                                        "f");
    REQUIRE(file.has_value());
    std::string out;
    for (const std::string& one : file->warnings) out += one.substr(one.find(": ") + 2) + "\n";
    return out;
  };
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(warnings("{A} [{B}]").empty());
  CHECK(has(warnings("{A} {B}"), "the slot B may be empty here"));
  CHECK(has(warnings("{A}"), "the slot B is not used by any template"));
  CHECK_FALSE(has(warnings("{A}"), "the slot A"));
  CHECK(has(warnings("[{A} {B}]"), "the query is empty when its optional slots are empty"));
  CHECK_FALSE(has(warnings("[{A}]"), "the query is empty"));
  CHECK_FALSE(has(warnings("x [{B}]"), "the query is empty"));
  CHECK(has(warnings("{B}"), "the query is empty"));
  CHECK(has(warnings("{B} x", "{B: }"), "no slot is required or named QUERY"));
  CHECK_FALSE(has(warnings("{QUERY} x", "{QUERY: }"), "no slot is required"));
}
