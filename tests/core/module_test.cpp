#include "core/module.h"

#include <string>

#include <catch2/catch.hpp>

using namespace metafuse;

TEST_CASE("A part of the program that is not installed is named with its file", "[core][module]") {
  // The program itself has a symbol of this name; it is not looked for there.
  const auto loaded = load_module("metafuse_none.so", "malloc");
  REQUIRE(loaded.has_error());
  CHECK(loaded.error().code == Code::unavailable);
  CHECK(loaded.error().text.find("metafuse_none.so") != std::string::npos);
}
