#include "core/child_process.h"

#include <filesystem>

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

using namespace metafuse;

namespace {

struct Ran {
  std::string output;
  int status = 0;
};

Ran run_limited(const std::string& script, const std::string& input = "") {
  ChildProcess process;
  const ChildLimits limits{std::size_t{256} << 20, 5};
  REQUIRE(process.start({"/bin/bash", "-c", script}, {.text = input, .limits = limits}).has_value());
  const Deadline deadline(machine_clock(), std::chrono::seconds(30));
  const auto output = process.read(1 << 20, deadline);
  REQUIRE(output.has_value());
  const auto status = process.status(deadline);
  REQUIRE(status.has_value());
  return {*output, *status};
}

}  // namespace

TEST_CASE("A limited program reads its input and tells its status", "[core][child_process]") {
  const Ran ran = run_limited("cat; exit 3", "words\n");
  CHECK(ran.output == "words\n");
  CHECK(ran.status == 3);
  ChildProcess missing;
  REQUIRE(missing.start({"/nonexistent/program"}, {.limits = ChildLimits{1 << 28, 1}}).has_value());
  CHECK(*missing.status(Deadline(machine_clock(), std::chrono::seconds(30))) == 127);
}

TEST_CASE("A limited program opens no socket and writes no file and gets little memory",
          "[core][child_process]") {
  const metafuse::test::TemporaryFolder folder;
  CHECK(run_limited("exec 3<>/dev/tcp/127.0.0.1/9 && echo open").output.empty());
  CHECK(run_limited("exec 3<>/dev/udp/127.0.0.1/9 && echo open").output.empty());
  CHECK(run_limited("trap '' XFSZ; echo words > " + folder.path("file") + " && echo written").output.empty());
  std::error_code error;
  CHECK((!std::filesystem::exists(folder.path("file")) ||
         std::filesystem::file_size(folder.path("file"), error) == 0));
  CHECK(run_limited("x=$(head -c 400000000 /dev/zero | tr '\\0' a) && echo ${#x}").output.find("400000000") ==
        std::string::npos);
}
