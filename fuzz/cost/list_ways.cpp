// The ways in whose cost depends on more than reading: callers' lists that are fused, documents that are
// indexed, and queries of an index.

#include <string>
#include <utility>

#include "fetchers/engines/index/local_engine.h"
#include "fuzz/cost/ways.h"
#include "service/api/fusing.h"
#include "tests/support/temporary_folder.h"

namespace metafuse::cost {
namespace {

constexpr std::size_t kKilobyte = 1024;
constexpr std::size_t kMegabyte = 1024 * kKilobyte;

const test::TemporaryFolder& folder() {
  static const test::TemporaryFolder made(test::TemporaryFolder::in_memory());
  return made;
}

/// A list of as many results as one may have. "%" in `id` becomes the list's number.
std::string full_list(const std::string& id) {
  std::string out = R"({"name":"l%","results":[)";
  for (std::size_t i = 0; i < service::kMaxFuseResults; ++i)
    out += (i > 0 ? ",\"" : "\"") + id + std::to_string(i) + '"';
  return out + "]},";
}

std::vector<Growth> fused_growths(const std::string& method) {
  const std::string begin = R"({"method":")" + method + R"(","lists":[)";
  const std::string last = R"({"name":"last","results":["a"]}]})";
  return {{method + ", results of a list", begin + R"({"name":"l","results":[)", "\"d%\",", "\"a\"]}]}"},
          {method + ", lists of one", begin, R"({"name":"l%","results":["a"]},)", last},
          {method + ", lists of others", begin, full_list("%-"), last},
          {method + ", lists of the same", begin, full_list("d"), last},
          {method + ", URLs", begin + R"({"name":"l","results":[)",
           R"({"url":"http://a.example/%?b=c&d=e"},)", "\"a\"]}]}"},
          {method + ", fields", begin + R"({"name":"l","results":[{"id":"a","fields":{)",
           R"("f%":"some text",)", R"("last":1}}]}]})"}};
}

std::string database_of(const std::string& documents) {
  std::string database = folder().path("index.db");
  const std::string file = folder().write("documents.jsonl", documents);
  (void)fetchers::build_local_index(database, {file});
  return database;
}

/// A small index of documents that share their words, so that every query finds something.
const fetchers::LocalAccess& small_index() {
  static const fetchers::LocalAccess access = [] {
    std::string documents;
    for (int i = 0; i < 100; ++i)
      documents += R"({"url":"http://a.example/)" + std::to_string(i) +
                   R"(","title":"a b c","text":"a b a c )" + std::to_string(i) + "\"}\n";
    fetchers::LocalAccess out;
    out.database = folder().path("small.db");
    (void)fetchers::build_local_index(out.database, {folder().write("small.jsonl", documents)});
    return out;
  }();
  return access;
}

}  // namespace

void add_lists_and_indexes(std::vector<Way>& out) {
  out.push_back({"fused lists", kMegabyte, 1500,
                 [](const std::string& text) { (void)service::fuse_text(text, {}); }, fused_growths("rrf")});
  for (Growth& growth : fused_growths("borda")) out.back().growths.push_back(std::move(growth));
  out.push_back({"documents to index",
                 4 * kMegabyte,
                 6000,
                 [](const std::string& text) { (void)database_of(text); },
                 {{"documents", "",
                   R"({"url":"http://a.example/%","title":"a title","text":"some words of text"})"
                   "\n",
                   ""},
                  {"one URL", "",
                   R"({"url":"http://a.example/","title":"a%","text":"b"})"
                   "\n",
                   ""},
                  {"words of a document", R"({"url":"http://a.example/","text":")", "word% ", "\"}"},
                  {"one word", R"({"url":"http://a.example/","text":")", "a ", "\"}"},
                  {"a long word", R"({"url":"http://a.example/","text":")", "a", "\"}"},
                  {"Chinese without blanks", R"({"url":"http://a.example/","text":")",
                   "\xE6\x9D\xB1\xE4\xBA\xAC", "\"}"},
                  {"Thai without blanks", R"({"url":"http://a.example/","text":")",
                   "\xE0\xB8\xA0\xE0\xB8\xB2\xE0\xB8\xA9\xE0\xB8\xB2", "\"}"},
                  {"fields", R"({"url":"http://a.example/")", R"(,"f%":"a")", "}"}}});
  out.push_back({"query of an index",
                 4 * kKilobyte,
                 1'000'000,
                 [](const std::string& text) {
                   static fetchers::LocalEngine engine(small_index());
                   (void)engine.search(text, 30, 0, Deadline(machine_clock(), std::chrono::seconds(10)));
                 },
                 {{"words", "", "a ", "b"},
                  {"other words", "", "w% ", "b"},
                  {"beginnings", "", "a* ", "b"},
                  {"alternatives", "", "a OR ", "b"},
                  {"exclusions", "a", " NOT b", ""},
                  {"phrase", "\"", "a b ", "\""},
                  {"neighbours", "NEAR(", "a ", "b, 5)"},
                  {"parentheses", "", "(a OR ", "b", "b", ")"},
                  {"columns", "", "title:a ", "b"},
                  {"quotes", "", "\"", ""}}});
}

}  // namespace metafuse::cost
