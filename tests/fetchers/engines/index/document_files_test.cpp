#include "fetchers/engines/index/document_files.h"

#include <catch2/catch.hpp>

#include "fetchers/documents/text_documents.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using test::TemporaryFolder;

namespace {

struct ReadFolder {
  std::vector<SourceDocument> documents;
  std::vector<LeftOutFile> left_out;
};

ReadFolder read_all(const std::string& path, unsigned threads = 1, const std::string& base_url = "") {
  ReadFolder read;
  auto left_out = read_documents(path, {base_url, threads}, [&](SourceDocument document) -> Result<Taken> {
    read.documents.push_back(std::move(document));
    return Taken();
  });
  INFO((left_out ? "" : left_out.error().text));
  REQUIRE(left_out.has_value());
  read.left_out = left_out->left_out;
  return read;
}

std::string refusal_of(const std::string& path) {
  const auto read = read_documents(path, {}, [](SourceDocument) -> Result<Taken> { return Taken(); });
  REQUIRE(!read.has_value());
  return read.error().text;
}

}  // namespace

TEST_CASE("The title and text and language and date of a page are read", "[fetchers][documents]") {
  auto page = html_document(
      "<html lang=en><head><title>Caf&eacute;\n menu</title><meta property='article:published_time' "
      "content='2024-05-06'><style>p{}</style></head><body><nav>Home</nav><h1>Other</h1><p>Hot "
      "<b>co</b>ffee</p>"
      "<p>Tea<script>alert('x')</script></body>");
  CHECK(page.fields["title"] == "Caf\xC3\xA9 menu");
  CHECK(page.fields["text"] == "Other\n\nHot coffee\n\nTea");
  CHECK(page.fields["language"] == "en");
  CHECK(page.fields["date"] == "2024-05-06");
  CHECK(html_document("<h1>A &amp; B</h1>x").fields["title"] == "A & B");
  CHECK(html_document("<h3>A</h3>x").fields["title"] == "A");
  CHECK(html_document("<body><svg><title>Icon</title></svg><h1 hidden>B</h1><h2>C</h2>x").fields["title"] ==
        "C");
  CHECK(html_document("<p>\xC3\xA9t\xC3\xA9").fields["text"] == "\xC3\xA9t\xC3\xA9");
}

TEST_CASE("Any bytes are accepted as a page and nesting is limited", "[fetchers][documents]") {
  CHECK(html_document("").fields.empty());
  CHECK_NOTHROW(html_document(std::string("\0\xFF<", 3)));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<div>";
  CHECK_NOTHROW(html_document(deep + "x"));
}

TEST_CASE("The title of Markdown is from the front matter or the first heading or the first words",
          "[fetchers][documents]") {
  auto front = markdown_document(
      "---\nlang: de\nlayout: x\ntitle: \"My page\"\ndate: 2024-05-06\n---\n# Heading\nwords\n");
  CHECK(front.fields["title"] == "My page");
  CHECK(front.fields["text"] == "Heading\n\nwords");
  CHECK(front.fields["language"] == "de");
  CHECK(front.fields["date"] == "2024-05-06");
  CHECK(markdown_document("intro\n\n## The *heading*\n").fields["title"] == "The heading");
  CHECK(markdown_document("only a line\nmore").fields["title"] == "only a line more");
  CHECK(markdown_document("- see [the docs](https://x.example/y) `now`\n").fields["text"] ==
        "see the docs now");
}

TEST_CASE("A folder is read in the order of its paths with any number of threads", "[fetchers][documents]") {
  const TemporaryFolder folder;
  folder.write("b.md", "# B\n");
  folder.write("a/one file.html", "<title>One</title>");
  folder.write("a/.hidden.md", "# no\n");
  folder.write(".git/x.md", "# no\n");
  folder.write("c.txt", "First line\nsecond\n");
  folder.write(
      "d.csv",
      "url,title,note\nhttp://x.example/1,\"a, \"\"b\"\"\",n\n\nhttp://x.example/2,\"two\nlines\",\n");
  folder.write("e.jsonl", "{\"url\":\"http://x.example/3\",\"title\":\"three\"}\n");
  folder.write("picture.png", "x");
  for (const unsigned threads : {1U, 4U}) {
    auto read = read_all(folder.path(), threads, "https://docs.example/");
    REQUIRE(read.documents.size() == 6);
    CHECK(read.documents[0].url == "https://docs.example/a/one%20file.html");
    CHECK(read.documents[0].fields["title"] == "One");
    CHECK(read.documents[1].url == "https://docs.example/b.md");
    CHECK(read.documents[2].fields["title"] == "First line");
    CHECK(read.documents[3].fields["title"] == "a, \"b\"");
    CHECK(read.documents[3].fields["note"] == "n");
    CHECK(read.documents[4].fields["title"] == "two\nlines");
    CHECK(read.documents[5].url == "http://x.example/3");
    REQUIRE(read.left_out.size() == 1);
    CHECK(read.left_out[0].path.ends_with("picture.png"));
  }
  CHECK(read_all(folder.path()).documents[1].url == "file://localhost" + folder.path("b.md"));
  const auto picture = read_all(folder.path("picture.png"));  // one of those that a shell's * names
  CHECK(picture.documents.empty());
  REQUIRE(picture.left_out.size() == 1);
  CHECK(picture.left_out[0].why == "a picture");
}

TEST_CASE("Reading a folder reports its progress", "[fetchers][documents]") {
  const TemporaryFolder folder;
  for (int i = 0; i < 300; ++i) folder.write("f/" + std::to_string(i) + ".txt", "text\n");
  std::vector<std::pair<std::size_t, std::size_t>> heard;
  DocumentFileOptions options;
  options.progress = [&](std::size_t done, std::size_t total) { heard.emplace_back(done, total); };
  const auto take = [](SourceDocument) -> Result<Taken> { return Taken(); };
  REQUIRE(read_documents(folder.path("f"), options, take).has_value());
  REQUIRE(heard.size() > 1);
  CHECK(heard.front().first < 300);
  CHECK(heard.back() == std::pair<std::size_t, std::size_t>(300, 300));
}

TEST_CASE("A table without addresses is refused and a malformed row is left out with its line",
          "[fetchers][documents]") {
  const TemporaryFolder folder;
  CHECK(refusal_of(folder.write("a.csv", "title,text\n")).find("a.csv:1: there is no column url") !=
        std::string::npos);
  const auto why = [&](const std::string& name, const std::string& text) {
    const auto read = read_all(folder.write(name, text));
    CHECK(read.documents.empty());
    REQUIRE(read.left_out.size() == 1);
    return read.left_out[0].why;
  };
  CHECK(why("b.csv", "url,title\nx\n").starts_with("line 2: 1 cells, but"));
  CHECK(why("c.csv", "url\n\"x\n").starts_with("line 2: a quoted cell has no closing"));
}

TEST_CASE("Cells of a table are separated by semicolons or tabs if its first row's are",
          "[fetchers][documents]") {
  const TemporaryFolder folder;
  const auto check = [&](const std::string& name, const std::string& text) {
    CAPTURE(name);
    for (const std::string& path : {folder.write(name + "/" + name, text), folder.path(name)}) {
      auto read = read_all(path);
      REQUIRE(read.documents.size() == 2);
      CHECK(read.left_out.empty());
      CHECK(read.documents[0].url == "http://x.example/1");
      CHECK(read.documents[0].fields["title"] == "a, b; c\td");
      CHECK(read.documents[1].fields["title"] == "two");
    }
  };
  check("s.csv", "title;url\n\"a, b; c\td\";http://x.example/1\ntwo;http://x.example/2\n");
  check("t.tsv", "title\turl\r\n\"a, b; c\td\"\thttp://x.example/1\r\ntwo\thttp://x.example/2\r\n");
  check("c.tsv", "title,url\n\"a, b; c\td\",http://x.example/1\ntwo,http://x.example/2\n");
}

TEST_CASE("A line of JSON lines that no text has costs itself alone", "[fetchers][documents]") {
  const TemporaryFolder folder;
  const auto read = read_all(folder.write(
      "a.jsonl", "{\"url\":\"http://x.example/1\"}\n" + std::string(3, '\0') + "\n" +
                     std::string((std::size_t{64} << 20) + 9, '{') + "\n{\"url\":\"http://x.example/2\"}\n"));
  REQUIRE(read.documents.size() == 2);
  CHECK(read.documents[1].url == "http://x.example/2");
  REQUIRE(read.left_out.size() == 1);
  CHECK(read.left_out[0].why.starts_with("line 2 and 1 more: a NUL byte"));
}

TEST_CASE("That the end of a text is not read is said of its file", "[fetchers][documents]") {
  const TemporaryFolder folder;
  const auto why = [&](const std::string& name, const std::string& text) {
    const std::string path = folder.write(name, text);
    auto read = read_all(path);
    REQUIRE_FALSE(read.documents.empty());
    CHECK(read.documents[0].fields["text"].size() <= kMostDocumentText);
    if (read.left_out.empty()) return std::string();
    CHECK(read.left_out.size() == 1);
    CHECK(read.left_out[0].path == path);
    return read.left_out[0].why;
  };
  const auto words = [](std::size_t mebibytes) {
    std::string text;
    while (text.size() < mebibytes << 20) text += "some words of a line\n";
    return text;
  };
  CHECK(why("a.txt", words(3)).empty());
  CHECK(why("a.txt", words(5)) == "the text beyond 4 MiB");
  CHECK(why("a.html", "<p>" + words(5)) == "the text beyond 4 MiB");
  CHECK(why("a.md", words(1)).empty());
  CHECK(why("a.md", words(3)) == "the text beyond 2 MiB");
  folder.write("tables/a.csv", words(5));  // which in a folder is a text
  CHECK(read_all(folder.path("tables")).left_out.front().why == "the text beyond 4 MiB");
  const std::string mail = "From a@b.example Sat Jan  3 01:05:34 2026\nFrom: a@b.example\nSubject: s\n\n";
  CHECK(why("a.eml", "From: a@b.example\nSubject: s\n\n" + words(5)) == "the text beyond 4 MiB");
  CHECK(why("a.mbox", mail + "short\n\n" + mail + words(5)) == "the text beyond 4 MiB in 1 of 2 documents");
}

TEST_CASE("The pages of a sitemap are read from the files around it", "[fetchers][documents][sitemap]") {
  const TemporaryFolder folder;
  folder.write("site/index.html", "<title>Home</title>Welcome");
  folder.write("site/tea/index.html", "<title>Tea</title>Leaves");
  folder.write("site/caf\xC3\xA9.html",
               "<html><head><meta name=date content='2020-01-02'><title>Cafe</title></head>Beans");
  folder.write("secret.html", "<title>Secret</title>");
  const std::string entries =
      "<url><loc> https://drinks.example/ </loc></url>"
      "<url><loc>https://drinks.example/tea?x=1</loc><lastmod>2024-03-04</lastmod></url>"
      "<url><loc>https://drinks.example/caf%C3%A9</loc><lastmod>2024-03-05</lastmod></url>"
      "<url><loc>https://drinks.example/../secret.html</loc></url>"
      "<url><loc>https://drinks.example/%2e%2e/secret.html</loc></url>"
      "<url><loc>https://drinks.example/gone</loc></url><url><loc>ftp://drinks.example/tea</loc></url><url/>";
  const std::string map =
      folder.write("site/sitemap.xml",
                   "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>" +
                       entries + "</urlset>");
  const auto read = read_all(map, 3);
  REQUIRE(read.documents.size() == 3);
  CHECK(read.documents[0].url == "https://drinks.example/");
  CHECK(read.documents[1].url == "https://drinks.example/tea?x=1");
  CHECK(read.documents[1].fields.at("date") == "2024-03-04");
  CHECK(read.documents[2].fields.at("title") == "Cafe");
  CHECK(read.documents[2].fields.at("date") == "2020-01-02");  // the date of the page itself has precedence
  CHECK(read.left_out.size() == 4);
  const std::string index = folder.write(
      "site/all.xml",
      "<sitemapindex><sitemap><loc>https://drinks.example/sitemap.xml</loc></sitemap></sitemapindex>");
  CHECK(read_all(index).documents.size() == 3);
  CHECK(read_all(folder.path("site")).documents.size() == 3);  // its sitemaps name the same files again
  const std::string endless = folder.write(
      "site/endless.xml",
      "<sitemapindex><sitemap><loc>https://drinks.example/endless.xml</loc></sitemap></sitemapindex>");
  CHECK(read_all(endless).documents.empty());
  for (int level = 1; level <= 5; ++level)
    folder.write("site/level" + std::to_string(level) + ".xml",
                 "<sitemapindex><sitemap><loc>https://drinks.example/" +
                     (level == 1 ? "sitemap" : "level" + std::to_string(level - 1)) +
                     ".xml</loc></sitemap></sitemapindex>");
  CHECK(read_all(folder.path("site/level4.xml")).documents.size() == 3);
  CHECK(refusal_of(folder.path("site/level5.xml")).find("more than 4 levels deep") != std::string::npos);
  CHECK(refusal_of(folder.write("feed.xml", "<rss/>")).find("not a sitemap") != std::string::npos);
  CHECK(refusal_of(folder.write("bad.xml", "<urlset>")).find("not valid XML") != std::string::npos);
}

TEST_CASE("Sitemaps that name each other many times are read once each", "[fetchers][documents][sitemap]") {
  const TemporaryFolder folder;
  folder.write("site/p.html", "<title>P</title>page");
  const auto naming = [](const std::string& name, int times) {
    std::string text = "<sitemapindex>";
    for (int i = 0; i < times; ++i)
      text += "<sitemap><loc>https://a.example/" + std::string(i % 2 == 0 ? "" : "./") + name +
              "</loc></sitemap>";
    return text + "</sitemapindex>";
  };
  folder.write("site/a.xml", naming("b.xml", 150));
  folder.write("site/b.xml", naming("c.xml", 150));
  folder.write("site/c.xml", "<urlset><url><loc>https://a.example/p.html</loc></url></urlset>");
  CHECK(read_all(folder.path("site/a.xml")).documents.size() == 1);
}

TEST_CASE("A file that is called a table but holds other bytes is left out", "[fetchers][documents]") {
  const TemporaryFolder folder;
  for (const char* name : {"docs/u.csv", "docs/v.tsv", "docs/w.txt"})
    folder.write(name, std::string("\0\1binary", 8));
  const auto read = read_all(folder.path("docs"));
  CHECK(read.documents.empty());
  REQUIRE(read.left_out.size() == 3);
  CHECK(read.left_out[2].why == "neither text nor a known format");
}

TEST_CASE("The configurations of metafuse and keys in a folder of documents are not read",
          "[fetchers][documents]") {
  const TemporaryFolder folder;
  folder.write("docs/tea.txt", "Green tea\n");
  for (const char* name : {"metafuse.yaml", "engines.yaml", "admin.key", "metafuse.db.secret", "notes.txt"})
    folder.write(std::string("docs/mine/") + name, "secret words\n");
  folder.write("docs/server.pem", "secret words\n");
  const auto read = read_all(folder.path("docs"));
  REQUIRE(read.documents.size() == 1);
  REQUIRE(read.left_out.size() == 2);
  CHECK(read.left_out[0].path.ends_with("docs/mine"));
  CHECK(read.left_out[0].why == "a metafuse configuration, with its keys");
  CHECK(read.left_out[1].why == "a key or secret");
  // the folder may be the configuration's own
  const auto own = read_all(folder.path("docs/mine"));
  REQUIRE(own.documents.size() == 1);
  CHECK(own.documents[0].file.ends_with("notes.txt"));
}

TEST_CASE("A CSV file with a byte order mark has its column url", "[fetchers][documents]") {
  const TemporaryFolder folder;
  const std::string text = "url,title\r\nhttp://x.example/1,one\r\nhttp://x.example/2,two\r\n";
  std::string utf16 = "\xFF\xFE";
  for (const char c : text) utf16 += {c, '\0'};
  for (const std::string& bytes : {"\xEF\xBB\xBF" + text, utf16}) {
    const std::string file = folder.write("docs/table.csv", bytes);
    for (const std::string& path : {file, folder.path("docs")}) {
      const auto read = read_all(path);
      REQUIRE(read.documents.size() == 2);
      CHECK(read.documents[1].url == "http://x.example/2");
      CHECK(read.documents[1].fields.at("title") == "two");
    }
  }
}

TEST_CASE("A quotation mark inside a cell of CSV is one of its characters", "[fetchers][documents]") {
  const TemporaryFolder folder;
  const auto read = read_all(folder.write(
      "a.csv",
      "url,title,text\nhttp://x.example/1,5\" pipe,\"long, \"\"blue\"\"\"\nhttp://x.example/2,6\" pipe,\n"));
  REQUIRE(read.documents.size() == 2);
  CHECK(read.documents[0].fields.at("title") == "5\" pipe");
  CHECK(read.documents[0].fields.at("text") == "long, \"blue\"");
  CHECK(read.documents[1].fields.at("title") == "6\" pipe");
}

TEST_CASE("A row that is no document costs no other row and its line is told", "[fetchers][documents]") {
  const TemporaryFolder folder;
  const std::string row = R"({"url":"http://x.example/","title":"a"})";
  folder.write("docs/a.jsonl", row + "\n{\"url\":\n" + row + "\n[]\n7\n" + row);
  folder.write("docs/b.jsonl", "[1]\n" + row + "\n");
  folder.write("docs/c.csv", "url,title\nhttp://x.example/c,c\nhttp://x.example/d\nhttp://x.example/e,e\n");
  const auto read = read_all(folder.path("docs"));
  CHECK(read.documents.size() == 3 + 1 + 2);
  REQUIRE(read.left_out.size() == 3);
  CHECK(read.left_out[0].why.starts_with("line 2 and 2 more: "));
  CHECK(read.left_out[1].why.starts_with("line 1: not a JSON object"));
  CHECK(read.left_out[2].why.starts_with("line 3: 1 cells, but"));
}

TEST_CASE("Relative addresses of rows continue the base and without one their rows are left out",
          "[fetchers][documents]") {
  const TemporaryFolder folder;
  std::string lines;
  for (const char* url :
       {"doc-4", "/docs/x", "https://whole.example/", "urn:isbn:123", "javascript:alert(1)"})
    lines += std::string("{\"url\":\"") + url + "\"}\n";
  const std::string file = folder.write("docs/a.jsonl", lines);
  for (const std::string& path : {file, folder.path("docs")}) {
    const auto alone = read_all(path);
    REQUIRE(alone.documents.size() == 1);
    CHECK(alone.documents[0].url == "https://whole.example/");
    REQUIRE(alone.left_out.size() == 1);
    CHECK(alone.left_out[0].why.starts_with("line 1 and 3 more: the url \"doc-4\" names no scheme and host"));
    const auto based = read_all(path, 1, "https://wiki.example/a");
    REQUIRE(based.documents.size() == 3);
    CHECK(based.documents[0].url == "https://wiki.example/a/doc-4");
    CHECK(based.documents[1].url == "https://wiki.example/docs/x");
    CHECK(based.left_out[0].why.starts_with("line 4 and 1 more: the url \"urn:isbn:123\""));
    const auto files = read_all(path, 1, "file://localhost/srv/a");
    REQUIRE(files.documents.size() == 3);
    CHECK(files.documents[0].url == "file://localhost/srv/a/doc-4");
    CHECK(files.documents[1].url == "file://localhost/docs/x");
    CHECK(files.documents[2].url == "https://whole.example/");
  }
}

TEST_CASE("Lists of a JSON document become one text and objects are passed over", "[fetchers][documents]") {
  const auto read = [](const std::string& text) {
    return json_document(parse_json(text, "text").value().as_object(), "here");
  };
  const auto document = read(R"({"url":"http://a/","tags":["x",7,true,null,["y"],{"z":1},"w"],"open":false,)"
                             R"("none":[],"more":{"a":"b"},"empty":null,"year":2020})");
  REQUIRE(document.has_value());
  CHECK(document->fields == std::map<std::string, std::string>{{"open", "false"}, {"tags", "x, 7, true, w"}});
  CHECK(document->numbers == std::map<std::string, double>{{"year", 2020}});
  CHECK(read(R"({"url":["http://a/"]})").error().text == "here: the url is not a text");
}

TEST_CASE("A named file that is empty is left out", "[fetchers][documents]") {
  const TemporaryFolder folder;
  for (const char* name : {"a.md", "b.csv", "c"}) {
    const auto read = read_all(folder.write(name, ""));
    CHECK(read.documents.empty());
    REQUIRE(read.left_out.size() == 1);
    CHECK(read.left_out[0].why == "empty");
  }
}

TEST_CASE("A beginning of URLs needs a scheme and a host and nothing behind the path",
          "[fetchers][documents]") {
  for (const char* good : {"", "https://docs.example", "HTTP://docs.example:81/a/", "file://localhost/srv"})
    CHECK(check_base_url(good, "base").has_value());
  for (const char* bad : {"docs.example/", "https://x/a b", "not a url", "https://x/a?b=c", "https://x/#a",
                          "ftp://x/", "https://", "file:///srv", "https://x/\xFF"}) {
    const auto checked = check_base_url(bad, "--base-url");
    REQUIRE(!checked.has_value());
    CHECK(checked.error().code == Code::usage);
    CHECK(checked.error().text.find("begin with https://HOST/") != std::string::npos);
  }
}

TEST_CASE("Damage where documents are kept ends the reading, and a document that is refused does not",
          "[fetchers][documents]") {
  const TemporaryFolder folder;
  const std::vector<std::string> paths = {
      folder.write("rows/a.jsonl", R"({"url":"http://a/1","text":"x"})"
                                   "\n"
                                   R"({"url":"http://a/2","text":"x"})"
                                   "\n"),
      folder.write("table/b.csv", "url,title\nhttp://b/1,x\nhttp://b/2,x\n"),
      folder.write("text/c.txt", "words")};
  for (const std::string& file : paths)
    for (const std::string& path : {file, file.substr(0, file.rfind('/'))}) {
      INFO(path);
      int taken = 0;
      const auto damaged = read_documents(path, {}, [&](SourceDocument) -> Result<Taken> {
        ++taken;
        return fail(Code::bad_data, "damaged index");
      });
      REQUIRE_FALSE(damaged.has_value());
      CHECK(damaged.error().text == "damaged index");
      CHECK(taken == 1);
      const auto refused =
          read_documents(path, {}, [&](SourceDocument) -> Result<Taken> { return Refusal{"not this one"}; });
      REQUIRE(refused.has_value());
      REQUIRE(refused->left_out.size() == 1);
      CHECK(refused->left_out[0].why.find("not this one") != std::string::npos);
    }
}
