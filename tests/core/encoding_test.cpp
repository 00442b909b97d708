#include "core/encoding.h"

#include <string>

#include <catch2/catch.hpp>

using namespace metafuse;

TEST_CASE("Base64 encoding follows RFC 4648", "[core]") {
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
  for (const std::string bad :
       {"Zg", "Zg=a", "====", "Z===", "Zm9v=", "Zm 9", " Zg=", "Zg=\n", "Zm9-", "AAAA----", "Zm9vYmE-"})
    CHECK_FALSE(base64_decoded(bad));
}

TEST_CASE("Percent encoding keeps letters and digits and four marks", "[core]") {
  const std::string kept = "ABYZabyz0189-_.~";
  CHECK(percent_encoded(kept) == kept);
  CHECK(percent_encoded("@[`{/:") == "%40%5B%60%7B%2F%3A");  // neighbours of letters and digits
  CHECK(percent_encoded("a b+c", true) == "a+b%2Bc");
  CHECK(percent_encoded("a b") == "a%20b");
  CHECK(percent_encoded({"\0\x7f\xff", 3}) == "%00%7F%FF");
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  CHECK(percent_decoded(percent_encoded(bytes)) == bytes);
  CHECK(percent_decoded("%4a%4A%aF%Fa") == "JJ\xaf\xfa");
  for (const std::string damaged : {"%", "%4", "%4g", "%g4", "%/0", "%0:", "%@0", "%0`"})
    CHECK(percent_decoded(damaged) == damaged);
  CHECK(percent_decoded("%%41+") == "%A+");
}

TEST_CASE("XML escaping replaces markup and removes characters that XML does not allow", "[core]") {
  CHECK(xml_escaped("<a b=\"c\" d='e'>&") == "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
  CHECK(xml_escaped({"\0\x08\t\n\x0b\r\x1f \x7f", 9}) == "\t\n\r \x7f");
  CHECK(xml_escaped("\xef\xbf\xbd|\xef\xbf\xbe|\xef\xbf\xbf|") == "\xef\xbf\xbd|||");  // U+FFFD stays
}

TEST_CASE("A CSV cell that begins like a formula is escaped", "[core]") {
  CHECK(csv_cell("") == "");
  CHECK(csv_cell("plain 1+1=2") == "plain 1+1=2");
  for (const char first : std::string("=+-@\t"))
    CHECK(csv_cell(std::string(1, first) + "x") == "'" + std::string(1, first) + "x");
  CHECK(csv_cell("\nx") == "\"'\nx\"");
  CHECK(csv_cell("\rx") == "\"'\rx\"");
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("a \"b\"") == "\"a \"\"b\"\"\"");
}
