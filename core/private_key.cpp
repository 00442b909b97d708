#include "core/private_key.h"

#include <memory>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "core/contract.h"

namespace metafuse {
namespace {

constexpr int kLeastRsaBits = 2048;

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

Result<std::string> rsa_sha256_signature(std::string_view private_key, std::string_view text) {
  const auto key = key_in(private_key);
  if (key == nullptr || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA ||
      EVP_PKEY_get_bits(key.get()) < kLeastRsaBits)
    return fail(Code::bad_config,
                "not a private RSA key of 2048 bits or more, in PEM and without a passphrase");
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  std::string signature(static_cast<std::size_t>(EVP_PKEY_get_size(key.get())), '\0');
  std::size_t size = signature.size();
  const bool is_signed =
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  require(is_signed, "a checked key signs");
  signature.resize(size);
  return signature;
}

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
