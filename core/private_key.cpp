#include "core/private_key.h"

#include <memory>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace metafuse {
namespace {

struct FreeOpenssl {
  void operator()(BIO* text) const { BIO_free(text); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
template <class Type>
using Owned = std::unique_ptr<Type, FreeOpenssl>;

Owned<BIO> reader_of(std::string_view text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// Asked for a passphrase, OpenSSL would read one from the terminal.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

Owned<EVP_PKEY> key_in(std::string_view text) {
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(reader_of(text).get(), nullptr, &no_passphrase, nullptr));
  ERR_clear_error();  // what remains would be reported by the next TLS connection of this thread
  return key;
}

}  // namespace

Result<void> check_key_of_certificate(std::string_view certificate, std::string_view private_key) {
  const Owned<X509> owner(PEM_read_bio_X509(reader_of(certificate).get(), nullptr, &no_passphrase, nullptr));
  const auto key = key_in(private_key);
  const bool belongs =
      owner != nullptr && key != nullptr && X509_check_private_key(owner.get(), key.get()) == 1;
  ERR_clear_error();
  if (owner == nullptr) return fail(Code::bad_config, "the certificate is not one in PEM");
  if (key == nullptr)
    return fail(Code::bad_config, "the key is not a private key in PEM and without a passphrase");
  if (!belongs) return fail(Code::bad_config, "the key is not that of the certificate");
  return {};
}

}  // namespace metafuse
