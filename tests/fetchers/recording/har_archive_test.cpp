#include "fetchers/recording/har_archive.h"

#include <filesystem>
#include <fstream>
#include <memory>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "tests/support/full_disk.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

EngineRequest request_for(const std::string& url) {
  EngineRequest request;
  request.url = url + "&key=secret";
  request.record_url = url;
  for (const char* name : {"X-Api-Key", "Authorization", "Proxy-Authorization", "Cookie", "X-Auth-Token",
                           "Client-SECRET", "X-Password", "Ocp-Apim-Subscription-Key"})
    request.headers.emplace_back(name, "secret");
  request.headers.emplace_back("Accept", "text/html");
  return request;
}

HttpAnswer answer_with(std::string body) {
  HttpAnswer answer;
  answer.status = 200;
  answer.headers = {{"content-type", "text/html"}, {"set-cookie", "session=secret"}};
  answer.body = std::move(body);
  answer.elapsed = std::chrono::milliseconds(12);
  return answer;
}

class OneAnswer final : public Transport {
 public:
  void send(EngineRequest /*request*/, Done done) override { done(answer_with("one")); }
};

}  // namespace

TEST_CASE("A recording is its owner's alone and holds no value of a secret", "[fetchers][har][security]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("archive.har");
  EngineRequest request;
  request.url = request.record_url = "http://e.example/?q=1";
  request.headers = {{"X-Auth", "hunter2 value"}, {"Accept", "text/html"}};
  add_secret(request.secrets, "hunter2 value");
  HttpAnswer answer = answer_with("<a href='/?key=hunter2%20value'>you sent hunter2 value</a>");
  answer.headers.emplace_back("x-echo", "hunter2 value");
  answer.url = "http://e.example/moved?k=hunter2%20value";
  {
    auto writer = HarWriter::open(path);
    REQUIRE(writer.has_value());
    REQUIRE((*writer)->append(request, answer).has_value());
    REQUIRE((*writer)->close().has_value());
  }
  const auto text = read_text(path, 1 << 20);
  REQUIRE(text.has_value());
  CHECK(text->find("hunter2") == std::string::npos);
  CHECK(text->find("you sent REDACTED") != std::string::npos);
  CHECK(text->find("text/html") != std::string::npos);
  using std::filesystem::perms;
  CHECK((std::filesystem::status(path).permissions() & perms::mask) ==
        (perms::owner_read | perms::owner_write));
}

TEST_CASE("A recording is replayed byte for byte and has no secrets", "[fetchers][har]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("archive.har");
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  {
    auto writer = HarWriter::open(path);
    REQUIRE(writer.has_value());
    HttpAnswer first = answer_with("<p>ä \"x\"</p>\r\n");
    first.url = request_for("http://e.example/?q=1").url;  // not redirected, so it still has the secret
    REQUIRE((*writer)->append(request_for("http://e.example/?q=1"), first).has_value());
    REQUIRE((*writer)->append(request_for("http://e.example/?q=2"), answer_with(bytes)).has_value());
    HttpAnswer fault;
    fault.failure = Failure::timeout;
    fault.message = "no answer";
    REQUIRE((*writer)->append(request_for("http://e.example/?q=3"), fault).has_value());
    REQUIRE((*writer)->close().has_value());
  }
  const auto text = read_text(path, 1 << 20);
  REQUIRE(text.has_value());
  CHECK(text->find("secret") == std::string::npos);
  const auto archive = HarArchive::read(path);
  REQUIRE(archive.has_value());
  REQUIRE(archive->size() == 3);
  const auto found = [&](const std::string& url) { return archive->find(exchange_key(request_for(url))); };
  CHECK(found("http://e.example/?q=1")->body == "<p>ä \"x\"</p>\r\n");
  CHECK(found("http://e.example/?q=1")->header("content-type") == "text/html");
  CHECK(found("http://e.example/?q=2")->body == bytes);
  CHECK(found("http://e.example/?q=3")->failure == Failure::timeout);
  CHECK(found("http://e.example/?q=4") == nullptr);
}

TEST_CASE("A recording continues after a killed one", "[fetchers][har]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("archive.har");
  {
    auto writer = HarWriter::open(path);
    REQUIRE((*writer)->append(request_for("http://e.example/?q=1"), answer_with("old")).has_value());
    REQUIRE((*writer)->close().has_value());
    const auto late = (*writer)->append(request_for("http://e.example/?q=3"), answer_with("late"));
    REQUIRE_FALSE(late.has_value());
    CHECK(late.error().text.find("could not be recorded: the recording has ended") != std::string::npos);
  }
  std::ofstream(path + ".part", std::ios::app) << "{\"startedDateTime\":\"cut";
  {
    auto writer = HarWriter::open(path);
    REQUIRE((*writer)->append(request_for("http://e.example/?q=2"), answer_with("two")).has_value());
    REQUIRE((*writer)->append(request_for("http://e.example/?q=1"), answer_with("new")).has_value());
  }
  const auto archive = HarArchive::read(path);
  REQUIRE(archive.has_value());
  CHECK(archive->size() == 2);
  CHECK(archive->find("GET http://e.example/?q=1\n")->body == "new");
  const std::string text = *read_text(path, 1 << 20);  // each request once
  CHECK(text.find("?q=1\"") == text.rfind("?q=1\""));
}

TEST_CASE("An answer for which the disk has no room is missed aloud and costs no other one",
          "[fetchers][har]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("archive.har");
  auto writer = HarWriter::open(path);
  REQUIRE(writer.has_value());
  const auto record = [&](int number, std::size_t bytes) {
    return (*writer)->append(request_for("http://e.example/?q=" + std::to_string(number)),
                             answer_with(std::string(bytes, 'x')));
  };
  REQUIRE(record(1, 10).has_value());
  {
    const test::FullDisk disk(4096);
    const auto lost = record(2, 10'000);
    REQUIRE_FALSE(lost.has_value());
    CHECK(lost.error().text.find("archive.har.part: the answer could not be recorded") != std::string::npos);
    const auto sent = make_recording_transport(std::make_unique<OneAnswer>(), **writer);
    Failure failure = Failure::none;
    sent->send(request_for("http://e.example/?q=3"),
               [&](const HttpAnswer& answer) { failure = answer.failure; });
    CHECK(failure == Failure::not_recorded);
  }
  REQUIRE(record(4, 10).has_value());
  REQUIRE((*writer)->close().has_value());
  const auto archive = HarArchive::read(path);
  REQUIRE(archive.has_value());
  CHECK(archive->size() == 2);
  CHECK(archive->find("GET http://e.example/?q=4\n") != nullptr);
}

TEST_CASE("A bad HAR file is refused with the place of the mistake", "[fetchers][har]") {
  const test::TemporaryFolder folder;
  for (const std::string text : {"", "{", "[]", "{\"log\":{}}", "{\"log\":{\"entries\":[{}]}}",
                                 "{\"log\":{\"entries\":[{\"request\":{},\"response\":{}}]}}"}) {
    INFO(text);
    const auto read = HarArchive::read(folder.write("bad.har", text));
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().text.find("bad.har") != std::string::npos);
  }
  CHECK(HarArchive::read(folder.path("none.har")).error().code == Code::no_input);
}

TEST_CASE("Of several writers of a recording the last one makes the archive", "[fetchers][har]") {
  for (const bool closes_older_first : {true, false}) {
    const test::TemporaryFolder folder;
    const std::string path = folder.path("archive.har");
    auto older = HarWriter::open(path);
    auto newer = HarWriter::open(path);
    REQUIRE(older.has_value());
    REQUIRE(newer.has_value());
    auto& first = closes_older_first ? *older : *newer;
    auto& second = closes_older_first ? *newer : *older;
    REQUIRE(first->append(request_for("http://e.example/?q=1"), answer_with("one")).has_value());
    REQUIRE(first->close().has_value());
    CHECK_FALSE(std::filesystem::exists(path));
    REQUIRE(second->append(request_for("http://e.example/?q=2"), answer_with("two")).has_value());
    REQUIRE(second->close().has_value());
    CHECK_FALSE(std::filesystem::exists(path + ".part"));
    const auto archive = HarArchive::read(path);
    REQUIRE(archive.has_value());
    CHECK(archive->size() == 2);
    CHECK(archive->find("GET http://e.example/?q=1\n") != nullptr);
    CHECK(archive->find("GET http://e.example/?q=2\n") != nullptr);
  }
}

TEST_CASE("An answer that is no text is recorded without secrets too", "[fetchers][har][security]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("archive.har");
  EngineRequest request;
  request.url = request.record_url = "http://e.example/";
  add_secret(request.secrets, "hunter2");
  auto writer = HarWriter::open(path);
  REQUIRE(writer.has_value());
  REQUIRE((*writer)->append(request, answer_with("caf\xE9 hunter2")).has_value());
  REQUIRE((*writer)->close().has_value());
  const auto archive = HarArchive::read(path);
  REQUIRE(archive.has_value());
  CHECK(archive->find("GET http://e.example/\n")->body == "caf\xE9 REDACTED");
}
