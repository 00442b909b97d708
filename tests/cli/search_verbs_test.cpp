// The verbs that index and search, as they are used from a terminal and a pipe.

#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>
#include <sys/socket.h>

#include "tests/support/command.h"
#include "tests/support/running_program.h"
#include "tests/support/skip.h"
#include "tests/support/wire_server.h"

using namespace metafuse;
using test::run_metafuse;
using test::TemporaryFolder;

namespace {

/// An index of JSON lines, with a configuration that searches it by any word and, for few, as a phrase.
struct SearchedLines {
  explicit SearchedLines(const std::string& lines) {
    folder.write("e.yaml", "engines: [{name: e, engine: local, database: i.db}]\n");
    folder.write("t.yaml",
                 "version: 1\ndomain: d\nslots: {Q: {required: true}}\ntemplates:\n"
                 "  - {id: any, engine: e, query: '{Q|any}'}\n"
                 "  - {id: phrase, engine: e, query: '{Q|short|phrase}'}\n");
    folder.write("c.yaml", "version: 1\ndefault_domain: d\ntemplates: [t.yaml]\nengines: [e.yaml]\n");
    const auto done =
        run_metafuse({"index", "--database", folder.path("i.db"), folder.write("d.jsonl", lines)});
    INFO(done.err);
    REQUIRE(done.status == 0);
  }

  test::CommandResult search(const std::string& query) const {
    return run_metafuse({"search", "--config", folder.path("c.yaml"), query});
  }

  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("Control characters of a title stay out of every verb's output", "[cli][search]") {
  const SearchedLines lines(
      R"({"url":"https://a.example/1?\u009b31m","title":"line one\nline two\ttab \u001b[31m\u0007","text":"armadillo"})"
      "\n");
  const auto found = lines.search("armadillo");
  CHECK(found.out.find("\tline one line two tab  [31m \n") != std::string::npos);
  CHECK(found.out.find("\xC2\x9B") == std::string::npos);
  CHECK(std::count(found.out.begin(), found.out.end(), '\n') == 1);
  CHECK(std::count(found.out.begin(), found.out.end(), '\t') == 3);
  const auto tried =
      run_metafuse({"engines", "try", "--config", lines.folder.path("e.yaml"), "e", "armadillo"});
  CHECK(tried.out.find("line one line two tab") != std::string::npos);
  CHECK(tried.out.find('\x1b') == std::string::npos);
  const auto checked =
      run_metafuse({"config", "check", "--live", "--query", "armadillo", lines.folder.path("c.yaml")});
  CHECK(checked.out.find("line one line two tab") != std::string::npos);
  CHECK(checked.out.find('\x1b') == std::string::npos);
}

TEST_CASE("Nothing of an engine's answer acts on the terminal that shows it", "[cli][search]") {
  const test::WireServer server([](int socket) {
    std::string request(4096, '\0');
    ::recv(socket, request.data(), request.size(), 0);
    test::send_all(socket,
                   "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
                   "\x1b[31mhello \xC2\x9B"
                   "32m");
  });
  const TemporaryFolder folder;
  const std::string engines =
      folder.write("e.yaml", "engines: [{name: e, engine: json_engine, search_url: 'http://127.0.0.1:" +
                                 std::to_string(server.port()) +
                                 "/?q={query}', results_query: r, url_query: u, title_query: t}]\n");
  const std::string words = std::string(METAFUSE_EXECUTABLE) + " engines try --config " + engines + " e red";
  const auto at_terminal = test::run_command({"script", "-qec", words, "/dev/null"});
  const auto piped = test::run_command({"sh", "-c", words});
  CHECK(at_terminal.out.find(" [31mhello  32m") != std::string::npos);
  CHECK(piped.out.find("\x1b[31mhello \xC2\x9B"
                       "32m") != std::string::npos);  // for a program
}

TEST_CASE("A list that is not asked does not make a failed search a good one", "[cli][search]") {
  const SearchedLines lines("{\"url\":\"https://a.example/1\",\"title\":\"hello\"}\n");
  CHECK(lines.search("hello").status == 0);
  CHECK(lines.search("nothing").status == 0);
  std::filesystem::remove(lines.folder.path("i.db"));
  CHECK(lines.search("hello").status == 69);
  CHECK(lines.search("hello big world").status == 69);
}

TEST_CASE("A word behind the value of a slot is a query of its own", "[cli][search]") {
  const SearchedLines lines(R"({"url":"https://a.example/1","title":"x","text":"armadillo"})"
                            "\n");
  const auto done =
      run_metafuse({"search", "--config", lines.folder.path("c.yaml"), "--set", "Q=armadillo", "armadillo"});
  CHECK(done.status == 64);
  CHECK(done.err.find("give either a QUERY or --set") != std::string::npos);
}

TEST_CASE("A base URL without a scheme is refused before anything is read", "[cli][index]") {
  const TemporaryFolder folder;
  const std::string page = folder.write("a.txt", "words");
  const auto done =
      run_metafuse({"index", "--database", folder.path("i.db"), "--base-url", "docs.example.com/", page});
  CHECK(done.status == 64);
  CHECK(done.err.find("--base-url \"docs.example.com/\": begin with https://HOST/") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.path("i.db")));
}

TEST_CASE("What was left out is told without the control characters of names", "[cli][index]") {
  const TemporaryFolder folder;
  folder.write("docs/a.txt", "words");
  folder.write("docs/b\x1b[31m.jsonl", "{\"url\":\"https://a.example/\",\"\\u001b]0;x\\u0007\":\"y\"}\n");
  const auto done = run_metafuse({"index", "--database", folder.path("i.db"), folder.path("docs")});
  CHECK(done.status == 0);
  CHECK(done.err.find("line 1: the field name \" ]0;x \" cannot be a column") != std::string::npos);
  CHECK(done.err.find_first_of("\x1b\x07") == std::string::npos);
}

TEST_CASE("One empty file among those named does not stop an index", "[cli][index]") {
  const TemporaryFolder folder;
  const std::string page = folder.write("a.md", "# Words\n");
  const std::string empty = folder.write("b.md", "");
  const auto done = run_metafuse({"index", "--database", folder.path("i.db"), page, empty});
  CHECK(done.status == 0);
  CHECK(done.err.find("Markdown                1         1  empty") != std::string::npos);
  const auto none = run_metafuse({"index", "--database", folder.path("i.db"), empty});
  CHECK(none.status == 65);
  CHECK(none.err.find("b.md: empty") != std::string::npos);
  CHECK(none.err.find("the index is left as it was") != std::string::npos);
  const std::string blank = folder.write("c.txt", " \n\t\n");
  const auto blanks = run_metafuse({"index", "--database", folder.path("i.db"), page, blank});
  CHECK(blanks.status == 0);
  CHECK(blanks.err.find("text                    0         1  empty") != std::string::npos);
}

TEST_CASE("A folder that may not be read is named among what was left out", "[cli][index]") {
  const TemporaryFolder folder;
  folder.write("docs/a.txt", "words");
  folder.write("docs/closed/b.txt", "words");
  namespace fs = std::filesystem;
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(folder.path("docs/closed"), fs::perms::none);
  const std::vector<std::string> index = {METAFUSE_EXECUTABLE, "index", "--database", folder.path("i.db"),
                                          folder.path("docs")};
  const auto done = test::run_command(test::as_user("daemon", index));
  fs::permissions(folder.path("docs/closed"), fs::perms::owner_all);
  if (done.status == 126 || done.status == 127)
    return test::skip("the user daemon cannot run programs here; build metafuse where all may read it");
  INFO(done.err);
  CHECK(done.status == 0);
  CHECK(done.err.find("left out: " + folder.path("docs/closed") + ": no permission") != std::string::npos);
}
