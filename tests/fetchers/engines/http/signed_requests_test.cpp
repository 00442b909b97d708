// `auth:` of definitions that sign each request: over a message of their own, or as Amazon's services want.

#include <string>

#include <catch2/catch.hpp>

#include "fetchers/engines/http/authorization.h"
#include "tests/fetchers/engines/http/authorized_engine.h"
#include "tests/support/scripted_transport.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using metafuse::test::answer_of;
using metafuse::test::fetcher_with;
using metafuse::test::file_with;
using metafuse::test::header_of;
using metafuse::test::kAnswer;
using metafuse::test::Script;
using metafuse::test::scripted_options;
using metafuse::test::search_once;

TEST_CASE("Requests are signed over the message of the definition", "[fetchers][auth]") {
  Script script{[](const EngineRequest&) { return answer_of(kAnswer); }, {}};
  const Clock& clock = machine_clock();
  FetcherOptions options = scripted_options(script);
  options.unix_time = [] { return std::int64_t{1714550400}; };
  const auto signed_by = [&](const std::string& auth, const std::string& query) {
    const auto fetcher = fetcher_with("type: hmac, " + auth, options);
    search_once(*fetcher, clock, query);
    return script.requests.back();
  };
  // The well-known value of HMAC-SHA256 for the key "key" and this sentence.
  const EngineRequest fox = signed_by(
      "secret: key, message: \"The quick brown fox jumps over the lazy dog\", headers: {X-Signature: "
      "\"{signature}\"}",
      "x");
  CHECK(header_of(fox, "X-Signature") == "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
  const EngineRequest whole = signed_by(
      "secret: \"${KEY}\", encoding: base64, message: \"{method} {host}{path}?{query} {timestamp}\", "
      "headers: {X-Date: \"{date}\", Authorization: \"HMAC me:{timestamp}:{signature}\"}",
      "a b");
  CHECK(header_of(whole, "X-Date") == "Wed, 01 May 2024 08:00:00 GMT");
  CHECK(header_of(whole, "Authorization").starts_with("HMAC me:1714550400:"));
  const auto error = [](const std::string& auth) {
    const auto file = file_with(auth);
    return file ? std::string() : file.error().text;
  };
  CHECK(error("type: hmac, secret: k, message: \"{nothing}\", headers: {A: \"{signature}\"}")
            .find("unknown {nothing}") != std::string::npos);
  CHECK(
      error("type: hmac, secret: k, message: x, headers: {A: b}").find("headers must contain {signature}") !=
      std::string::npos);
  CHECK(error("type: oauth2, token_url: \"http://login.example/\", client_id: a, client_secret: b")
            .find("must be https") != std::string::npos);
  CHECK(error("type: forward, headers: [Cookie]").find("cannot be passed on") != std::string::npos);
  CHECK(error("type: nothing").find("oauth2, hmac, aws or forward") != std::string::npos);
}

TEST_CASE("Requests to Amazon's services have a Signature Version 4", "[fetchers][auth]") {
  const auto signed_request = [](EngineRequest request, const std::string& service, std::int64_t time) {
    Authorization auth;
    auth.client_id = "AKIDEXAMPLE";
    auth.secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    auth.region = "us-east-1";
    auth.service = service;
    sign_aws_request(request, auth, time);
    return request;
  };
  const auto signature = [](const EngineRequest& request) {
    const std::string header = header_of(request, "Authorization");
    return header.substr(header.find("Signature=") + 10);
  };
  constexpr std::int64_t kMoment = 1440938160;  // 2015-08-30 12:36:00 UTC, as in Amazon's published examples
  const auto of = [&](const std::string& method, const std::string& url) {
    EngineRequest request;
    request.method = method;
    request.url = url;
    return signed_request(request, "service", kMoment);
  };
  // Amazon's test suite: get-vanilla, post-vanilla, get-vanilla-query-order-key-case.
  const EngineRequest vanilla = of("GET", "https://example.amazonaws.com/");
  CHECK(header_of(vanilla, "X-Amz-Date") == "20150830T123600Z");
  CHECK(header_of(vanilla, "Authorization") ==
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        "SignedHeaders=host;x-amz-date, "
        "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  CHECK(signature(of("POST", "https://example.amazonaws.com/")) ==
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  CHECK(signature(of("GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1")) ==
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  CHECK(signature(of("GET", "https://example.amazonaws.com/a/../")) == signature(vanilla));
  // The example of Amazon's documentation, IAM's ListUsers.
  EngineRequest users;
  users.url = "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08";
  users.headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}};
  CHECK(signature(signed_request(users, "iam", kMoment)) ==
        "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
  CHECK(of("GET", "https://h.example/s?q=a+b").url == "https://h.example/s?q=a%20b");
}

TEST_CASE("An Amazon engine is asked with signed requests and its secrets stay secret",
          "[fetchers][auth][security]") {
  Script script{[](const EngineRequest&) { return answer_of(kAnswer); }, {}};
  const Clock& clock = machine_clock();
  FetcherOptions options = scripted_options(script);
  options.unix_time = [] { return std::int64_t{1440938160}; };
  const auto fetcher = fetcher_with(
      "type: aws, region: eu-central-1, service: aoss, access_key: \"${KEY}\", secret_key: \"${SECRET}\", "
      "session_token: \"${TOKEN}\"",
      options);
  CHECK(search_once(*fetcher, clock, "a b").list.hits.size() == 1);
  const EngineRequest& sent = script.requests.back();
  CHECK(header_of(sent, "X-Amz-Security-Token") == "s3cret-TOKEN");
  CHECK(header_of(sent, "X-Amz-Content-Sha256") ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(header_of(sent, "Authorization")
            .find("Credential=s3cret-KEY/20150830/eu-central-1/aoss/aws4_request, "
                  "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, ") !=
        std::string::npos);
  for (const auto& [name, value] : sent.headers) CHECK(value.find("s3cret-SECRET") == std::string::npos);
  const auto file = file_with("type: aws, region: \"eu/../x\", service: es, access_key: a");
  REQUIRE_FALSE(file.has_value());
  CHECK(file.error().text.find("region may contain only a-z") != std::string::npos);
  CHECK(file.error().text.find("secret_key") != std::string::npos);
}
