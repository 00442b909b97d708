#pragma once

#include <array>
#include <string_view>

namespace metafuse::test {

/// Values that try to be more than words: quotes, brackets, operators, fields, wildcards, comments, control
/// characters, broken and look-alike Unicode.
inline constexpr std::array<std::string_view, 64> kHostileValues = {
    "joe\" OR \"secret",
    "joe\" secret",
    "\"",
    "\"\"joe\"\"",
    "joe OR secret",
    "joe AND secret",
    "joe NOT secret",
    "joe NEAR secret",
    "joe NEAR/2 secret",
    "NEAR(joe secret, 5)",
    "joe ADJ secret",
    "joe XOR secret",
    "joe || secret",
    "joe && secret",
    "joe | secret",
    "joe -secret",
    "joe +secret",
    "joe !secret",
    "joe ~secret",
    "-joe",
    "--joe",
    "+-!joe",
    "joe*",
    "*",
    "jo?",
    "joe^10",
    "joe~0.1",
    "(joe",
    "joe)",
    "joe) OR (secret",
    "((((((((((joe",
    "[joe TO secret]",
    "{joe TO secret}",
    "title:secret",
    "text : secret",
    "{title text} : secret",
    "- title : secret",
    "_query_:\"secret\"",
    "{!func}secret",
    "site:secret.example joe",
    "joe..secret",
    "1..10 joe",
    "joe\\",
    "joe\\\"",
    "\\",
    "joe\\ OR secret",
    "joe; DROP TABLE documents; --",
    "joe' OR '1'='1",
    "joe/*secret*/",
    "/secret.*/ joe",
    "joe\nOR\nsecret",
    "joe\tOR\tsecret",
    std::string_view("joe\0secret", 10),
    "joe \xE2\x80\x9C secret \xE2\x80\x9D",  // curly quotes
    "joe \xEF\xBC\x82 secret",               // full-width quote
    "\xEF\xBC\x8Djoe \xEF\xBC\x8Bsecret",    // full-width minus and plus
    "joe\xE2\x80\xAE terces",                // right-to-left override
    "joe \xFF\xFE\xC0\xAF secret",           // not valid UTF-8
    "joe\xE2\x80\x8BOR\xE2\x80\x8Bsecret",   // zero-width spaces
    "joe ,-secret",                          // an operator behind punctuation
    "joe '-secret",
    "joe ;+secret",
    "joe ,;'--secret",
    "joe<script>alert(1)</script> or @secret =secret $secret #secret %22secret",
};

}  // namespace metafuse::test
