#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

namespace metafuse::test {

struct FreeTls {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* connection) const { SSL_free(connection); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;
using Certificate = std::unique_ptr<X509, FreeTls>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeTls>;

/// A certificate authority of our own, which signs certificates for servers on loopback.
class CertificateAuthority {
 public:
  CertificateAuthority();

  /// The authority's certificate in PEM, which a client must trust.
  std::string pem() const;
  /// The TLS context of a server whose certificate this authority signed.
  ///
  /// in: alternative_name - "IP:127.0.0.1" or "DNS:other.example"; from_day, until_day - its validity, in
  ///     days from now
  TlsContext context(const std::string& alternative_name, int from_day, int until_day) const;
  /// The TLS context of a server with a self-signed certificate.
  static TlsContext self_signed_context(const std::string& alternative_name);

 private:
  PrivateKey key_;
  Certificate certificate_;
};

}  // namespace metafuse::test
