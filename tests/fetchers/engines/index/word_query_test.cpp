#include "fetchers/engines/index/word_query.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

/// A condition as text.
std::string form_of(const QueryNode& node) {
  if (node.kind == QueryNode::Kind::text) {
    std::string out = node.columns == 1 ? "1:" : node.columns == 2 ? "2:" : "";
    return out + (node.is_quoted ? "'" + node.text + "'" : node.text) + (node.is_beginning ? "*" : "");
  }
  const char* between = node.kind == QueryNode::Kind::all    ? " & "
                        : node.kind == QueryNode::Kind::any  ? " | "
                        : node.kind == QueryNode::Kind::near ? " ~ "
                                                             : " - ";
  std::string out = "(";
  for (const QueryNode& child : node.children) out += (out == "(" ? "" : between) + form_of(child);
  return out + (node.kind == QueryNode::Kind::near ? ", " + std::to_string(node.distance) : "") + ")";
}

}  // namespace

TEST_CASE("A query is read as FTS5 reads it", "[fetchers][local][ranking]") {
  const std::vector<std::string> columns = {"title", "text"};
  const auto form = [&](const std::string& query) {
    const auto read = read_word_query(query, columns);
    return read ? form_of(*read) : "error: " + read.error().text;
  };
  CHECK(form("a b") == "(a & b)");
  CHECK(form("a OR \"b\"\"c\"") == "(a | 'b\"c')");
  CHECK(form("(a OR b OR c) AND d NOT e NOT f") == "((a | b | c) & (d - e - f))");
  CHECK(form("(a OR b) AND c d NOT (e OR f)") == "((a | b) & ((c & d) - (e | f)))");
  CHECK(form("a b OR c") == "((a & b) | c)");
  CHECK(form("Title:a b AND text : (c OR {title text} : d)") == "(1:a & b & (2:c | 2:d))");
  CHECK(form("- text : a*") == "a*");
  CHECK(form("NEAR(a \"b c\", 3) OR NEAR(a b) OR NEAR(a) OR NEAR") ==
        "((a ~ 'b c', 3) | (a ~ b, 10) | a | NEAR)");
  CHECK(form("a + \"b c\" + d*") == "'a b c d'*");
  for (const char* wrong : {"", "\"a", "a b)", "NOT a", "a AND", "{title : a", "a-b", "(a", "NEAR(a b, x)",
                            "NEAR()", "a NOT", "title :", "^a", "a , b"}) {
    INFO(wrong);
    CHECK(read_word_query(wrong, columns).error().code == Code::bad_data);
  }
  CHECK(form("colour : a") == "error: no such column: \"colour\"; there are title, text");
  CHECK_FALSE(read_word_query(std::string(1000, '(') + "a" + std::string(1000, ')'), columns).has_value());
  CHECK_FALSE(read_word_query(std::string(100'000, 'a'), columns).has_value());
}
