// Tokens by signed assertions, for service accounts, for users, and by exchange of the caller's own token.

#include "fetchers/engines/http/access_tokens.h"

#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "core/encoding.h"
#include "core/json.h"
#include "core/json_members.h"
#include "core/private_key.h"
#include "core/text.h"
#include "core/text_file.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"
#include "tests/support/manual_clock.h"
#include "tests/support/scripted_transport.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tls_certificates.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using metafuse::test::answer_of;
using metafuse::test::Script;
using metafuse::test::scripted_options;

namespace {

constexpr std::int64_t kNow = 1714550400;

/// A new RSA key, as PEM and for checking signatures.
struct RsaKey {
  explicit RsaKey(unsigned bits = 2048) : key(EVP_RSA_gen(bits)) {}

  std::string pem() const {
    BIO* text = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(text, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    const long size = BIO_get_mem_data(text, &data);
    std::string out(data, static_cast<std::size_t>(size));
    BIO_free(text);
    return out;
  }

  bool has_signed(const std::string& text, const std::string& signature) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    const bool is_right =
        EVP_DigestVerifyInit(context, nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
        EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                         reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
    EVP_MD_CTX_free(context);
    return is_right;
  }

  test::PrivateKey key;
};

std::string from_base64_url(std::string text) {
  for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  text.append((4 - text.size() % 4) % 4, '=');
  const auto bytes = base64_decoded(text);
  REQUIRE(bytes.has_value());
  return *bytes;
}

std::map<std::string, std::string> form_of(std::string_view body) {
  std::map<std::string, std::string> fields;
  while (!body.empty()) {
    std::string_view field = take_until(body, '&');
    const std::string name(take_until(field, '='));
    fields[name] = percent_decoded(field);
  }
  return fields;
}

/// The members of a signed assertion, whose signature must be that of the key.
Json claims_of(const std::string& assertion, const RsaKey& key, std::string* header = nullptr) {
  const std::size_t first = assertion.find('.'), second = assertion.rfind('.');
  REQUIRE(first < second);
  CHECK(key.has_signed(assertion.substr(0, second), from_base64_url(assertion.substr(second + 1))));
  if (header != nullptr) *header = from_base64_url(assertion.substr(0, first));
  const auto claims = parse_json(from_base64_url(assertion.substr(first + 1, second - first - 1)), "claims");
  REQUIRE(claims.has_value());
  return *claims;
}

/// An engine whose definition lies in a folder, with a token server that hands out "tok-N".
struct Setting {
  test::TemporaryFolder folder;
  test::ManualClock clock;
  int handed_out = 0;
  Script script{[this](const EngineRequest& request) {
                  if (request.is_confidential)
                    return answer_of(R"({"access_token":"tok-)" + std::to_string(++handed_out) +
                                     R"(","expires_in":100})");
                  return answer_of(R"({"r":[{"u":"https://a.example/","t":"A"}]})");
                },
                {}};
  std::map<std::string, std::string> secrets;
  std::shared_ptr<Fetcher> fetcher;

  std::string read(const std::string& keys) {
    const std::string path =
        folder.write("e.yaml",
                     "engines:\n  - {name: e, engine: json_engine, results_query: r, url_query: u, "
                     "title_query: t, search_url: 'https://api.example/s?q={query}', " +
                         keys + "}\n");
    auto file = read_engine_file(path);
    if (!file) return file.error().text;
    FetcherOptions options = scripted_options(script);
    options.clock = &clock;
    options.unix_time = [] { return kNow; };
    options.secret_of = [this](std::string_view name) -> std::optional<std::string> {
      const auto found = secrets.find(std::string(name));
      return found == secrets.end() ? std::nullopt : std::optional(found->second);
    };
    auto made = make_fetcher(std::move(file->engines), std::move(options));
    if (!made) return made.error().text;
    fetcher = *made;
    return {};
  }

  FetchedList search(std::vector<std::pair<std::string, std::string>> forwarded = {}) {
    const ExpandedQuery query{"t", "e", "x"};
    return fetcher
        ->fetch({&query, 1},
                {.deadline = Deadline(clock, std::chrono::seconds(5)), .forwarded = std::move(forwarded)}, {})
        .front();
  }
};

std::string authorization_of(const EngineRequest& request) {
  for (const auto& [name, value] : request.headers)
    if (name == "Authorization") return value;
  return {};
}

const std::string kToken = "type: oauth2, token_url: 'https://login.example/token', client_id: me, ";

}  // namespace

TEST_CASE("A token is fetched by an assertion that is signed with a private key", "[fetchers][auth]") {
  const RsaKey key;
  Setting setting;
  setting.folder.write("me.pem", key.pem());
  REQUIRE(setting.read("auth: {" + kToken + "private_key: me.pem, key_id: k1, scope: 'a b'}") == "");
  CHECK(setting.search().list.hits.size() == 1);
  REQUIRE(setting.script.requests.size() == 2);
  auto form = form_of(setting.script.requests[0].body);
  CHECK(form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer");
  CHECK_FALSE(form.contains("client_secret"));
  std::string header;
  const Json claims = claims_of(form["assertion"], key, &header);
  CHECK(header == R"({"alg":"RS256","typ":"JWT","kid":"k1"})");
  CHECK(to_text(claims) == R"({"iss":"me","aud":"https://login.example/token","iat":1714550400,)"
                           R"("exp":1714550700,"sub":"me","scope":"a b"})");
  CHECK(authorization_of(setting.script.requests[1]) == "Bearer tok-1");
  // an audience of its own is claimed and not sent beside the claims
  REQUIRE(setting.read("auth: {" + kToken + "private_key: me.pem, audience: 'https://api.example/'}") == "");
  setting.script.requests.clear();
  CHECK(setting.search().list.hits.size() == 1);
  form = form_of(setting.script.requests.at(0).body);
  const Json others = claims_of(form["assertion"], key);
  CHECK(JsonMembers(others).text_or_empty("aud") == "https://api.example/");
  CHECK_FALSE(form.contains("audience"));
}

TEST_CASE("The key of a service account says who asks and where", "[fetchers][auth]") {
  const RsaKey key;
  Setting setting;
  setting.secrets["ACCOUNT"] = to_text(JsonObject{{"type", "service_account"},
                                                  {"client_email", "otter@project.iam.gserviceaccount.com"},
                                                  {"private_key", key.pem()},
                                                  {"private_key_id", "k7"},
                                                  {"token_uri", "https://oauth2.example/token"}});
  REQUIRE(setting.read("auth: {type: oauth2, service_account: '${ACCOUNT}', scope: s}") == "");
  CHECK(setting.search().list.hits.size() == 1);
  CHECK(setting.script.requests[0].url == "https://oauth2.example/token");
  const Json claims = claims_of(form_of(setting.script.requests[0].body)["assertion"], key);
  const JsonMembers members(claims);
  CHECK(members.text_or_empty("iss") == "otter@project.iam.gserviceaccount.com");
  CHECK(members.text_or_empty("aud") == "https://oauth2.example/token");
  CHECK(members.find("sub") == nullptr);
  setting.secrets["ACCOUNT"] = R"({"client_email":"a@b.example"})";
  CHECK(setting.read("auth: {type: oauth2, service_account: '${ACCOUNT}'}").find("lacks \"private_key\"") !=
        std::string::npos);
  setting.secrets["ACCOUNT"] = to_text(JsonObject{{"client_email", "a@b.example"},
                                                  {"private_key", key.pem()},
                                                  {"token_uri", "http://oauth2.example/token"}});
  CHECK(setting.read("auth: {type: oauth2, service_account: '${ACCOUNT}'}").find("must be https") !=
        std::string::npos);
  // a key that stands in the definition itself is never repeated
  const std::string in_file =
      setting.read(R"(auth: {type: oauth2, service_account: '{"private_key":"SECRET"}'})");
  CHECK(in_file.find("name a file or a secret") != std::string::npos);
  CHECK(in_file.find("SECRET") == std::string::npos);
}

TEST_CASE("A key that cannot sign is one error when the engine is read", "[fetchers][auth]") {
  Setting setting;
  const auto error = [&](const std::string& text) {
    setting.folder.write("key.pem", text);
    return setting.read("auth: {" + kToken + "private_key: key.pem}");
  };
  CHECK(error("no key").find("private_key is not a private RSA key") != std::string::npos);
  CHECK(error(RsaKey(1024).pem()).find("2048 bits or more") != std::string::npos);
  CHECK(setting.read("auth: {" + kToken + "private_key: none.pem}").find("none.pem") != std::string::npos);
  CHECK(setting.read("auth: {" + kToken + "}").find("needs a client_secret") != std::string::npos);
}

TEST_CASE("The caller's token is exchanged, for each caller apart", "[fetchers][auth][security]") {
  Setting setting;
  REQUIRE(setting.read("auth: {" + kToken +
                       "client_secret: s, callers_token: X-User-Token, audience: kendra}") == "");
  CHECK(setting.search().failure == Failure::not_allowed);
  CHECK(setting.script.requests.empty());
  const auto searched = [&](const std::string& token) {
    CHECK(setting.search({{"x-user-token", token}}).list.hits.size() == 1);
    return authorization_of(setting.script.requests.back());
  };
  CHECK(searched("Bearer alice") == "Bearer tok-1");
  auto form = form_of(setting.script.requests[0].body);
  CHECK(form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange");
  CHECK(form["subject_token"] == "alice");
  CHECK(form["subject_token_type"] == "urn:ietf:params:oauth:token-type:access_token");
  CHECK(form["audience"] == "kendra");
  CHECK(searched("bob") == "Bearer tok-2");
  CHECK(searched("alice") == "Bearer tok-1");
  for (const EngineRequest& request : setting.script.requests)
    for (const auto& [name, value] : request.headers) CHECK(value.find("alice") == std::string::npos);

  Setting microsoft;
  REQUIRE(microsoft.read("auth: {" + kToken +
                         "client_secret: s, callers_token: Authorization, on_behalf_of: true}") == "");
  microsoft.search({{"authorization", "Bearer alice"}});
  form = form_of(microsoft.script.requests[0].body);
  CHECK(form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer");
  CHECK(form["assertion"] == "alice");
  CHECK(form["requested_token_use"] == "on_behalf_of");
  CHECK(authorization_of(microsoft.script.requests[1]) == "Bearer tok-1");
  CHECK(setting.read("auth: {" + kToken + "client_secret: s, on_behalf_of: true}")
            .find("needs callers_token") != std::string::npos);
}

TEST_CASE("A user's name and password are exchanged for a token", "[fetchers][auth]") {
  Setting setting;
  REQUIRE(setting.read("auth: {" + kToken + "client_secret: s, username: ada, password: 'o t'}") == "");
  setting.search();
  CHECK(setting.script.requests[0].body ==
        "grant_type=password&username=ada&password=o+t&client_id=me&client_secret=s");
}

TEST_CASE("The caller's token may stand in a body, and is never recorded", "[fetchers][auth][security]") {
  Setting setting;
  const std::string keys =
      "json_body: {q: '{query}', user: {token: '{callers_token}'}}, auth: {type: forward, headers: "
      "[X-User-Token], callers_token: X-User-Token}";
  REQUIRE(setting.read(keys) == "");
  CHECK(setting.search({{"x-user-token", "a\"b"}}).list.hits.size() == 1);
  CHECK(setting.script.requests[0].body == R"({"q":"x","user":{"token":"a\"b"}})");
  CHECK(setting.script.requests[0].record_body == R"({"q":"x","user":{"token":"REDACTED"}})");
  CHECK(setting.read("json_body: {q: '{query}', t: '{callers_token}'}").find("needs `auth:") !=
        std::string::npos);
  CHECK(
      setting
          .read("next_page: {cursor_query: c, search_url: 'https://api.example/{cursor}?t={callers_token}'}")
          .find("put it into the body") != std::string::npos);
}
