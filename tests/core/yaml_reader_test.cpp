#include "core/yaml_reader.h"

#include <catch2/catch.hpp>

using namespace metafuse;

namespace {

std::string error_of_yaml(std::string_view text) {
  const auto result = parse_yaml(text, "f.yaml");
  REQUIRE(result.has_error());
  CHECK(result.error().code == Code::bad_config);
  return result.error().text;
}

}  // namespace

TEST_CASE("A YAML document keeps the places of its nodes", "[core][yaml]") {
  const auto root = parse_yaml("a: 1\nb:\n  - x\n  - \"010\"\n", "f.yaml");
  REQUIRE(root.has_value());
  const YamlNode* list = root->find("b");
  REQUIRE(list != nullptr);
  CHECK(list->items[1].place == Place{4, 5});
  CHECK(list->items[1].text == "010");
  CHECK(list->items[1].is_quoted);
}

TEST_CASE("Duplicate keys are all reported with line and column", "[core][yaml]") {
  const std::string text = error_of_yaml("a: 1\nb: 2\na: 3\nb: 4\n");
  CHECK(text.find("f.yaml:3:1: ") != std::string::npos);
  CHECK(text.find("f.yaml:4:1: ") != std::string::npos);
}

TEST_CASE("Aliases cannot expand a small file without limit", "[core][yaml]") {
  std::string text = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const std::string before = "*" + std::string(1, static_cast<char>(c - 1));
    text += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i) text += (i > 0 ? "," : "") + before;
    text += "]\n";
  }
  CHECK(error_of_yaml(text).find("aliases count") != std::string::npos);
  CHECK(error_of_yaml("a: &a [*a]\n").find("f.yaml:1:") == 0);
}

TEST_CASE("Aliases cannot copy a long text without limit", "[core][yaml]") {
  YamlLimits limits;
  limits.max_bytes = 1000;
  const auto copies = [&](std::size_t count) {
    std::string text = "- &a " + std::string(400, 'x') + "\n";
    for (std::size_t i = 1; i < count; ++i) text += "- *a\n";
    return parse_yaml(text, "f.yaml", limits);
  };
  CHECK(copies(10).has_value());
  const auto more = copies(11);
  REQUIRE(more.has_error());
  CHECK(more.error().text ==
        "f.yaml:1:3: more than 4000 bytes of text (aliases count each time they are used)");
}

TEST_CASE("Excessive depth and bad syntax and bad encoding and second documents are refused",
          "[core][yaml]") {
  CHECK(error_of_yaml(std::string(60, '[') + std::string(60, ']')).find("nested deeper") !=
        std::string::npos);
  CHECK(error_of_yaml(std::string(5000, '[')).find("nested deeper") != std::string::npos);
  CHECK(error_of_yaml("a: [1\n").find("not valid YAML") != std::string::npos);
  CHECK(error_of_yaml("a: \xff\n").find("UTF-8") != std::string::npos);
  CHECK(error_of_yaml("a: 1\n---\nb: 2\n").find("second YAML document") != std::string::npos);
  for (const char* loop : {"a: &x\n  b: *x\n", "a: &x [1, [2, *x]]\n", "&x a: {b: &y {c: *y}}\n"})
    CHECK(error_of_yaml(loop).find("a loop; write the value out") != std::string::npos);
  CHECK(parse_yaml("a: &x [1]\nb: *x\nc: [&y {d: *x}, *y]\n", "f.yaml").has_value());
  CHECK(error_of_yaml(std::string(2 << 20, ' ')).find("split it into several files") != std::string::npos);
}

TEST_CASE("Where keys may repeat the last one counts and stands where it was written", "[core][yaml]") {
  const auto root = parse_yaml("a: 1\nb: 2\na: 3\nc: 4\nb: 5\na: 6\n", "f.yaml", {.may_repeat_keys = true});
  REQUIRE(root.has_value());
  std::string all;
  for (const YamlEntry& entry : root->entries) all += entry.first.text + entry.second.text;
  CHECK(all == "c4b5a6");
}

TEST_CASE("The limits of a YAML document are reached and not exceeded", "[core][yaml]") {
  const auto fits = [](const std::string& text, const YamlLimits& limits) {
    return parse_yaml(text, "f.yaml", limits).has_value();
  };
  CHECK(fits("a: [1, 2]\n", {.max_bytes = 10}));
  CHECK_FALSE(fits("a: [1, 2]\n", {.max_bytes = 9}));
  CHECK(fits("a: [1, 2]\n", {.max_depth = 2}));  // the map, its list, and what is in it
  CHECK_FALSE(fits("a: [1, 2]\n", {.max_depth = 1}));
  CHECK(fits("a: [1, 2]\n", {.max_nodes = 5}));
  CHECK_FALSE(fits("a: [1, 2]\n", {.max_nodes = 4}));
}

TEST_CASE("The fields of a map are read with every mistake reported at once", "[core][yaml]") {
  const auto root = parse_yaml("name: 3\nsize: 12\nflag: maybe\nextra: 1\n", "f.yaml");
  REQUIRE(root.has_value());
  Diagnostics diagnostics("f.yaml");
  YamlMap map(*root, "a thing", diagnostics);
  CHECK(map.take_required_string("name") == "3");
  CHECK_FALSE(map.take_integer("size", 0, 10).has_value());
  CHECK_FALSE(map.take_bool("flag").has_value());
  CHECK(map.take_required_string("absent").empty());
  map.finish();
  const std::string text = diagnostics.to_error(Code::bad_config).text;
  CHECK(text.find("f.yaml:2:7: size must be a whole number from 0 to 10") != std::string::npos);
  CHECK(text.find("f.yaml:3:7: flag must be true or false") != std::string::npos);
  CHECK(text.find("lacks the key \"absent\"") != std::string::npos);
  CHECK(text.find("f.yaml:4:1: unknown key \"extra\"") != std::string::npos);
}

TEST_CASE("Numbers of a map may have a sign and must be finite and unquoted", "[core][yaml]") {
  const auto root = parse_yaml("a: +60\nb: -1.5\nc: 1e999\nd: nan\ne: '3'\nf: 1.5\n", "f.yaml");
  REQUIRE(root.has_value());
  Diagnostics diagnostics("f.yaml");
  YamlMap map(*root, "the map", diagnostics);
  CHECK(map.take_number("a", 0, 100) == 60.0);
  CHECK(map.take_integer("a", 0, 100) == 60);
  CHECK(map.take_number("b", -2, 2) == -1.5);
  for (const char* key : {"c", "d", "e"}) CHECK_FALSE(map.take_number(key, -1e300, 1e300).has_value());
  for (const char* key : {"b", "e", "f"}) CHECK_FALSE(map.take_integer(key, -10, 10).has_value());
}

TEST_CASE("A misplaced YAML sign is an error", "[core][yaml]") {
  for (const char* text :
       {", a: 1\n", "a: 1\n---\n, b\n", "# c\n,\n", "]", "}", "a: [1]]\n", "? \n,\n", "- ,\n"})
    CHECK(error_of_yaml(text).rfind("f.yaml:", 0) == 0);
}
