#include "core/text_file.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/atomic_file.h"
#include "tests/support/synced_paths.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;

namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  const auto read = for_each_line(path, [&](std::string_view line, std::size_t) -> Result<void> {
    lines.emplace_back(line);
    return {};
  });
  REQUIRE(read.has_value());
  return lines;
}

Error error_of(const std::string& path, const TextLimits& limits = {}) {
  const auto read = for_each_line(
      path, [](std::string_view, std::size_t) -> Result<void> { return {}; }, limits);
  REQUIRE(read.has_error());
  return read.error();
}

}  // namespace

TEST_CASE("A BOM and CRLF and a missing last line end are accepted", "[core][text]") {
  const test::TemporaryFolder folder;
  CHECK(lines_of(folder.write("a", "\xef\xbb\xbfone\r\ntwo\r\n\r\nthree")) ==
        std::vector<std::string>{"one", "two", "", "three"});
  CHECK(lines_of(folder.write("empty", "")).empty());
}

TEST_CASE("Lines that cross block borders stay whole", "[core][text]") {
  const test::TemporaryFolder folder;
  std::string text;
  std::vector<std::string> want;
  for (int i = 0; i < 300; ++i) {
    want.push_back(std::string(static_cast<std::size_t>(i * 53 % 20'011), static_cast<char>('a' + i % 26)));
    text += want.back() + "\n";
  }
  CHECK(lines_of(folder.write("long", text)) == want);
}

TEST_CASE("Lines that are too long or hold a NUL byte are passed over if somebody is told", "[core][text]") {
  const test::TemporaryFolder folder;
  const bool is_packed = GENERATE(false, true);
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  for (const std::size_t size : {kLimit + 1, 2 * kLimit, 5 * kLimit}) {
    const std::string lines = "one\n" + std::string(size, 'x') + "\n" + std::string("a\0b\n", 4) + "two\r\n" +
                              std::string(size, 'y');
    std::string path = folder.write("t", lines);
    if (is_packed) {
      REQUIRE(std::system(("gzip -fk " + path).c_str()) == 0);
      path += ".gz";
    }
    std::vector<std::string> told;
    TextLimits limits;
    limits.max_line_bytes = kLimit;
    limits.leave_out = [&](const Error& why) { told.push_back(why.text); };
    std::vector<std::pair<std::string, std::size_t>> taken;
    const auto read = for_each_line(
        path,
        [&](std::string_view line, std::size_t number) -> Result<void> {
          taken.emplace_back(line, number);
          return {};
        },
        limits);
    REQUIRE(read.has_value());
    CHECK(taken == std::vector<std::pair<std::string, std::size_t>>{{"one", 1}, {"two", 4}});
    REQUIRE(told.size() == 3);
    CHECK(told[0].find(":2: a line longer than 1048576 bytes") != std::string::npos);
    CHECK(told[1].find(":3: a NUL byte") != std::string::npos);
    CHECK(told[2].find(":5: a line longer") != std::string::npos);
  }
}

TEST_CASE("Unreadable and binary files give one error", "[core][text]") {
  const test::TemporaryFolder folder;
  CHECK(error_of(folder.path("absent")).code == Code::no_input);
  CHECK(error_of(folder.path()).code == Code::no_input);
  CHECK(error_of(folder.write("nul", std::string("a\nb\0c\n", 6))).text.find(":2: ") != std::string::npos);
  TextLimits limits;
  limits.max_line_bytes = 10;
  CHECK(error_of(folder.write("wide", std::string(11, 'x')), limits).code == Code::bad_data);
  CHECK(error_of(folder.write("broken.gz", "\x1f\x8b\x08garbage")).code == Code::bad_data);
}

TEST_CASE("A written file is complete or absent", "[core][text]") {
  const test::TemporaryFolder folder;
  REQUIRE(write_file(folder.path("out"), "first").has_value());
  REQUIRE(write_file(folder.path("out"), "second").has_value());
  CHECK(*read_text(folder.path("out"), 100) == "second");
  CHECK(write_file(folder.path("no/such/folder"), "x").error().code == Code::no_input);
  CHECK(write_file("/dev/full", "x").error().code == Code::try_again);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("A file takes the place of another when it is on the disk and so does its name", "[core][text]") {
  const test::TemporaryFolder folder;
  const std::string beside = folder.write("new", "new"), path = folder.write("out", "old");
  const auto real = [](const std::string& name) { return std::filesystem::canonical(name).string(); };
  const std::vector<std::string> wanted = {real(beside), real(folder.path())};
  const test::SyncedPaths synced;
  REQUIRE(replace_file(beside, path).has_value());
  CHECK(synced.paths == wanted);
  CHECK(*read_text(path, 100) == "new");
  CHECK_FALSE(std::filesystem::exists(beside));
  CHECK(replace_file(beside, path).error().code == Code::no_input);
  CHECK(*read_text(path, 100) == "new");
  CHECK(synced.paths == wanted);
  REQUIRE(write_file(path, "newer").has_value());
  REQUIRE(synced.paths.size() == 4);
  CHECK(synced.paths[2] != real(path));  // its bytes, before they have the name
  CHECK(std::filesystem::path(synced.paths[2]).parent_path() == real(folder.path()));
  CHECK(synced.paths[3] == real(folder.path()));
}

TEST_CASE("A lock is waited for and its holder may remove its file", "[core][text]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("f.lock");
  auto held = FileLock::take(path, "held");
  REQUIRE(held.has_value());
  const auto refused = FileLock::take(path, "held");
  REQUIRE(refused.has_error());
  CHECK(refused.error().code == Code::unavailable);
  CHECK(refused.error().text == path + ": held");
  CHECK(FileLock::wait(path, "held", [] { return true; }).error().code == Code::unavailable);
  int tries = 0;
  const auto waited = FileLock::wait(path, "held", [&] {
    if (++tries == 2) {
      std::filesystem::remove(path);
      *held = FileLock();
    }
    return tries > 100;
  });
  REQUIRE(waited.has_value());
  CHECK(tries == 2);
  CHECK(std::filesystem::exists(path));  // another file of the name
  CHECK(FileLock::take(path, "held").has_error());
  CHECK(FileLock::take(folder.path("no/such/folder"), "held").error().code == Code::no_input);
}

TEST_CASE("Only what may pass by itself is worth another try", "[core][text]") {
  for (const int number : {ENOSPC, EDQUOT, EFBIG, EIO})
    CHECK(write_error("f", number).code == Code::try_again);
  for (const int number : {EACCES, EROFS, ENOENT}) CHECK(write_error("f", number).code == Code::no_input);
}

TEST_CASE("A replaced file keeps its mode and a new one follows the umask", "[core][text]") {
  using std::filesystem::perms;
  const test::TemporaryFolder folder;
  const auto mode_of = [&](const char* name) {
    return std::filesystem::status(folder.path(name)).permissions();
  };
  const mode_t mask = ::umask(027);
  const bool is_written = write_file(folder.path("new"), "x").has_value();
  ::umask(mask);
  REQUIRE(is_written);
  CHECK(mode_of("new") == (perms::owner_read | perms::owner_write | perms::group_read));
  std::filesystem::permissions(folder.path("new"), perms::owner_read | perms::owner_write);
  REQUIRE(write_file(folder.path("new"), "y").has_value());
  CHECK(mode_of("new") == (perms::owner_read | perms::owner_write));
}

TEST_CASE("Writing through a symbolic link replaces what it leads to and keeps its owner", "[core][text]") {
  const test::TemporaryFolder folder;
  const test::TemporaryFolder elsewhere;
  REQUIRE(write_file(elsewhere.path("file"), "first").has_value());
  std::filesystem::create_symlink(elsewhere.path("file"), folder.path("link"));
  constexpr uid_t kOther = 65534;
  const bool is_root = ::geteuid() == 0;
  if (is_root) REQUIRE(::chown(elsewhere.path("file").c_str(), kOther, kOther) == 0);
  CHECK(check_writable(folder.path("link")).has_value());
  REQUIRE(write_file(folder.path("link"), "second").has_value());
  CHECK(std::filesystem::is_symlink(folder.path("link")));
  CHECK(*read_text(elsewhere.path("file"), 100) == "second");
  if (!is_root) return;
  struct stat status {};
  REQUIRE(::stat(elsewhere.path("file").c_str(), &status) == 0);
  CHECK(status.st_uid == kOther);
  REQUIRE(::chown(folder.path().c_str(), kOther, kOther) == 0);
  REQUIRE(FileLock::take(folder.path("lock"), "taken").has_value());
  REQUIRE(::stat(folder.path("lock").c_str(), &status) == 0);
  CHECK(status.st_uid == kOther);
}

TEST_CASE("A writer that is killed leaves the old file and nothing beside it", "[core][text]") {
  const test::TemporaryFolder folder;
  const int probe = ::open(folder.path().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (probe < 0) {
    WARN("the file system of " << folder.path() << " knows no files without a name");
    return;
  }
  ::close(probe);
  REQUIRE(write_file(folder.path("out"), "old").has_value());
  const pid_t child = ::fork();
  if (child == 0) {
    auto writer = FileWriter::open(folder.path("out"));
    if (writer && writer->write("half of the new")) ::raise(SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(*read_text(folder.path("out"), 100) == "old");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("A line may be exactly as long as the limit, which may be a power of two", "[core][text]") {
  const test::TemporaryFolder folder;
  for (const std::size_t limit : {std::size_t{1000}, std::size_t{1} << 20, std::size_t{1} << 21}) {
    TextLimits limits;
    limits.max_line_bytes = limit;
    const auto lines_in = [&](const std::string& text) {
      std::size_t lines = 0;
      const auto read = for_each_line(
          folder.write("long", text),
          [&](std::string_view, std::size_t) -> Result<void> {
            ++lines;
            return {};
          },
          limits);
      return read ? lines : 0;
    };
    INFO(limit);
    CHECK(lines_in(std::string(limit, 'x') + "\ny\n") == 2);
    CHECK(lines_in(std::string(limit + 1, 'x') + "\ny\n") == 0);
  }
}
