#include "core/json.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <boost/json/monotonic_resource.hpp>
#include <catch2/catch.hpp>

#include "core/json_writer.h"
#include "core/random.h"

using namespace metafuse;

TEST_CASE("Doubles survive writing and reading bit for bit", "[core][json]") {
  Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = random.next();
    double number = 0.0;
    std::memcpy(&number, &bits, sizeof number);
    if (!std::isfinite(number)) continue;
    const auto back = parse_json(to_text(JsonArray{number}), "text");
    REQUIRE(back.has_value());
    REQUIRE(back->as_array()[0].to_number<double>() == number);
  }
}

TEST_CASE("Numbers are written in their usual short form", "[core][json]") {
  CHECK(to_text(JsonArray{1.0, 0.5, -3.0, 0.0, 1e5, 0.1}) == "[1,0.5,-3,0,100000,0.1]");
  CHECK(to_text(JsonArray{-0.0}) == "[-0.0]");
  for (const double number : {-0.0, 9007199254740992.0, 9007199254740994.0, 1.2345678901234567e18, 9.3e18,
                              1.9e19, -9.3e18, 1e22, 1e300, 5e-324, 0.1, 2.0 / 3.0}) {
    const auto back = parse_json(to_text(JsonArray{number}), "text");
    REQUIRE(back.has_value());
    const double read = back->as_array()[0].to_number<double>();
    CHECK(read == number);
    CHECK(std::signbit(read) == std::signbit(number));
    CHECK_FALSE(back->as_array()[0].is_uint64());
  }
}

TEST_CASE("Every character survives writing and reading in strings and keys", "[core][json]") {
  std::string every;
  for (int c = 0; c < 128; ++c) every += static_cast<char>(c);
  every += "\xc3\xa4\xe2\x82\xac";
  const auto back = parse_json(to_text(JsonObject{{every, every}}), "text");
  REQUIRE(back.has_value());
  CHECK(back->at(every).as_string() == every);
  CHECK(to_text(JsonArray{"a\n\x01\"\\/"}) == R"(["a\n\u0001\"\\/"])");
  CHECK(to_text(JsonArray{JsonObject(), JsonArray(), true, nullptr}) == "[{},[],true,null]");
}

TEST_CASE("Bad JSON is one error with the place of the mistake", "[core][json]") {
  const auto error_of = [](std::string_view text) {
    const auto result = parse_json(text, "m.json");
    REQUIRE(result.has_error());
    CHECK(result.error().code == Code::bad_data);
    return result.error().text;
  };
  CHECK(error_of("{\"a\":1,\n \"a\":2}").find("m.json:2:") == 0);
  CHECK(error_of("{\"a\":1,\n \"a\":2}").find("occurs twice") != std::string::npos);
  CHECK(error_of("[1, 2").find("m.json:1:") == 0);
  CHECK(error_of("").find("empty") != std::string::npos);
  CHECK(error_of("{} {}").find("m.json:1:4") == 0);
  CHECK(error_of("[1e400]").find("out of range") != std::string::npos);
  CHECK(error_of("[\"\xff\"]").find("m.json:1:") == 0);
  CHECK(error_of(std::string(100, '[')).find("m.json:1:") == 0);
}

TEST_CASE("A key that occurs twice is refused however it is written and wherever it stands", "[core][json]") {
  std::string many;  // more keys than are compared one by one
  for (int i = 0; i < 40; ++i) many += R"("\u006b)" + std::to_string(i) + R"(":{"a":1,"\u0062":2},)";
  for (const std::string_view twice : {R"("a":0,"a":1)", R"("a":0,"\u0061":1)", R"("\u0061":0,"a":1)",
                                       R"("\u0061":0,"b":{"\u0061":1},"\u0061":2)"})
    for (const std::string& before : {std::string(), many}) {
      const auto read = parse_json("[{" + before + std::string(twice) + "}]", "text");
      REQUIRE(read.has_error());
      CHECK(read.error().text.ends_with("the key \"a\" occurs twice"));
    }
  CHECK(parse_json("[{" + many + R"("a":0,"\u0062":{"a":1,"b":2}},{"a":0,"\u0062":1}])", "text").has_value());
}

TEST_CASE("One object has at most as many members as the limits say", "[core][json]") {
  const auto object_of = [](std::size_t count, const std::string& prefix) {
    std::string text = "{";
    for (std::size_t i = 0; i < count; ++i)
      text += (i == 0 ? "\"" : ",\"") + prefix + std::to_string(i) + "\":0";
    return text + "}";
  };
  JsonLimits limits;
  CHECK(limits.max_members == 10'000);
  for (const std::size_t most : {3U, 24U, 100U}) {
    limits.max_members = most;
    CHECK(parse_json(object_of(most, "k"), "text", Code::usage, limits).has_value());
    const auto refused = parse_json(object_of(most + 1, "k"), "text", Code::usage, limits);
    REQUIRE(refused.has_error());
    CHECK(refused.error().text.find("more than " + std::to_string(most) + " members") != std::string::npos);
    const auto two = "[" + object_of(most, "k") + "," + object_of(most, "k") + "]";
    CHECK(parse_json(two, "text", Code::usage, limits).has_value());
  }
  CHECK(parse_json(object_of(30, "k"), "text").has_value());
  CHECK(parse_json(R"({"a":0,"a":1})", "text").has_error());
}

TEST_CASE("A BOM and surrounding white space are accepted", "[core][json]") {
  const auto value = parse_json("\xef\xbb\xbf \r\n{\"a\": [true, null]}\r\n", "text");
  REQUIRE(value.has_value());
  CHECK(value->at("a").as_array()[0].as_bool());
}

TEST_CASE("Pretty text keeps scalar lists on one line", "[core][json]") {
  const auto value = parse_json(R"({"a":[1,2],"b":{"c":[{"d":1}]}})", "text");
  CHECK(to_pretty_text(*value) ==
        "{\n  \"a\": [1,2],\n  \"b\": {\n    \"c\": [\n      {\"d\":1}\n    ]\n  }\n}\n");
}

TEST_CASE("A character that must be escaped is found at every place of a text", "[core][json]") {
  for (std::size_t size = 0; size < 50; ++size)
    for (std::size_t at = 0; at <= size; ++at)
      for (const auto& [odd, escaped] :
           {std::pair("\"", "\\\""), std::pair("\\", "\\\\"), std::pair("\n", "\\n"),
            std::pair("\x1f", "\\u001f"), std::pair("\x7f", "\x7f"), std::pair("\xc3\xa4", "\xc3\xa4")}) {
        const std::string before(at, 'a'), after(size - at, 'b');
        CHECK(to_text(Json(before + odd + after)) == '"' + before + escaped + after + '"');
      }
}

TEST_CASE("A JSON writer writes the same bytes as to_text", "[core][json]") {
  JsonWriter writer(1);
  const Json value = *parse_json(R"({"a":[1,"\u0001",{"b":null}]})", "text");
  writer.open_object();
  writer.key("quote").text("line\n\xC3\xA4");
  writer.key("numbers").open_array();
  for (const double number : {0.1, 1.0, 1e300, -0.0}) writer.number(number);
  writer.whole(18446744073709551615ULL);
  writer.close_array();
  writer.key("empty").open_object();
  writer.close_object();
  writer.key("value").json(value);
  writer.key("last").open_array();
  writer.open_object();
  writer.close_object();
  writer.open_object();
  writer.key("x").whole(0);
  writer.close_object();
  for (const std::string_view text : {"7", "[8,9]"})
    writer.value_by(text.size(), [&](char* at) { return std::copy(text.begin(), text.end(), at); });
  writer.close_array();
  writer.close_object();
  const std::string expected =
      R"({"quote":"line\nä","numbers":[0.1,1,1e+300,-0.0,18446744073709551615],"empty":{},)"
      R"("value":{"a":[1,"\u0001",{"b":null}]},"last":[{},{"x":0},7,[8,9]]})";
  const std::string out = writer.take();
  CHECK(out == expected);
  CHECK(to_text(*parse_json(out, "text")) == expected);
}

TEST_CASE("JSON in memory of the caller's is read and refused as elsewhere", "[core][json]") {
  std::string many = "{";
  for (int i = 0; i < 100; ++i)
    many += "\"key" + std::to_string(i) + "\":{\"key0\":[" + std::to_string(i) + "]},";
  const std::string good = many + "\"last\":1}";
  boost::json::monotonic_resource memory(1024);
  JsonLimits limits;
  limits.memory = &memory;
  const auto document = parse_json(good, "text", Code::usage, limits);
  REQUIRE(document.has_value());
  CHECK(document->storage().get() == &memory);
  CHECK(*document == *parse_json(good, "text"));
  CHECK(to_text(*document) == good);
  for (const std::string& bad :
       {many + "\"key7\":1}", many + "\"key99\":1}", std::string(R"({"a":1,"b":{"a":1},"a":2})"),
        std::string("{"), std::string()}) {
    const auto refused = parse_json(bad, "text", Code::usage, limits);
    const auto parsed = parse_json(bad, "text", Code::usage);
    REQUIRE_FALSE(refused.has_value());
    REQUIRE_FALSE(parsed.has_value());
    CHECK(refused.error().text == parsed.error().text);
  }
}
