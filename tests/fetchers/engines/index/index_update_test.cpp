#include "fetchers/engines/index/index_update.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/sqlite_database.h"
#include "core/text_file.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

std::string line_of(const std::string& url, const std::string& text) {
  return "{\"url\":\"http://" + url + "/\",\"title\":\"page\",\"text\":\"" + text + "\"}\n";
}

/// A folder of files that were written some seconds ago, and its index.
struct UpdatedFolder {
  test::TemporaryFolder folder;
  std::string database = folder.path("x.db");
  std::chrono::seconds age{1000};

  /// Writes a file that is newer than the files before.
  void write(const std::string& name, const std::string& text) {
    folder.write("pages/" + name, text);
    std::filesystem::last_write_time(folder.path("pages/" + name),
                                     std::filesystem::file_time_type::clock::now() - --age);
  }

  /// Writes a file that looks as it did before.
  void write_unseen(const std::string& name, const std::string& text) {
    const auto path = folder.path("pages/" + name);
    const auto time = std::filesystem::last_write_time(path);
    REQUIRE(std::filesystem::file_size(path) == text.size());
    folder.write("pages/" + name, text);
    std::filesystem::last_write_time(path, time);
  }

  IndexReport update(std::vector<std::string> names = {""}) const {
    IndexOptions options;
    options.updates = true;
    for (std::string& name : names) name = folder.path("pages/" + name);
    auto report = build_local_index(database, names, options);
    if (!report) FAIL(report.error().text);
    return *report;
  }

  std::set<std::string> found(const std::string& query) const {
    const Deadline deadline(machine_clock(), std::chrono::seconds(60));
    const auto list = LocalEngine({database, {}}).search(query, 100, 0, deadline);
    if (!list) FAIL(list.error().text);
    std::set<std::string> urls;
    for (const Hit& hit : list->hits) urls.insert(hit.url);
    return urls;
  }
};

using FoundAfter = std::set<std::string>;

}  // namespace

TEST_CASE("An update does not read a file of rows that is as it was", "[fetchers][local][update]") {
  UpdatedFolder files;
  files.write("a.jsonl", line_of("a1", "first") + line_of("a2", "first"));
  files.write("b.csv", "url,text\nhttp://b/,first\n");
  const bool is_named = GENERATE(true, false);
  const std::vector<std::string> names =
      is_named ? std::vector<std::string>{"a.jsonl", "b.csv"} : std::vector<std::string>{""};
  files.update(names);
  files.write_unseen("a.jsonl", line_of("a1", "other") + line_of("a2", "other"));
  files.write("b.csv", "url,text\nhttp://b/,second\nhttp://c/,second\n");
  const auto report = files.update(names);
  CHECK(report.is_update);
  CHECK(report.documents == 4);
  CHECK(report.changed == 1);
  CHECK(report.added == 1);
  CHECK(report.removed == 0);
  CHECK(files.found("first") == FoundAfter{"http://a1/", "http://a2/"});
  CHECK(files.found("second") == FoundAfter{"http://b/", "http://c/"});
  files.write("a.jsonl", line_of("a2", "third"));
  CHECK(files.update(names).removed == 1);
  CHECK(files.found("first").empty());
  std::filesystem::remove(files.folder.path("pages/b.csv"));
  CHECK(files.update({"a.jsonl"}).documents == 1);
  CHECK(files.found("third OR second") == FoundAfter{"http://a2/"});
}

TEST_CASE("An update knows a file by any of its paths", "[fetchers][local][update]") {
  UpdatedFolder files;
  const std::vector<std::string> names = {"a.jsonl", "b.txt", "c.csv"};
  files.write("a.jsonl", line_of("a", "first"));
  files.write("b.txt", "The first text");
  files.write("c.csv", "url,text\nhttp://c/,first\n");
  files.update();
  files.write_unseen("a.jsonl", line_of("a", "other"));
  const bool is_old = GENERATE(true, false);  // an index that names files as they were given
  const auto relative = std::filesystem::relative(files.folder.path("pages"));
  if (is_old) {
    auto database = SqliteDatabase::open(files.database, {.mode = SqliteMode::create});
    REQUIRE(database.has_value());
    auto rename = database->prepare("UPDATE files SET path=? WHERE path LIKE ?");
    REQUIRE(rename.has_value());
    for (const std::string& name : names)
      REQUIRE(rename->run((relative / name).string(), "%/" + name).has_value());
  }
  IndexOptions options;
  options.updates = true;
  for (const std::string& path :
       {relative.string(), files.folder.path("pages/../pages/"), files.folder.path("pages/.")}) {
    INFO(path);
    const auto report = build_local_index(files.database, {path}, options);
    REQUIRE(report.has_value());
    CHECK(report->is_update);
    CHECK(report->documents == 3);
    CHECK(report->added + report->changed + report->removed == 0);
    CHECK(files.found("other").empty());
  }
  CHECK(files.update(names).documents == 3);
  CHECK(files.found("first").size() == 3);
}

TEST_CASE("A document whose field has another type is left out alone", "[fetchers][local][update]") {
  UpdatedFolder files;
  const std::string page = "<meta name=date content=2024-05-06><title>page</title><p>needle";
  files.write("a.jsonl", "{\"url\":\"http://a/\",\"date\":2024,\"text\":\"needle\"}\n");
  files.write("c.txt", "a needle");
  const bool is_update = GENERATE(true, false);
  if (is_update) files.update();
  files.write("b.html", page);
  const auto refused = [](const IndexReport& report) {
    REQUIRE(report.read.left_out.size() == 1);
    CHECK(report.read.left_out[0].path.ends_with("b.html"));
    CHECK(
        report.read.left_out[0].why.starts_with("the field \"date\" is a text in one document and a number"));
    CHECK(report.documents == 2);
  };
  const bool is_named = GENERATE(true, false);
  const std::vector<std::string> names =
      is_named ? std::vector<std::string>{"a.jsonl", "b.html", "c.txt"} : std::vector<std::string>{""};
  refused(files.update(names));
  refused(files.update(names));
  CHECK(files.found("needle").size() == 2);
  files.write("b.html", "<title>page</title><p>needle");
  CHECK(files.update(names).read.left_out.empty());
  CHECK(files.found("needle").size() == 3);
}

TEST_CASE("Of a document that two files have, an update finds the last", "[fetchers][local][update]") {
  UpdatedFolder files;
  files.write("a.jsonl", line_of("x", "early") + line_of("a", "early"));
  files.write("b.jsonl", line_of("b", "later") + (GENERATE(true, false) ? line_of("x", "later") : ""));
  files.update();
  files.write("b.jsonl", line_of("b", "later") + line_of("x", "later"));
  files.update();
  CHECK(files.found("later") == FoundAfter{"http://b/", "http://x/"});
  files.write("a.jsonl", line_of("x", "changed") + line_of("a", "early"));
  files.update();
  CHECK(files.found("later") == FoundAfter{"http://b/", "http://x/"});
  CHECK(files.found("changed").empty());
  files.write("b.jsonl", line_of("b", "later"));
  files.update();
  CHECK(files.found("changed") == FoundAfter{"http://x/"});
  CHECK(files.found("later") == FoundAfter{"http://b/"});
  files.write("c.jsonl", line_of("x", "new"));
  files.update();
  CHECK(files.found("new") == FoundAfter{"http://x/"});
  CHECK(files.found("early") == FoundAfter{"http://a/"});
}

TEST_CASE("A file that newly has a document of a later one, which has not changed, does not take it",
          "[fetchers][local][update]") {
  UpdatedFolder files;
  files.write("b.jsonl", line_of("b", "early"));
  files.write("d.jsonl", line_of("d", "later") + line_of("x", "later"));
  files.update();
  files.write("a.jsonl", line_of("a", "new") + line_of("x", "new"));
  files.write("b.jsonl", line_of("b", "changed") + line_of("x", "changed"));
  for (int round = 0; round < 2; ++round) {
    INFO(round);
    const auto report = files.update();
    CHECK(report.is_update);
    CHECK(report.documents == 4);
    CHECK(files.found("later") == FoundAfter{"http://d/", "http://x/"});
    CHECK(files.found("new") == FoundAfter{"http://a/"});
    CHECK(files.found("changed") == FoundAfter{"http://b/"});
  }
  files.write("e.jsonl", line_of("x", "last"));
  files.update();
  CHECK(files.found("last") == FoundAfter{"http://x/"});
  std::filesystem::remove(files.folder.path("pages/e.jsonl"));
  files.write("d.jsonl", line_of("d", "later"));
  files.update();
  CHECK(files.found("changed") == FoundAfter{"http://b/", "http://x/"});
}

TEST_CASE("An index in a language that was found is updated in place, with stems or without",
          "[fetchers][local][update]") {
  const std::string english =
      "The cat sat on the mat and looked at the bird in the old tree for a long while. ";
  const std::string estonian =
      "Kass istus p\xC3\xB5randal ja vaatas vanas puus olevat lindu, kuid lind ei n\xC3\xA4inud teda "
      "\xC3\xBCldse. ";
  const bool is_estonian = GENERATE(true, false);
  const std::string text = is_estonian ? estonian + estonian : english + english;
  UpdatedFolder files;
  files.write("a.jsonl", line_of("a", text));
  CHECK_FALSE(files.update().is_update);
  for (const std::string name : {"b", "c"}) {
    files.write(name + ".jsonl", line_of(name, text));
    const auto options = options_to_update(files.database);
    REQUIRE(options.has_value());
    const auto report = build_local_index(files.database, {files.folder.path("pages")}, *options);
    REQUIRE(report.has_value());
    CHECK(report->is_update);
    CHECK(report->added == 1);
    CHECK(report->language == (is_estonian ? "et" : "en"));
  }
  CHECK(files.found(is_estonian ? "istus" : "sat").size() == 3);
}

TEST_CASE("Words of a language that an update brings are found by their inflections",
          "[fetchers][local][update]") {
  UpdatedFolder files;
  const std::string english =
      "The cat sat on the mat and looked at the bird in the old tree for a long while, as all cats are used "
      "to. ";
  files.write("a.jsonl", line_of("a", english + english));
  files.update();
  CHECK(files.found("looking") == FoundAfter{"http://a/"});
  const std::string german =
      "Die Kinder schauten den Vogel im alten Baum an, aber er sang nicht, weil er noch sehr jung war. ";
  files.write("b.jsonl", line_of("b", german + german));
  CHECK(files.update().is_update);
  CHECK(files.found("Kindern") == FoundAfter{"http://b/"});
  CHECK(files.found("looking") == FoundAfter{"http://a/"});
}

TEST_CASE("What was left out of a file is told again without reading it again", "[fetchers][local][update]") {
  UpdatedFolder files;
  files.write("a.jsonl", line_of("a", "first"));
  const bool is_added = GENERATE(true, false);
  if (is_added) files.update();
  const std::string bad = "{broken\n";
  files.write("b.jsonl", line_of("b", "first") + bad + bad);
  files.write("c.csv", "url,text\nc\n");  // without any document
  files.write("d.txt", "first " + std::string(std::size_t{5} << 20, 'x'));
  const auto built = files.update();
  CHECK(built.is_update == is_added);
  REQUIRE(built.read.left_out.size() == 3);
  CHECK(built.read.left_out[0].why.starts_with("line 2 and 1 more: "));
  CHECK(built.read.left_out[2].why == "the text beyond 4 MiB");
  files.write_unseen("b.jsonl",
                     line_of("b", "other") + line_of("e", "").substr(0, 2 * bad.size() - 1) + "\n");
  files.write_unseen("c.csv", "url,text\nd\n");
  for (int i = 0; i < 2; ++i) {
    const auto updated = files.update();
    CHECK(updated.is_update);
    REQUIRE(updated.read.left_out.size() == 3);
    for (std::size_t file = 0; file < 3; ++file) {
      CHECK(updated.read.left_out[file].path == built.read.left_out[file].path);
      CHECK(updated.read.left_out[file].why == built.read.left_out[file].why);
    }
    CHECK(updated.changed + updated.added + updated.removed == 0);
  }
  CHECK(files.found("other").empty());
  files.write("b.jsonl", bad);  // its documents go
  const auto why = [](const IndexReport& report) {
    const auto left_out = report.read.left_out;
    const auto at =
        std::ranges::find_if(left_out, [](const auto& one) { return one.path.ends_with("b.jsonl"); });
    return at == left_out.end() ? std::string() : at->why;
  };
  const std::string all_bad = why(files.update());
  CHECK(all_bad.starts_with("line 1: "));
  files.write_unseen("b.jsonl", "[1,2,3]\n");
  CHECK(why(files.update()) == all_bad);
  files.write("b.jsonl", line_of("b", "second"));
  files.write("c.csv", "url,text\nhttp://c/,second\n");
  std::filesystem::remove(files.folder.path("pages/d.txt"));
  CHECK(files.update().read.left_out.empty());
  CHECK(files.update().read.left_out.empty());
  CHECK(files.found("second") == FoundAfter{"http://b/", "http://c/"});
  auto index = SqliteDatabase::open(files.database, {.mode = SqliteMode::create});
  REQUIRE(index.has_value());
  CHECK_FALSE(finds_row(*index, "SELECT 1 FROM left_out"));
}

TEST_CASE("A file with a row that does not go with others is read by every update",
          "[fetchers][local][update]") {
  UpdatedFolder files;
  files.write("a.jsonl", "{\"url\":\"http://a/\",\"text\":\"first\",\"size\":3}\n");
  files.write("b.jsonl",
              "{\"url\":\"http://b/\",\"text\":\"first\",\"size\":\"x\"}\n" + line_of("c", "first"));
  CHECK(files.update().read.left_out.size() == 1);
  CHECK(files.update().read.left_out.size() == 1);
  std::filesystem::remove(files.folder.path("pages/a.jsonl"));
  CHECK(files.update().read.left_out.empty());
  CHECK(files.found("first") == FoundAfter{"http://b/", "http://c/"});
}

TEST_CASE("A file that has just changed is read by the next update", "[fetchers][local][update]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("a.txt", "one");
  CHECK(stamp_of(path).empty());
  std::filesystem::last_write_time(path,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::seconds(5));
  const std::string stamp = stamp_of(path);
  CHECK_FALSE(stamp.empty());
  CHECK(stamp == stamp_of(path));
  CHECK(stamp_of(path, "http://old.example/a") != stamp_of(path, "http://new.example/a"));
  folder.write("a.txt", "three");
  CHECK(stamp_of(path) != stamp);
  CHECK(stamp_of(folder.path("none")).empty());
}

TEST_CASE("A document's number beyond all lengths is damage, takes no memory and has the index built again",
          "[fetchers][local][update]") {
  UpdatedFolder files;
  files.write("a.jsonl", line_of("a", "first") + line_of("b", "first"));
  files.update();
  {
    auto file = SqliteDatabase::open(files.database, {.mode = SqliteMode::create});
    REQUIRE(file.has_value());
    REQUIRE(file->run("UPDATE sources SET id=200000000 WHERE id=1;").has_value());
  }
  files.write("a.jsonl", line_of("a", "second"));
  IndexOptions options;
  options.updates = true;
  const auto report = build_local_index(files.database, {{files.folder.path("pages/")}}, options);
  REQUIRE(report.has_value());
  CHECK(report->was_damaged);
  CHECK_FALSE(report->is_update);
  CHECK(report->documents == 1);
  const auto next = build_local_index(files.database, {{files.folder.path("pages/")}}, options);
  REQUIRE(next.has_value());
  CHECK(next->is_update);
}

TEST_CASE("An index with damaged pages is found to be, and built again from its files",
          "[fetchers][local][update]") {
  UpdatedFolder files;
  for (int i = 0; i < 300; ++i)
    files.write(std::to_string(i) + ".jsonl",
                line_of(std::to_string(i), "first words of " + std::to_string(i)));
  files.update();
  REQUIRE(check_index(files.database).has_value());
  std::string bytes = *read_text(files.database, 100'000'000);
  REQUIRE(bytes.size() > 20 * 4096);
  std::fill(bytes.begin() + 8 * 4096, bytes.end(), '\x5A');
  files.folder.write("damaged", bytes);
  std::filesystem::rename(files.folder.path("damaged"), files.database);
  const auto checked = check_index(files.database);
  REQUIRE(checked.has_error());
  CHECK(checked.error().code == Code::bad_data);
  CHECK(checked.error().text.find("delete it and build it again") != std::string::npos);
  files.write("0.jsonl", line_of("0", "second"));
  IndexOptions options;
  options.updates = true;
  const auto report = build_local_index(files.database, {{files.folder.path("pages/")}}, options);
  INFO(report.error().text);
  REQUIRE(report.has_value());
  CHECK(report->was_damaged);
  CHECK(report->documents == 300);
  CHECK(check_index(files.database).has_value());
}

TEST_CASE("A foreign table in a folder is left out and neither stops an index nor has it built again",
          "[fetchers][local][update]") {
  UpdatedFolder files;
  files.write("a.jsonl", line_of("a1", "first") + "{\"url\":\"http://a2/\",\"text\":\"first\",\"size\":3}\n");
  const auto [name, text] = GENERATE(table<std::string, std::string>(
      {{"data.jsonl", "{\"id\":\"1\",\"text\":\"foreign\"}\n"},
       {"data.jsonl", "{\"url\":\"\",\"text\":\"foreign\"}\n"},
       {"data.jsonl", "{\"url\":\"http://f/\",\"content-type\":\"x\",\"text\":\"foreign\"}\n"},
       {"data.jsonl", "{\"url\":\"http://f/\",\"size\":\"large\",\"text\":\"foreign\"}\n"},
       {"data.jsonl", "{\"url\":\"http://f/\",\"rank\":\"1\",\"text\":\"foreign\"}\n"},
       {"data.csv", "url,Full Name\nhttp://f/,foreign\n"},
       {"data.csv", "url,text\n,foreign\n"}}));
  files.write(name, text);
  const auto built = files.update();
  CHECK(built.documents == 2);
  REQUIRE(built.read.left_out.size() == 1);
  CHECK(built.read.left_out[0].path.ends_with(name));
  CHECK(built.read.left_out[0].why.starts_with("line "));
  CHECK(files.found("foreign").empty());
  files.write("b.txt", "second\n");
  const auto updated = files.update();
  CHECK(updated.is_update);
  CHECK(updated.documents == 3);
  CHECK(updated.read.left_out.size() == 1);
  // the same if its user names it
  IndexOptions options;
  options.updates = true;
  const auto named = build_local_index(
      files.database, {files.folder.path("pages/a.jsonl"), files.folder.path("pages/" + name)}, options);
  REQUIRE(named.has_value());
  CHECK(named->documents == 2);
  CHECK(named->read.left_out.size() == 1);
}

TEST_CASE("A field whose type changes in all documents has the index built again",
          "[fetchers][local][update]") {
  UpdatedFolder files;
  const auto line = [](const std::string& size) {
    return "{\"url\":\"http://a/\",\"text\":\"first\",\"size\":" + size + "}\n";
  };
  const std::string named = GENERATE("", "a.jsonl");
  files.write("a.jsonl", line("1"));
  files.update({named});
  files.write("a.jsonl", line("\"large\""));
  const auto report = files.update({named});
  CHECK_FALSE(report.is_update);
  CHECK(report.read.left_out.empty());
  CHECK(files.found("size:large") == FoundAfter{"http://a/"});
}
