#include <string>

#include <catch2/catch.hpp>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "fetchers/definition/engine_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tls_certificates.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

template <class Write>
std::string pem_of(const Write& write) {
  BIO* text = BIO_new(BIO_s_mem());
  write(text);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text, &data);
  std::string out(data, static_cast<std::size_t>(size));
  BIO_free(text);
  return out;
}

std::string pem_of_key(EVP_PKEY* key) {
  return pem_of(
      [&](BIO* text) { PEM_write_bio_PrivateKey(text, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

}  // namespace

TEST_CASE("A certificate must have its own key", "[fetchers][auth]") {
  const test::PrivateKey key(EVP_RSA_gen(2048)), other(EVP_RSA_gen(2048));
  const test::Certificate certificate(X509_new());
  X509_set_pubkey(certificate.get(), key.get());
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 1000);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const test::TemporaryFolder folder;
  folder.write("me.crt", pem_of([&](BIO* text) { PEM_write_bio_X509(text, certificate.get()); }));
  folder.write("me.key", pem_of_key(key.get()));
  folder.write("other.key", pem_of_key(other.get()));
  const auto error = [&](const std::string& keys) {
    const auto file = read_engine_file(
        folder.write("e.yaml",
                     "engines:\n  - {name: e, engine: json_engine, results_query: r, url_query: u, "
                     "title_query: t, search_url: 'https://api.example/s?q={query}', "
                     "client_certificate: {" +
                         keys + "}}\n"));
    return file ? std::string() : file.error().text;
  };
  CHECK(error("certificate: me.crt, key: me.key") == "");
  CHECK(error("certificate: me.crt").find("lacks the key \"key\"") != std::string::npos);
  CHECK(error("certificate: me.crt, key: none.key").find("none.key") != std::string::npos);
  CHECK(error("certificate: me.crt, key: other.key").find("not that of the certificate") !=
        std::string::npos);
  CHECK(error("certificate: me.key, key: me.key").find("the certificate is not one") != std::string::npos);
  CHECK(error("certificate: me.crt, key: me.crt").find("the key is not a private key") != std::string::npos);
}
