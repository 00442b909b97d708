#include "fetchers/engines/index/added_documents.h"

#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>

#include "core/deadline.h"
#include "fetchers/engines/index/cosine_engine.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/passage_source.h"
#include "fetchers/engines/index/vector_engine.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

SourceDocument page(const std::string& url, const std::string& title, const std::string& text) {
  SourceDocument document;
  document.url = url;
  document.fields = {{"title", title}, {"text", text}};
  return document;
}

template <class Engine, class... Given>
std::vector<std::string> found_by(Engine& engine, const std::string& query, const Given&... given) {
  const auto list = engine.search(query, given..., 30, 0, Deadline{machine_clock(), std::chrono::seconds(5)});
  if (!list) FAIL(list.error().text);
  std::vector<std::string> urls;
  for (const Hit& hit : list->hits) urls.push_back(hit.url);
  std::sort(urls.begin(), urls.end());
  return urls;
}

using Urls = std::vector<std::string>;

/// A folder of pages with an index like that of `metafuse init`.
struct KeptIndex {
  test::TemporaryFolder folder;
  std::string database = folder.path("pages.db");
  IndexOptions options;

  KeptIndex() {
    for (int i = 0; i < 12; ++i)
      folder.write("pages/" + std::to_string(i) + ".txt",
                   "Otters and rivers " + std::to_string(i) + "\n\nAn otter swims in rivers and lakes.");
    options.updates = true;
    options.has_cosine = true;
    options.keeps_terms = true;
    options.vectors.source = VectorOptions::Source::lsi;
    options.vectors.dimensions = 3;
    build();
  }

  void build() {
    const auto built = build_local_index(database, {folder.path("pages")}, options);
    if (!built) FAIL(built.error().text);
  }

  std::string url_of(const std::string& name) const {
    return "file://localhost" + folder.path("pages/" + name);
  }

  std::optional<IndexReport> follow(bool defers_training = true) {
    FollowOptions following;
    following.defers_training = defers_training;
    const auto report = follow_added_documents(database, following);
    if (!report) FAIL(report.error().text);
    return *report;
  }
};

}  // namespace

TEST_CASE("Changes of added documents are numbered and the last of an address counts", "[fetchers][local]") {
  const test::TemporaryFolder folder;
  auto added = AddedDocuments::open(folder.path("x.db"));
  REQUIRE(added.has_value());
  CHECK(*added->last_step() == 0);
  REQUIRE(added->put(std::vector{page("http://a/", "one", "first"), page("http://b/", "two", "second")})
              .has_value());
  REQUIRE(added->put(std::vector{page("http://a/", "one", "changed")}).has_value());
  // of two addresses, one has a document
  CHECK(added->remove(std::vector<std::string>{"http://b/", "http://c/", "http://b/"}).value() == 1);
  CHECK(*added->last_step() == 3);
  const auto all = *added->since(0);
  REQUIRE(all.size() == 3);
  CHECK(all[0].url == "http://a/");
  CHECK(all[0].document->fields.at("text") == "changed");
  CHECK(all[0].step == 2);
  CHECK_FALSE(all[1].document.has_value());
  CHECK_FALSE(all[2].document.has_value());
  CHECK(added->since(2)->size() == 2);
  CHECK(added->since(3)->empty());
  // a step is never read in part
  CHECK(added->since(0, 1)->size() == 1);
  CHECK(added->since(0, 2)->size() == 3);
  // another process sees the same
  auto again = AddedDocuments::open_if_there(folder.path("x.db"));
  REQUIRE(again.has_value());
  REQUIRE(again->has_value());
  CHECK(*(*again)->last_step() == 3);
  CHECK_FALSE(AddedDocuments::open_if_there(folder.path("y.db"))->has_value());
}

TEST_CASE("What is removed is counted among the documents of files and of programs", "[fetchers][local]") {
  KeptIndex index;
  auto added = AddedDocuments::open(index.database);
  REQUIRE(added.has_value());
  REQUIRE(added->put(std::vector{page("http://new/", "New", "words")}).has_value());
  const auto removed = [&](const std::vector<std::string>& urls) { return added->remove(urls).value(); };
  CHECK(removed({"https://nosuch.example/1"}) == 0);
  CHECK(removed({index.url_of("0.txt"), "http://new/"}) == 2);
  CHECK(removed({index.url_of("0.txt"), "http://new/"}) == 0);
  // also of an index that does not keep its documents
  const test::TemporaryFolder folder;
  const std::string plain = folder.path("plain.db");
  REQUIRE(build_local_index(plain, {folder.write("a.jsonl", "{\"url\":\"http://a/\"}\n")}).has_value());
  CHECK(AddedDocuments::open(plain)->remove(std::vector<std::string>{"http://a/", "http://b/"}).value() == 1);
}

TEST_CASE("An index follows what programs add and replace and remove", "[fetchers][local][update]") {
  KeptIndex index;
  LocalEngine words({index.database, {}});
  CosineEngine alike({index.database});
  VectorEngine meaning({index.database, 0.01, ""});
  CHECK(found_by(words, "otter").size() == 12);
  CHECK_FALSE(index.follow().has_value());
  auto added = AddedDocuments::open(index.database);
  REQUIRE(added.has_value());
  REQUIRE(
      added->put(std::vector{page("http://new/", "Badgers", "a badger digs near rivers, unlike an otter")})
          .has_value());
  REQUIRE(added->remove(std::vector{index.url_of("3.txt")}).has_value());
  const auto report = index.follow();
  REQUIRE(report.has_value());
  CHECK(report->added == 1);
  CHECK(report->removed == 1);
  CHECK(report->documents == 12);
  CHECK(report->folded == 1);
  // the engines notice the new file themselves
  CHECK(found_by(words, "badger") == Urls{"http://new/"});
  CHECK(found_by(alike, "badger") == Urls{"http://new/"});
  CHECK(found_by(words, "otter").size() == 12);
  const auto by_meaning = found_by(meaning, "rivers", std::span<const float>());
  CHECK(std::count(by_meaning.begin(), by_meaning.end(), "http://new/") == 1);
  CHECK(std::count(by_meaning.begin(), by_meaning.end(), index.url_of("3.txt")) == 0);
  CHECK_FALSE(index.follow().has_value());
  REQUIRE(added->put(std::vector{page("http://new/", "Badgers", "a brock digs")}).has_value());
  CHECK(index.follow()->changed == 1);
  CHECK(found_by(words, "badger AND otter").empty());
  CHECK(found_by(words, "brock") == Urls{"http://new/"});
  // what waited for training is trained later
  const auto trained = index.follow(false);
  REQUIRE(trained.has_value());
  CHECK(trained->folded == 0);
  CHECK(found_by(words, "brock") == Urls{"http://new/"});
}

TEST_CASE("A document whose new text has no known word is no longer near what it was near",
          "[fetchers][local][update]") {
  KeptIndex index;
  auto added = AddedDocuments::open(index.database);
  REQUIRE(added.has_value());
  const auto is_found = [&] {
    VectorEngine meaning({index.database, 0.01, ""});
    const auto urls = found_by(meaning, "rivers", std::span<const float>());
    return std::count(urls.begin(), urls.end(), "http://new/") == 1;
  };
  REQUIRE(added->put(std::vector{page("http://new/", "Otters", "an otter swims in rivers")}).has_value());
  REQUIRE(index.follow().has_value());
  CHECK(is_found());
  REQUIRE(added->put(std::vector{page("http://new/", "Xyzzy", "plugh")}).has_value());
  REQUIRE(index.follow().has_value());
  CHECK_FALSE(is_found());
}

TEST_CASE("Passages come from the file that replaced the one opened before", "[fetchers][local][update]") {
  KeptIndex index;
  PassageSource texts(index.database);
  Hit hit;
  hit.url = "http://new/";
  const auto passage = [&] {
    const Hit* const hits[] = {&hit};
    const auto found = texts.passages("brock", hits, Deadline{machine_clock(), std::chrono::seconds(5)});
    if (!found) FAIL(found.error().text);
    return found->front().text;
  };
  CHECK(passage().empty());
  auto added = AddedDocuments::open(index.database);
  REQUIRE(added.has_value());
  std::string text;
  for (int i = 0; i < 60; ++i) text += "A sentence about rivers and lakes. ";
  REQUIRE(added->put(std::vector{page("http://new/", "Badgers", text + "A brock digs.")}).has_value());
  REQUIRE(index.follow().has_value());
  CHECK(passage().find("A brock digs.") != std::string::npos);
}

TEST_CASE("Building an index again keeps what programs added and leaves out what they removed",
          "[fetchers][local][update]") {
  KeptIndex index;
  auto added = AddedDocuments::open(index.database);
  REQUIRE(added.has_value());
  REQUIRE(added
              ->put(std::vector{page("http://new/", "Badgers", "a badger"),
                                page(index.url_of("4.txt"), "Better", "a better text of quokkas")})
              .has_value());
  REQUIRE(added->remove(std::vector{index.url_of("3.txt")}).has_value());
  for (const bool updates : {true, false}) {
    INFO(updates);
    index.options.updates = updates;
    index.folder.write("pages/4.txt", "Otters\n\nthe file has changed");
    index.build();
    LocalEngine words({index.database, {}});
    CHECK(found_by(words, "badger") == Urls{"http://new/"});
    CHECK(found_by(words, "quokkas") == Urls{index.url_of("4.txt")});
    CHECK(found_by(words, "otter").size() == 10);
  }
  // the last one keeps no documents, so nothing can be added to it
  REQUIRE(added->put(std::vector{page("http://newer/", "Wolves", "a wolf")}).has_value());
  const auto refused = follow_added_documents(index.database, {});
  CHECK(refused.error().code == Code::bad_config);
  CHECK(refused.error().text.find("build it again with metafuse index --update") != std::string::npos);
}

TEST_CASE("A document with a new field and a first document make an index anew",
          "[fetchers][local][update]") {
  KeptIndex index;
  auto added = AddedDocuments::open(index.database);
  REQUIRE(added.has_value());
  SourceDocument document = page("http://new/", "Badgers", "a badger");
  document.fields["colour"] = "grey";
  document.numbers["year"] = 2020;
  REQUIRE(added->put(std::vector{document}).has_value());
  REQUIRE(index.follow().has_value());
  LocalEngine words({index.database, {}});
  CHECK(found_by(words, "colour : grey") == Urls{"http://new/"});
  CHECK(found_by(words, "otter").size() == 12);

  const std::string empty = index.folder.path("empty.db");
  CHECK_FALSE(follow_added_documents(empty, {})->has_value());
  auto first = AddedDocuments::open(empty);
  REQUIRE(first.has_value());
  REQUIRE(first->put(std::vector{page("http://a/", "One", "the first document")}).has_value());
  const auto made = follow_added_documents(empty, {});
  if (!made) FAIL(made.error().text);
  LocalEngine engine({empty, {}});
  CHECK(found_by(engine, "first") == Urls{"http://a/"});
  REQUIRE(first->remove(std::vector<std::string>{"http://a/"}).has_value());
  const auto emptied = follow_added_documents(empty, {});
  if (!emptied) FAIL(emptied.error().text);
  CHECK(found_by(engine, "first").empty());
}

TEST_CASE("An index of another version is built again with the documents that programs added",
          "[fetchers][local][update]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  const std::string lines =
      folder.write("d.jsonl", "{\"url\":\"http://f/\",\"title\":\"file\",\"text\":\"from a file\"}\n");
  IndexOptions options;
  options.updates = true;
  REQUIRE(build_local_index(database, {lines}, options).has_value());
  {
    auto added = AddedDocuments::open(database);
    REQUIRE(added.has_value());
    REQUIRE(added->put(std::vector{page("http://a/", "One", "from a program")}).has_value());
  }
  auto file = SqliteDatabase::open(database, {.mode = SqliteMode::create});
  REQUIRE(file.has_value());
  REQUIRE(file->run("UPDATE meta SET value='2' WHERE name='version';").has_value());
  const auto built = build_local_index(database, {lines}, options);
  if (!built) FAIL(built.error().text);
  CHECK(built->other_version == "2");
  LocalEngine engine({database, {}});
  CHECK(found_by(engine, "program") == Urls{"http://a/"});
  CHECK(found_by(engine, "file") == Urls{"http://f/"});
}

TEST_CASE("A document whose fields no index could have is refused with the others of its batch",
          "[fetchers][local][update]") {
  const test::TemporaryFolder folder;
  auto added = AddedDocuments::open(folder.path("x.db"));
  REQUIRE(added.has_value());
  const auto refused = [&](const std::string& field, bool is_number) {
    SourceDocument document = page("http://b/", "two", "second");
    if (is_number)
      document.numbers[field] = 1;
    else
      document.fields[field] = "x";
    const auto put = added->put(std::vector{page("http://a/", "one", "first"), document});
    INFO((put ? std::string() : put.error().text));
    CHECK(put.has_error());
    return put ? std::string() : put.error().text;
  };
  CHECK(refused("a b", false).find("the field name \"a b\" cannot be a column") != std::string::npos);
  CHECK(refused("title", true).find("\"title\" is a number here and a text in other documents") !=
        std::string::npos);
  CHECK(*added->last_step() == 0);
  SourceDocument many = page("http://c/", "three", "third");
  for (int i = 0; i < 62; ++i) many.fields["f" + std::to_string(i)] = "x";
  CHECK(added->put(std::vector{many}).has_value());
  CHECK(refused("one_more", false).find("more than 64 different fields") != std::string::npos);
}

TEST_CASE("An index that begins with one document gets vectors when there are more",
          "[fetchers][local][update]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  auto added = AddedDocuments::open(database);
  REQUIRE(added.has_value());
  REQUIRE(added->put(std::vector{page("http://first/", "One", "the first document")}).has_value());
  REQUIRE(follow_added_documents(database, {}).has_value());
  std::vector<SourceDocument> more;
  for (int i = 0; i < 12; ++i)
    more.push_back(page("http://" + std::to_string(i) + "/", "Otters " + std::to_string(i),
                        "An otter swims in rivers and lakes."));
  REQUIRE(added->put(more).has_value());
  const auto followed = follow_added_documents(database, {});
  REQUIRE(followed.has_value());
  CHECK((*followed)->folded == 13);
  CHECK(facts_of_index(database)->folded == 13);  // also for a server that starts now
  FollowOptions training;
  training.defers_training = false;
  const auto trained = follow_added_documents(database, training);
  REQUIRE(trained.has_value());
  CHECK((*trained)->folded == 0);
  CHECK(facts_of_index(database)->folded == 0);
  VectorEngine meaning({database, 0.01, ""});
  CHECK(found_by(meaning, "rivers", std::span<const float>()).size() == 12);
}

namespace {

/// A document with a text in a field that is a number in others.
SourceDocument page_of_year(const std::string& url) {
  SourceDocument document = page(url, "Year", "of an added document");
  document.fields["year"] = "2020";
  return document;
}

std::string row_of_year(const std::string& url) {
  return "{\"url\":\"" + url + "\",\"title\":\"Year\",\"text\":\"of a file\",\"year\":2020}\n";
}

}  // namespace

TEST_CASE("What files say against the fields of added documents is left out and named",
          "[fetchers][local][update]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  SourceDocument document = page_of_year("http://added/");
  document.numbers["date"] = 1;
  for (int i = 0; i < 60; ++i) document.fields["f" + std::to_string(i)] = "x";
  REQUIRE(AddedDocuments::open(database)->put(std::vector{document}).has_value());
  folder.write("pages/a.jsonl", row_of_year("http://a1/") + row_of_year("http://a2/") +
                                    "{\"url\":\"http://a3/\",\"text\":\"of a file\"}\n");
  folder.write("pages/b.jsonl", "{\"url\":\"http://b/\",\"text\":\"x\",\"f60\":\"x\",\"f61\":\"x\"}\n");
  folder.write("pages/c.html", "<meta name=date content=2020-01-02><title>Dated</title><p>of a file</p>");
  folder.write("pages/d.txt", "A text\n\nof a file");
  const auto built = build_local_index(database, {folder.path("pages")}, *options_to_update(database));
  if (!built) FAIL(built.error().text);
  REQUIRE(built->read.left_out.size() == 3);
  CHECK(built->read.left_out[0].path == folder.path("pages/a.jsonl"));
  CHECK(built->read.left_out[0].why.starts_with("line 1 and 1 more: the field \"year\" is a text in one"));
  CHECK(built->read.left_out[1].why == "line 1: more than 64 different fields");
  CHECK(built->read.left_out[2].path == folder.path("pages/c.html"));
  CHECK(built->read.left_out[2].why.starts_with("the field \"date\" is a text in one"));
  LocalEngine words({database, {}});
  CHECK(found_by(words, "year : 2020") == Urls{"http://added/"});
  CHECK(found_by(words, "file") == Urls{"file://localhost" + folder.path("pages/d.txt"), "http://a3/"});
}

TEST_CASE("One added document that does not go with the others of an index holds up none of them",
          "[fetchers][local][update]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  const std::vector<std::string> files = {folder.write("d.jsonl", row_of_year("http://file/"))};
  auto added = AddedDocuments::open(database);
  REQUIRE(added.has_value());
  SourceDocument other = page("http://other/", "Other", "of an added document");
  if (GENERATE(true, false)) other.fields["colour"] = "grey";  // has the index built again
  REQUIRE(added->put(std::vector{page_of_year("http://year/"), other}).has_value());
  IndexOptions options;
  options.updates = true;
  REQUIRE(build_local_index(folder.path("elsewhere.db"), files, options).has_value());
  std::filesystem::rename(folder.path("elsewhere.db"), database);
  const auto followed = follow_added_documents(database, {});
  if (!followed) FAIL(followed.error().text);
  REQUIRE((*followed)->read.left_out.size() == 1);
  CHECK((*followed)->read.left_out[0].path == "http://year/");
  CHECK((*followed)->read.left_out[0].why.starts_with("http://year/: the field \"year\" is a text in one"));
  LocalEngine words({database, {}});
  CHECK(found_by(words, "added") == Urls{"http://other/"});
  CHECK(found_by(words, "file") == Urls{"http://file/"});
  CHECK_FALSE(follow_added_documents(database, {})->has_value());
  // what the files now have is refused at once
  const auto again = added->put(std::vector{page("http://new/", "New", "text"), [] {
                                              auto document = page("http://a/", "A", "text");
                                              document.numbers["year"] = 1;
                                              return document;
                                            }()});
  CHECK(again.error().code == Code::bad_data);
  // when the files are read, the added document comes first
  const auto built = build_local_index(database, files, *options_to_update(database));
  if (!built) FAIL(built.error().text);
  REQUIRE(built->read.left_out.size() == 1);
  CHECK(built->read.left_out[0].path == files.front());
  CHECK(found_by(words, "added") == Urls{"http://other/", "http://year/"});
}

TEST_CASE("A field that files bring is known to the next document that is added",
          "[fetchers][local][update]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  auto added = AddedDocuments::open(database);
  REQUIRE(added.has_value());
  IndexOptions options;
  options.updates = true;
  REQUIRE(build_local_index(database, {folder.write("d.jsonl", row_of_year("http://file/"))}, options)
              .has_value());
  const auto refused = added->put(std::vector{page_of_year("http://year/")});
  REQUIRE(refused.has_error());
  CHECK(refused.error().text.find("\"year\" is a text here and a number in other documents") !=
        std::string::npos);
}

TEST_CASE("To follow what programs added writes nothing where they never did", "[fetchers][local][update]") {
  KeptIndex kept;
  kept.options.updates = GENERATE(true, false);
  kept.build();
  const auto followed = follow_added_documents(kept.database, {});
  if (!followed) FAIL(followed.error().text);
  CHECK_FALSE(followed->has_value());
  for (const auto& entry : std::filesystem::directory_iterator(kept.folder.path()))
    CHECK(entry.path().string().find(".added") == std::string::npos);
}
