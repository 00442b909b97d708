#include "fetchers/calling/embedded_search.h"

#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>

#include "core/sqlite_database.h"
#include "core/text_file.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/command/command_engine.h"
#include "fetchers/engines/sql/sqlite_file.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

Deadline soon() {
  return {machine_clock(), std::chrono::seconds(5)};
}

std::vector<std::string> urls_of(const Result<RankedList>& list) {
  if (!list) FAIL(list.error().text);
  std::vector<std::string> urls;
  for (const Hit& hit : list->hits) urls.push_back(hit.url);
  return urls;
}

using Urls = std::vector<std::string>;

/// The path of an index of one document, of the host a.example.
std::string index_of_one(const test::TemporaryFolder& folder) {
  const std::string path = folder.path("one.db");
  const auto built = build_local_index(
      path, {folder.write("one.jsonl", "{\"url\":\"https://a.example/1\",\"title\":\"one\"}\n")});
  if (!built) FAIL(built.error().text);
  return path;
}

struct Index {
  test::TemporaryFolder folder;
  std::string database = folder.path("pages.db");

  explicit Index(const std::string& documents) {
    const auto built = build_local_index(database, {folder.write("d.jsonl", documents)});
    if (!built) FAIL(built.error().text);
  }
};

const std::string kDocuments =
    "{\"url\":\"http://a/\",\"title\":\"Web browser\",\"text\":\"a fast browser for "
    "reading\",\"section\":\"net\"}\n"
    "{\"url\":\"http://b/\",\"title\":\"Text editor\",\"text\":\"web pages and a hundred other words stand "
    "between them here and then browser\"}\n"
    "{\"url\":\"http://c/\",\"title\":\"Mail reader\",\"text\":\"reads mail, no browsing of the "
    "web\",\"section\":\"mail\"}\n";

}  // namespace

TEST_CASE("The embedded engine can order by a number of the documents", "[fetchers][local]") {
  const Index index(
      "{\"url\":\"http://a/\",\"title\":\"one\",\"text\":\"editor editor\",\"uses\":3,\"year\":1991}\n"
      "{\"url\":\"http://b/\",\"title\":\"two\",\"text\":\"an editor\",\"uses\":20}\n"
      "{\"url\":\"http://c/\",\"title\":\"three\",\"text\":\"some editor\",\"year\":2004.5}\n"
      "{\"url\":\"http://d/\",\"title\":\"four\",\"text\":\"editor of words\",\"uses\":3}\n");
  const auto ordered = [&](const std::string& number, int depth = 30, int offset = 0) {
    return LocalEngine({index.database, {}, number}).search("editor", depth, offset, soon());
  };
  CHECK(urls_of(ordered("uses")) ==
        Urls{"http://b/", "http://a/", "http://d/"});  // of equal numbers the more relevant one comes first
  CHECK(urls_of(ordered("uses", 1, 1)) == Urls{"http://a/"});
  CHECK(urls_of(ordered("year")) == Urls{"http://c/", "http://a/"});
  CHECK(ordered("uses")->hits[0].score == 20);
  CHECK(ordered("wat").error().code == Code::bad_config);
  CHECK(ordered("id").error().code == Code::bad_config);
  // a number is not indexed as a word
  CHECK(urls_of(LocalEngine({index.database, {}}).search("1991", 30, 0, soon())).empty());
  const test::TemporaryFolder folder;
  const auto mixed = build_local_index(
      folder.path("x.db"),
      {folder.write("x.jsonl", "{\"url\":\"http://a/\",\"n\":1}\n{\"url\":\"http://b/\",\"n\":\"1\"}\n")});
  REQUIRE(mixed.has_value());
  CHECK(mixed->documents == 1);
  CHECK(mixed->read.left_out.front().why.starts_with(
      "line 2: the field \"n\" is a text in one document and a"));
}

TEST_CASE("An updated index has up-to-date numbers of its documents", "[fetchers][local]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  IndexOptions options;
  options.updates = true;
  const auto index = [&](const std::string& documents) {
    return build_local_index(database, {folder.write("x.jsonl", documents)}, options);
  };
  const auto ordered = [&](const std::string& number) {
    return urls_of(LocalEngine({database, {}, number}).search("editor", 30, 0, soon()));
  };
  const auto first = index(
      "{\"url\":\"http://a/\",\"text\":\"editor\",\"uses\":3}\n"
      "{\"url\":\"http://b/\",\"text\":\"editor\",\"uses\":2}\n"
      "{\"url\":\"http://c/\",\"text\":\"editor\",\"uses\":1}\n");
  REQUIRE(first.has_value());
  CHECK(ordered("uses") == Urls{"http://a/", "http://b/", "http://c/"});
  const auto changed = index(
      "{\"url\":\"http://b/\",\"text\":\"editor\",\"uses\":0.5}\n"
      "{\"url\":\"http://c/\",\"text\":\"editor\",\"uses\":1}\n");
  REQUIRE(changed.has_value());
  CHECK(changed->is_update);
  CHECK(changed->changed == 1);
  CHECK(changed->removed == 1);
  CHECK(ordered("uses") == Urls{"http://c/", "http://b/"});
  // a number with another name needs its own column
  const auto rebuilt = index("{\"url\":\"http://b/\",\"text\":\"editor\",\"year\":1991}\n");
  REQUIRE(rebuilt.has_value());
  CHECK_FALSE(rebuilt->is_update);
  CHECK(ordered("year") == Urls{"http://b/"});
}

TEST_CASE("The embedded engine supports phrases and operators and prefixes and columns",
          "[fetchers][local]") {
  const Index index(kDocuments);
  LocalEngine engine({index.database, {{"title", 10}}});
  const auto search = [&](const std::string& query) { return urls_of(engine.search(query, 30, 0, soon())); };
  CHECK(search("browser") == Urls{"http://a/", "http://b/"});
  CHECK(search("\"web browser\"") == Urls{"http://a/"});
  CHECK(search("web AND mail") == Urls{"http://c/"});
  CHECK(search("editor OR mail").size() == 2);
  CHECK(search("web NOT mail").size() == 2);
  CHECK(search("NEAR(web browser, 3)") == Urls{"http://a/"});
  CHECK(search("brows*").size() == 3);
  CHECK(search("title : mail") == Urls{"http://c/"});
  CHECK(search("section : net") == Urls{"http://a/"});
  CHECK(search("nothing").empty());
  CHECK(search("   ").empty());
  CHECK(urls_of(engine.search("web", 1, 1, soon())).size() == 1);
}

TEST_CASE("A search that its deadline ended leaves nothing behind for the next one", "[fetchers][local]") {
  std::string documents;
  for (int i = 0; i < 3000; ++i)
    documents += "{\"url\":\"http://" + std::to_string(i) + "/\",\"title\":\"editor " +
                 std::to_string(i % 7) + "\",\"text\":\"an editor of texts, number " + std::to_string(i) +
                 "\"}\n";
  const Index index(documents);
  LocalEngine engine({index.database, {{"title", 10}}});
  const Clock& clock = machine_clock();
  const auto found = [&](LocalEngine& one, const std::string& query) {
    return urls_of(one.search(query, 30, 0, soon()));
  };
  const std::vector<std::string> queries = {"editor", "edi*", "editor OR texts", "\"an editor\"", "editro"};
  for (const std::string& ended : queries) {
    static_cast<void>(engine.search(ended, 30, 0, Deadline(clock, Duration(0))));
    for (const std::string& query : queries) {
      INFO(ended << ", then " << query);
      LocalEngine fresh({index.database, {{"title", 10}}});
      CHECK(found(engine, query) == found(fresh, query));
    }
  }
}

TEST_CASE("A field whose name cannot be a column is refused with its line", "[fetchers][local]") {
  const auto built = [](const std::string& field) {
    const test::TemporaryFolder folder;
    const std::string line =
        "{\"url\":\"http://a/\",\"title\":\"A\",\"text\":\"word\",\"" + field + "\":\"kept\"}\n";
    return build_local_index(folder.path("pages.db"), {folder.write("d.jsonl", line)}).has_value();
  };
  for (const std::string& field : std::vector<std::string>{"b9", "_", "azAZ09", std::string(64, 'c')}) {
    INFO(field);
    CHECK(built(field));
  }
  for (const std::string& field :
       std::vector<std::string>{"9lives", "rank", "rowid", "documents", "a-b", std::string(65, 'c')}) {
    INFO(field);
    CHECK_FALSE(built(field));
  }
}

TEST_CASE("Column weights change the order", "[fetchers][local]") {
  const Index index(
      "{\"url\":\"http://t/\",\"title\":\"word\",\"text\":\"other\"}\n"
      "{\"url\":\"http://x/\",\"title\":\"other\",\"text\":\"word\"}\n");
  LocalEngine by_title({index.database, {{"title", 10}, {"text", 1}}});
  LocalEngine by_text({index.database, {{"title", 1}, {"text", 10}}});
  CHECK(urls_of(by_title.search("word", 30, 0, soon())) == Urls{"http://t/", "http://x/"});
  CHECK(urls_of(by_text.search("word", 30, 0, soon())) == Urls{"http://x/", "http://t/"});
}

TEST_CASE("The embedded engine reports what it cannot do", "[fetchers][local]") {
  const Index index(kDocuments);
  LocalEngine engine({index.database, {}});
  CHECK(engine.search("\"unclosed", 30, 0, soon()).error().code == Code::bad_data);
  CHECK(engine.search("nosuch : word", 30, 0, soon()).error().code == Code::bad_data);
  CHECK(urls_of(engine.search("browser", 30, 0, soon())).size() == 2);
  CHECK(LocalEngine({index.folder.path("none.db"), {}}).search("x", 30, 0, soon()).error().code ==
        Code::no_input);
  CHECK(LocalEngine({index.folder.write("text.db", "no database"), {}})
            .search("x", 30, 0, soon())
            .error()
            .code == Code::bad_data);
  const auto weighted = LocalEngine({index.database, {{"colour", 2}}}).search("x", 30, 0, soon());
  CHECK(weighted.error().code == Code::bad_config);
  CHECK(weighted.error().text.find("title, text, section") != std::string::npos);
}

TEST_CASE("A bad row is left out alone with its line and without a good one the old index stays",
          "[fetchers][local]") {
  const Index index(kDocuments);
  const std::string last = "{\"url\":\"http://last/\",\"title\":\"last\"}\n";
  for (const std::string bad : {"{\"title\":\"x\"}", "[]", "{", "{\"url\":1}", "{\"url\":\"\"}",
                                "{\"url\":\"doc-4\"}", "{\"url\":\"http://a/\",\"bad name\":\"x\"}"}) {
    INFO(bad);
    const auto built =
        build_local_index(index.database, {index.folder.write("bad.jsonl", kDocuments + bad + "\n" + last)});
    REQUIRE(built.has_value());
    CHECK(built->documents == 4);
    REQUIRE(built->read.left_out.size() == 1);
    CHECK(built->read.left_out[0].why.starts_with("line 4: "));
    const auto none = build_local_index(index.database, {index.folder.write("none.jsonl", bad + "\n")});
    REQUIRE_FALSE(none.has_value());
    CHECK(none.error().code == Code::bad_data);
    CHECK(none.error().text.find("none.jsonl: line 1: ") != std::string::npos);
  }
  LocalEngine engine({index.database, {}});
  CHECK(urls_of(engine.search("browser", 30, 0, soon())).size() == 2);
  const auto built = build_local_index(
      index.database, {index.folder.write("crlf.jsonl",
                                          "\xEF\xBB\xBF{\"url\":\"http://a/\",\"title\":\"old\"}\r\n\r\n"
                                          "{\"url\":\"http://a/\",\"title\":\"new\",\"text\":null}")});
  if (!built) FAIL(built.error().text);
  CHECK(built->documents == 1);
  CHECK(built->replaced == 1);
}

TEST_CASE("An updated index finds the same as a new index", "[fetchers][local][update]") {
  const test::TemporaryFolder folder;
  const auto write_page = [&](const std::string& name, const std::string& text) {
    folder.write("pages/" + name, "<title>" + name + "</title>" + text);
  };
  for (int i = 0; i < 20; ++i)
    write_page(std::to_string(i) + ".html", "common words of page number" + std::to_string(i));
  const std::string database = folder.path("kept.db");
  IndexOptions options;
  options.updates = true;
  options.vectors.source = VectorOptions::Source::lsi;
  options.vectors.dimensions = 3;
  const auto first = build_local_index(database, {folder.path("pages")}, options);
  if (!first) FAIL(first.error().text);
  CHECK_FALSE(first->is_update);
  write_page("3.html", "common words that are quite different now");
  write_page("new.html", "common words of a new page");
  std::filesystem::remove(folder.path("pages/5.html"));
  const auto second = build_local_index(database, {folder.path("pages")}, options);
  if (!second) FAIL(second.error().text);
  CHECK(second->is_update);
  CHECK(second->documents == 20);
  CHECK(second->added == 1);
  CHECK(second->changed == 1);
  CHECK(second->removed == 1);
  const std::string anew = folder.path("anew.db");
  options.updates = false;
  REQUIRE(build_local_index(anew, {folder.path("pages")}, options).has_value());
  for (const std::string query :
       {"different", "common", "number3", "number5", "number7", "\"new page\"", "title : new"}) {
    INFO(query);
    auto updated = urls_of(LocalEngine({database, {}}).search(query, 30, 0, soon()));
    auto expected = urls_of(LocalEngine({anew, {}}).search(query, 30, 0, soon()));
    std::sort(updated.begin(), updated.end());
    std::sort(expected.begin(), expected.end());
    CHECK(updated == expected);
  }
  CHECK(urls_of(LocalEngine({database, {}}).search("number5", 30, 0, soon())).empty());
  const auto by_meaning = urls_of(VectorEngine({database, -1, ""}).search("different", {}, 30, 0, soon()));
  CHECK(std::find(by_meaning.begin(), by_meaning.end(), "file://localhost" + folder.path("pages/5.html")) ==
        by_meaning.end());
}

TEST_CASE("An update reads and embeds only the files that changed", "[fetchers][local][update]") {
  const test::TemporaryFolder folder;
  for (int i = 0; i < 40; ++i)
    folder.write("pages/" + std::to_string(i) + ".txt", "page " + std::to_string(i));
  std::size_t embedded = 0;
  IndexOptions options;
  options.updates = true;
  options.vectors.source = VectorOptions::Source::endpoint;
  options.vectors.model = "m";
  options.vectors.embed = [&](std::span<const std::string> texts) -> Result<std::vector<std::vector<float>>> {
    embedded += texts.size();
    return std::vector<std::vector<float>>(texts.size(), {1, static_cast<float>(embedded)});
  };
  const std::string database = folder.path("kept.db");
  const auto build = [&] {
    auto built = build_local_index(database, {folder.path("pages")}, options);
    if (!built) FAIL(built.error().text);
    return *built;
  };
  build();
  CHECK(embedded == 40);
  CHECK(build().changed == 0);
  CHECK(embedded == 40);
  folder.write("pages/7.txt", "page seven");
  folder.write("pages/new.txt", "a new page");
  const auto updated = build();
  CHECK(updated.added == 1);
  CHECK(updated.changed == 1);
  CHECK(embedded == 42);
  CHECK(urls_of(VectorEngine({database, -1, ""}).search("x", std::vector<float>{1, 1}, 100, 0, soon()))
            .size() == 41);
  options.vectors.model = "another";  // vectors of different models are not comparable
  build();
  CHECK(embedded == 42 + 41);
  folder.write("pages/8.txt", "page eight");
  build();
  CHECK(embedded == 42 + 41 + 1);
  options.language = "en";
  CHECK_FALSE(build().is_update);
  options.language = "xx";
  const auto unknown = build_local_index(database, {folder.path("pages")}, options);
  CHECK(unknown.error().code == Code::bad_config);
  CHECK(unknown.error().text.find("there is no language \"xx\"") != std::string::npos);
  CHECK(urls_of(LocalEngine({database, {}}).search("eight", 30, 0, soon())).size() == 1);
}

TEST_CASE("Results of an index show the dates and languages of their documents", "[fetchers][local]") {
  const Index index(
      "{\"url\":\"http://a/\",\"title\":\"one\",\"date\":\"March 9, 2016\",\"language\":\"German\"}\n"
      "{\"url\":\"http://b/\",\"title\":\"one two\",\"published\":\"2024\",\"lang\":\"en_us\"}\n"
      "{\"url\":\"http://c/\",\"title\":\"one two three\",\"date\":\"soon\",\"language\":\"none\"}\n");
  const auto list = LocalEngine({index.database, {}}).search("one", 30, 0, soon());
  REQUIRE(urls_of(list) == Urls{"http://a/", "http://b/", "http://c/"});
  CHECK(list->hits[0].published == "2016-03-09");
  CHECK(list->hits[0].language == "de");
  CHECK(list->hits[1].published == "2024");
  CHECK(list->hits[1].language == "en-US");
  CHECK(list->hits[2].published.empty());
  CHECK(list->hits[2].language.empty());
}

TEST_CASE("An index of another version is refused by a search and built again by an update",
          "[fetchers][local][update]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  IndexOptions options;
  options.updates = true;
  const std::string lines = folder.write("d.jsonl", "{\"url\":\"http://a/\",\"title\":\"one\"}\n");
  REQUIRE(build_local_index(database, {lines}, options)->other_version.empty());
  auto file = SqliteDatabase::open(database, {.mode = SqliteMode::create});
  REQUIRE(file.has_value());
  REQUIRE(file->run("UPDATE meta SET value='1' WHERE name='version';").has_value());
  const auto refused = LocalEngine({database, {}}).search("one", 30, 0, soon());
  CHECK(refused.error().code == Code::bad_data);
  CHECK(refused.error().text.find("an index of version 1") != std::string::npos);
  const auto updated = build_local_index(database, {lines}, options);
  REQUIRE(updated.has_value());
  CHECK_FALSE(updated->is_update);
  CHECK(updated->other_version == "1");
  CHECK(urls_of(LocalEngine({database, {}}).search("one", 30, 0, soon())) == Urls{"http://a/"});
}

TEST_CASE("A new field or an index without sources causes a rebuild", "[fetchers][local][update]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  IndexOptions options;
  REQUIRE(build_local_index(database,
                            {folder.write("d.jsonl", "{\"url\":\"http://a/\",\"title\":\"one\"}\n")}, options)
              .has_value());
  options.updates = true;
  const auto build = [&](const std::string& lines) {
    auto built = build_local_index(database, {folder.write("d.jsonl", lines)}, options);
    if (!built) FAIL(built.error().text);
    return *built;
  };
  CHECK_FALSE(build("{\"url\":\"http://a/\",\"title\":\"one\"}\n").is_update);
  CHECK(build("{\"url\":\"http://a/\",\"title\":\"two\"}\n").changed == 1);
  CHECK_FALSE(build("{\"url\":\"http://a/\",\"title\":\"two\",\"colour\":\"red\"}\n").is_update);
  CHECK(urls_of(LocalEngine({database, {}}).search("colour : red", 30, 0, soon())).size() == 1);
  const auto bad = build_local_index(database, {folder.write("bad.jsonl", "{\"title\":\"x\"}\n")}, options);
  CHECK(bad.error().code == Code::bad_data);
  CHECK(urls_of(LocalEngine({database, {}}).search("two", 30, 0, soon())).size() == 1);
}

TEST_CASE("A SQLite engine binds the query and only reads and keeps its deadline", "[fetchers][sqlite]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("notes.db");
  {
    auto database = SqliteDatabase::open(path, {.mode = SqliteMode::create});
    REQUIRE(
        database
            ->run(
                "CREATE TABLE note(id INTEGER, title TEXT, body TEXT);"
                "INSERT INTO note VALUES(1,'One <b>x</b>','apple'),(2,'Two','apple pie'),(3,'Three','pear');")
            .has_value());
  }
  SqliteAccess access{
      path,
      "SELECT id, title, body AS content FROM note WHERE body LIKE :wildcard LIMIT :limit OFFSET :offset",
      "https://notes.example/{id}"};
  const auto list = search_sqlite(access, "apple", 10, 0, soon());
  CHECK(urls_of(list) == Urls{"https://notes.example/1", "https://notes.example/2"});
  CHECK(list->hits[0].title == "One x");
  CHECK(urls_of(search_sqlite(access, "apple", 10, 1, soon())) == Urls{"https://notes.example/2"});
  CHECK(urls_of(search_sqlite(access, "'; DROP TABLE note; --", 10, 0, soon())).empty());
  access.statement.erase(access.statement.find(" OFFSET"));
  CHECK(urls_of(search_sqlite(access, "apple", 1, 1, soon())) == Urls{"https://notes.example/2"});
  access.statement = "SELECT 1 AS id FROM note WHERE :query = load_extension('x')";
  CHECK_FALSE(search_sqlite(access, "x", 10, 0, soon()).has_value());
  access.statement =
      "WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id+1 FROM c) "
      "SELECT id FROM c WHERE id < 0 AND :query != ''";
  const Deadline short_time(machine_clock(), std::chrono::milliseconds(30));
  CHECK(search_sqlite(access, "x", 10, 0, short_time).error().code == Code::try_again);
}

TEST_CASE("Rules for hosts hold for the results of engines that are not behind HTTP",
          "[fetchers][sqlite][hostnames]") {
  const test::TemporaryFolder folder;
  auto database = SqliteDatabase::open(folder.path("x.db"), {.mode = SqliteMode::create});
  REQUIRE(database.has_value());
  REQUIRE(database
              ->run("CREATE TABLE t(url TEXT); INSERT INTO t "
                    "VALUES('https://a.example/1'),('https://b.example/2');")
              .has_value());
  const auto file =
      parse_engine_file("engines:\n  - {name: s, engine: sqlite, database: '" + folder.path("x.db") +
                            "', query_str: 'SELECT url FROM t WHERE :query <> 0'}\n  - {name: c, engine: "
                            "command, command: [/bin/echo, 'https://a.example/1', '{{QUERY}}'], delimiter: "
                            "{chars: ' ', keys: [url, title]}}\n  - {name: l, engine: local, database: '" +
                            index_of_one(folder) + "'}\n",
                        "e.yaml");
  REQUIRE(file.has_value());
  FetcherOptions options;
  options.hostnames.remove = {R"((.*\.)?a\.example$)"};
  options.hostnames.replace = {{"^b", "c"}};
  const auto fetcher = make_fetcher(file->engines, options);
  REQUIRE(fetcher.has_value());
  const std::vector<ExpandedQuery> queries = {{"t", "s", "one"}, {"t", "c", "one"}, {"t", "l", "one"}};
  const auto lists = (*fetcher)->fetch(queries, {.deadline = soon()}, {});
  CHECK(urls_of(lists[0].list) == Urls{"https://c.example/2"});
  for (const FetchedList& list : {lists[1], lists[2]}) {
    CHECK(list.failure == Failure::none);
    CHECK(list.list.hits.empty());
  }
}

TEST_CASE("A query longer than an engine's own limit is not sent to it", "[fetchers][sqlite]") {
  const test::TemporaryFolder folder;
  const auto file = parse_engine_file(
      "engines:\n  - {name: l, engine: local, max_query_bytes: 10, database: '" + index_of_one(folder) +
          "'}\n  - {name: any, engine: local, database: '" + index_of_one(folder) + "'}\n",
      "e.yaml");
  REQUIRE(file.has_value());
  const auto fetcher = make_fetcher(file->engines);
  REQUIRE(fetcher.has_value());
  const std::vector<ExpandedQuery> queries = {{"t", "l", std::string(10, 'a')},
                                              {"t", "l", std::string(11, 'a')},
                                              {"t", "any", std::string(3000, 'a')}};
  const auto lists = (*fetcher)->fetch(queries, {.deadline = soon()}, {});
  CHECK(lists[0].failure == Failure::none);
  CHECK(lists[1].failure == Failure::query_too_long);
  CHECK(lists[2].failure == Failure::none);
}

TEST_CASE("A command gets the query as one argument and nothing else", "[fetchers][command]") {
  CommandAccess access;
  access.url_prefix = "http://x.example/";
  access.arguments = {"/usr/bin/env", "--", "/bin/echo", "--", "{{QUERY}}"};
  access.delimiter = " ";
  access.fields = {"title", "url"};
  // echo prints its first argument, "--", as the title and the rest of the line as the URL.
  CHECK(urls_of(search_command(access, "a;b$(id)`id`", 10, soon())) == Urls{"http://x.example/a;b$(id)`id`"});
  CHECK(urls_of(search_command(access, "-n", 10, soon())) == Urls{"http://x.example/-n"});
  access.arguments = {"/bin/echo", "{{QUERY}}"};
  CHECK(search_command(access, "-n", 10, soon()).error().code == Code::usage);
  CHECK(search_command(access, "a\nb", 10, soon()).error().code == Code::usage);
  CHECK(search_command(access, std::string_view("a\0b", 3), 10, soon()).error().code == Code::usage);
  access.arguments = {"/no/such/program", "{{QUERY}}"};
  CHECK(search_command(access, "x", 10, soon()).error().code == Code::unavailable);
}

TEST_CASE("Further pages of a command are what it prints behind the earlier ones", "[fetchers][command]") {
  Engine engine;
  CommandAccess access;
  access.arguments = {"/bin/sh", "-c", "for i in 1 2 3 4 5; do echo http://p.example/$i; done", "{{QUERY}}"};
  access.fields = {"url"};
  engine.access = access;
  EmbeddedEngine command(engine);
  const auto page = [&](int offset) { return urls_of(command.search("x", {}, 2, offset, soon())); };
  CHECK(page(0) == Urls{"http://p.example/1", "http://p.example/2"});
  CHECK(page(2) == Urls{"http://p.example/3", "http://p.example/4"});
  CHECK(page(4) == Urls{"http://p.example/5"});
  CHECK(page(6).empty());
}

TEST_CASE("A command is stopped in time and its output is limited", "[fetchers][command]") {
  CommandAccess access;
  access.arguments = {"/bin/sleep", "{{QUERY}}"};
  CHECK(search_command(access, "60", 10, Deadline(machine_clock(), std::chrono::milliseconds(80)))
            .error()
            .code == Code::try_again);
  access.arguments = {"/usr/bin/yes", "--", "{{QUERY}}"};
  access.max_bytes = 1000;
  access.fields = {"url"};
  CHECK(urls_of(search_command(access, "http://y.example/", 10, soon())).size() == 10);
  access.arguments = {"/usr/bin/env", "{{QUERY}}"};
  access.delimiter = "\t";
  CHECK(urls_of(search_command(access, "/usr/bin/env", 10, soon())).empty());  // its environment is empty
  const auto ends_with = [&](const char* script) {
    access.arguments = {"/bin/sh", "-c", script, "{{QUERY}}"};
    return search_command(access, "x", 10, soon());
  };
  CHECK(urls_of(ends_with("exit 1")).empty());  // like grep if it finds nothing
  CHECK(urls_of(ends_with("echo http://z.example/; exit 2")).size() == 1);
  for (const char* script : {"exit 2", "kill -9 $$"}) {
    const auto failed = ends_with(script);
    REQUIRE(!failed.has_value());
    CHECK(failed.error().code == Code::unavailable);
    CHECK(failed.error().text.find("printed nothing and ended with status") != std::string::npos);
  }
}

TEST_CASE("A prepared embedded engine needs its file no more for a first search", "[fetchers][local]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("pages.db");
  IndexOptions options;
  options.has_cosine = true;
  options.vectors.source = VectorOptions::Source::lsi;
  options.vectors.dimensions = 2;
  const std::vector<std::pair<std::string, decltype(Engine::access)>> engines = {
      {"words", LocalAccess{database, {}}},
      {"alike", CosineAccess{database}},
      {"meaning", VectorAccess{database, 0.01, ""}}};
  for (const bool is_prepared : {true, false})
    for (const auto& [name, access] : engines) {
      INFO(name << (is_prepared ? " prepared" : ""));
      REQUIRE(build_local_index(database, {folder.write("d.jsonl", kDocuments)}, options).has_value());
      Engine engine;
      engine.name = name;
      engine.access = access;
      EmbeddedEngine embedded(engine);
      if (is_prepared) embedded.prepare();
      std::filesystem::remove(database);
      const auto found = embedded.search("browser", {}, 10, 0, soon());
      CHECK((found.has_value() && !found->hits.empty()) == is_prepared);
    }
}
