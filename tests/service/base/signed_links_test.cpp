#include "service/base/signed_links.h"

#include <filesystem>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "tests/support/sample_documents.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_server.h"

// Results that are files of this machine: which files are served and, above all, which are not.

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

std::string file_url(const std::string& path) {
  return "file://localhost" + path;
}

std::string answer_of_file(const Result<LocalFile>& file) {
  return file ? std::string(file->media_type) + ": " + file->bytes : "no";
}

/// The links of a page's titles, unescaped.
std::vector<std::string> title_links(const std::string& page) {
  const std::string start = "<h2><a href=\"";
  std::vector<std::string> out;
  for (std::size_t at = page.find(start); at != std::string::npos; at = page.find(start, at + 1)) {
    const std::size_t begin = at + start.size();
    std::string link = page.substr(begin, page.find('"', begin) - begin);
    for (std::size_t amp = link.find("&amp;"); amp != std::string::npos; amp = link.find("&amp;"))
      link.replace(amp, 5, "&");
    out.push_back(link);
  }
  return out;
}

}  // namespace

TEST_CASE("A file URL gives its path but never a hidden file or a parent folder", "[service][files]") {
  CHECK(path_of_file_url("file://localhost/a/b%20c.md") == "/a/b c.md");
  CHECK(path_of_file_url("file:///a/b.md#part") == "/a/b.md");
  for (const char* url : {"file://elsewhere/a.md", "file:a.md", "http://localhost/a.md", "file:///a/../b.md",
                          "file:///a/%2e%2e/b.md", "file:///.ssh/key.txt", "file:///a/.git/x.txt",
                          "file:///a%00.txt", "file:///a%0Ab.txt", ""})
    CHECK(path_of_file_url(url).empty());
  CHECK(path_of_file_url("file:///" + std::string(2043, 'a') + ".txt").size() == 2048);
  CHECK(path_of_file_url("file:///" + std::string(2044, 'a') + ".txt").empty());
}

TEST_CASE("Only files below the folders that can be read get signed links", "[service][files]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("docs/a/b c.md", "words");
  folder.write("docs2/a.md", "words");
  folder.write("secret.md", "words");
  std::filesystem::create_symlink("../secret.md", folder.path("docs/out.md"));
  const std::string large = folder.write("docs/large.md", "");
  std::filesystem::resize_file(large, kMostFileBytes + 1);
  const FileLinks links{"secret", {folder.path("docs")}};
  const std::string link = links.link("pages", file_url(file));
  CHECK(link.starts_with("/files/pages?path="));
  const std::string sign = link.substr(link.rfind('=') + 1);
  CHECK(links.has_signed("pages", file, sign));
  CHECK_FALSE(links.has_signed("other", file, sign));
  CHECK_FALSE(links.has_signed("pages", "/docs/a/c.md", sign));
  CHECK_FALSE(links.has_signed("pages", file, ""));
  CHECK_FALSE(FileLinks{"another", {folder.path("docs")}}.has_signed("pages", file, sign));
  CHECK_FALSE(FileLinks{"secret", {}}.has_signed("pages", file, sign));
  for (const char* name :
       {"docs2/a.md", "docs", "docs/", "secret.md", "docs/out.md", "docs/none.md", "docs/large.md"})
    CHECK(links.link("pages", file_url(folder.path(name))).empty());
  CHECK(links.link("pages", "https://docs/a.md").empty());
  // a name that is not UTF-8, which no parameter of a link could name
  CHECK(links.link("pages", file_url(folder.write("docs/\xFF.md", "words"))).empty());
}

TEST_CASE("A compressed file is opened as what it holds and unknown bytes are saved", "[service][files]") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& name, const std::string& bytes) {
    return read_local_file({folder.path()}, folder.write(name, bytes));
  };
  const auto packed = read("a.txt.gz", gzipped("words"));
  REQUIRE(packed.has_value());
  CHECK(packed->bytes == "words");
  CHECK(packed->name == "a.txt");
  CHECK(packed->media_type == "text/plain; charset=utf-8");
  CHECK_FALSE(read("b.txt.gz", gzipped(std::string(kMostFileBytes + 1, 'a'))).has_value());
  CHECK_FALSE(read("c.txt.gz", "\x1f\x8b nonsense").has_value());
  CHECK(read("README", "words")->is_shown);
  CHECK(read("run.exe", std::string("M\0Z", 3))->media_type == "application/octet-stream");
  CHECK_FALSE(read("x.docx", "PK")->is_shown);
  CHECK(read("x.svg", "<svg onload='alert(1)'/>")->media_type == "text/plain; charset=utf-8");
}

TEST_CASE("A file is read only below its folder and no symbolic link leads out", "[service][files]") {
  const TemporaryFolder folder;
  const std::string text = folder.write("docs/in/a.TXT", "words");
  folder.write("outside.txt", "secret");
  namespace fs = std::filesystem;
  fs::create_symlink("../outside.txt", folder.path("docs/relative.txt"));
  fs::create_symlink(folder.path("outside.txt"), folder.path("docs/absolute.txt"));
  fs::create_directory_symlink(folder.path(), folder.path("docs/up"));
  fs::create_symlink("in/a.TXT", folder.path("docs/inside.txt"));
  fs::create_directory(folder.path("docs/folder.txt"));
  REQUIRE(::mkfifo(folder.path("docs/pipe.txt").c_str(), 0600) == 0);
  const auto read = [&](const std::string& name) {
    return answer_of_file(read_local_file({folder.path("none"), folder.path("docs")}, folder.path(name)));
  };
  CHECK(read("docs/in/a.TXT") == "text/plain; charset=utf-8: words");
  CHECK(read("docs/inside.txt") == "text/plain; charset=utf-8: words");
  for (const char* name : {"outside.txt", "docs/relative.txt", "docs/absolute.txt", "docs/up/outside.txt",
                           "docs/../outside.txt", "docs/folder.txt", "docs/pipe.txt", "docs/none.txt"})
    CHECK(read(name) == "no");
  folder.write("docs/in/a.TXT", std::string(kMostFileBytes, 'a'));
  CHECK(read("docs/in/a.TXT").size() == kMostFileBytes + std::string("text/plain; charset=utf-8: ").size());
  fs::resize_file(text, kMostFileBytes + 1);
  CHECK(read("docs/in/a.TXT") == "no");
}

TEST_CASE("The page opens allowed files through the server and no script in them runs",
          "[service][files][page]") {
  const TemporaryFolder folder;
  const std::string page_file = folder.write("docs/a.html", "<script>alert(1)</script>hello");
  const auto hits = [&](const ExpandedQuery& query) {
    fetchers::FetchedList list = TestServer::default_answer(query);
    list.list.hits.front().url = file_url(page_file);
    list.list.hits.front().key.clear();  // that of the other address
    return list;
  };
  TestServer server(hits, "files: [" + folder.path("docs") + "]\n");
  const std::string page = body_in(server.get("/search?q=ada"));
  const auto links = title_links(page);
  REQUIRE(!links.empty());
  REQUIRE(links.front().starts_with("/files/pages?path="));
  CHECK(page.find("copy their path") == std::string::npos);
  CHECK(page.find("<b></b>" + page_file) != std::string::npos);
  const std::string opened = server.get(links.front());
  CHECK(status_in(opened) == 200);
  CHECK(body_in(opened) == "<script>alert(1)</script>hello");
  CHECK(opened.find("Content-Security-Policy: sandbox; default-src 'none';") != std::string::npos);
  CHECK(opened.find("script-src") == std::string::npos);
  CHECK(opened.find("X-Content-Type-Options: nosniff") != std::string::npos);
  CHECK(opened.find("Content-Disposition: inline; filename*=UTF-8''a.html") != std::string::npos);
  // a link with a changed signature, to another file, or without its parameters
  CHECK(status_in(server.get(links.front() + "0")) == 404);
  CHECK(status_in(server.get("/files/pages?path=%2Fetc%2Fhosts.txt&sign=0")) == 404);
  CHECK(status_in(server.get("/files/pages")) == 404);
  // programs get the file URL unchanged
  CHECK(body_in(server.get("/search?q=ada&format=json")).find(file_url(page_file)) != std::string::npos);

  TestServer closed(hits);
  const std::string shown = body_in(closed.get("/search?q=ada"));
  CHECK(title_links(shown).size() + 1 == links.size());  // it has no link
  CHECK(shown.find("<b></b>" + page_file) != std::string::npos);
  CHECK(shown.find("copy their path") != std::string::npos);
  CHECK(status_in(closed.get(links.front())) == 404);
}

TEST_CASE("The folders of `files` must exist", "[service][files][config]") {
  const TemporaryFolder folder;
  folder.write("docs/a.txt", "");
  const auto wrong = [&](const std::string& value) {
    const std::string text =
        "version: 1\ntemplates: [" + folder.write("t.yaml", "") + "]\nfiles: " + value + "\n";
    const auto config = parse_config(text, folder.path("metafuse.yaml"));
    return config ? "folders: " + std::to_string(config->files.size()) + " " + config->files.front()
                  : config.error().text;
  };
  CHECK(wrong("docs") == "folders: 1 " + folder.path("docs"));
  CHECK(wrong("[docs/../docs]") == "folders: 1 " + folder.path("docs"));
  CHECK(wrong("[none]").find("\"none\" is not a folder") != std::string::npos);
  CHECK(wrong("[/]").find("name a smaller folder") != std::string::npos);
}
