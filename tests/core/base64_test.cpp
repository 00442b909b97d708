#include <string>

#include <catch2/catch.hpp>

#include "core/encoding.h"

using namespace metafuse;

TEST_CASE("base64 is RFC 4648's", "[core]") {
  CHECK(base64_encoded("") == "");
  CHECK(base64_encoded("f") == "Zg==");
  CHECK(base64_encoded("fo") == "Zm8=");
  CHECK(base64_encoded("foo") == "Zm9v");
  CHECK(base64_encoded("foobar") == "Zm9vYmFy");
  CHECK(base64_decoded("") == "");
  CHECK(base64_decoded("Zg==") == "f");
  CHECK(base64_decoded("Zm8=") == "fo");
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  CHECK(base64_decoded(base64_encoded(bytes)) == bytes);
  for (const std::string bad : {"Zg", "Zg=a", "====", "Z===", "Zm9v=", "Zm 9", " Zg=", "Zg=\n", "Zm9-"})
    CHECK_FALSE(base64_decoded(bad));
}
