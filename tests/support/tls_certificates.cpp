#include "tests/support/tls_certificates.h"

#include <stdexcept>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace metafuse::test {
namespace {

constexpr long kDay = 24 * 3600;

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) throw std::runtime_error("no such certificate extension: " + value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

PrivateKey new_key() {
  return PrivateKey(EVP_EC_gen("P-256"));
}

/// in: issuer - nullptr: the certificate is self-signed
Certificate new_certificate(const char* name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key,
                            long from_day, long until_day, const std::string& alternative_name) {
  Certificate made(X509_new());
  X509* certificate = made.get();
  static long serial = 1;
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), from_day * kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), until_day * kDay);
  X509_set_pubkey(certificate, key);
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name), -1,
                             -1, 0);
  X509* signer = issuer == nullptr ? certificate : issuer;
  X509_set_issuer_name(certificate, X509_get_subject_name(signer));
  add_extension(certificate, signer, NID_basic_constraints,
                alternative_name.empty() ? "critical,CA:TRUE" : "CA:FALSE");
  if (!alternative_name.empty()) add_extension(certificate, signer, NID_subject_alt_name, alternative_name);
  if (X509_sign(certificate, issuer == nullptr ? key : issuer_key, EVP_sha256()) == 0)
    throw std::runtime_error("the certificate cannot be signed");
  return made;
}

TlsContext context_of(X509* certificate, EVP_PKEY* key) {
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr || SSL_CTX_use_certificate(context.get(), certificate) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key) != 1)
    throw std::runtime_error("no TLS context");
  return context;
}

}  // namespace

CertificateAuthority::CertificateAuthority()
    : key_(new_key()),
      certificate_(new_certificate("metafuse test authority", key_.get(), nullptr, nullptr, -30, 30, "")) {}

std::string CertificateAuthority::pem() const {
  BIO* memory = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(memory, certificate_.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory, &text);
  std::string out(text, static_cast<std::size_t>(size));
  BIO_free(memory);
  return out;
}

TlsContext CertificateAuthority::context(const std::string& alternative_name, int from_day,
                                         int until_day) const {
  const PrivateKey key = new_key();
  const Certificate certificate = new_certificate("server", key.get(), certificate_.get(), key_.get(),
                                                  from_day, until_day, alternative_name);
  return context_of(certificate.get(), key.get());
}

TlsContext CertificateAuthority::self_signed_context(const std::string& alternative_name) {
  const PrivateKey key = new_key();
  const Certificate certificate =
      new_certificate("server", key.get(), nullptr, nullptr, -1, 30, alternative_name);
  return context_of(certificate.get(), key.get());
}

}  // namespace metafuse::test
