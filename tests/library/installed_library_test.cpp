#include <filesystem>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/support/command.h"

using namespace metafuse;

namespace {

std::set<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace

TEST_CASE("The library exports exactly the functions of its list", "[library][symbols]") {
  const auto listed = test::run_command({"sh", "-c",
                                         "nm -D --defined-only '" METAFUSE_LIBRARY_FILE
                                         "' | sed -n 's/.* T \\([^@]*\\).*/\\1/p; s/.* [BDRVWu] /other:/p'"});
  REQUIRE(listed.status == 0);
  const auto known = read_text(METAFUSE_SOURCE_DIR "/library/exported-symbols.txt", 1 << 20);
  CHECK(words_of(listed.out) == words_of(*known));
  const auto header = read_text(METAFUSE_SOURCE_DIR "/library/include/metafuse.h", 1 << 20);
  for (const std::string& name : words_of(*known)) CHECK(header->find(name + '(') != std::string::npos);
}

TEST_CASE("The examples in C and C++ build and run with the installed library", "[library][install]") {
  const test::TemporaryFolder folder;
  const std::string build = std::filesystem::path(METAFUSE_EXECUTABLE).parent_path().string();
  const std::string script = R"sh(set -e
build=$1; source=$2; prefix=$3/prefix
for component in library development; do cmake --install "$build" --component $component --prefix "$prefix"; done >&2
mv "$prefix" "$3/moved"; prefix=$3/moved
cmake -S "$prefix/share/doc/metafuse/examples/library" -B "$3/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >&2
cmake --build "$3/build" >&2
cd "$3"; build/fuse; build/train
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name metafuse.pc)") pkg-config --cflags --libs metafuse)sh";
  const auto done = test::run_command({"sh", "-c", script, "sh", build, METAFUSE_SOURCE_DIR, folder.path()});
  INFO(done.out << done.err);
  REQUIRE(done.status == 0);
  CHECK(done.out.find("1 d1 0.032522\n2 d3 0.032266\n3 d7 0.016129\n") == 0);
  CHECK(done.out.find("refused: no method \"rff\"; did you mean rrf") != std::string::npos);
  CHECK(done.out.find("first: z\n{\"document\":\"z\"") != std::string::npos);
  CHECK(done.out.find("map 1 over 12 queries\nrefused (66): nowhere.json") != std::string::npos);
  CHECK(done.out.find("-lmetafuse") != std::string::npos);
}
