#include <memory>

#include <mongoc/mongoc.h>

#include "fetchers/databases/mongo_module.h"

// The only file that calls MongoDB's driver. Each client is used by one thread at a time and starts no
// threads of its own.

namespace metafuse::fetchers {
namespace detail {

struct Deleter {
  void operator()(mongoc_client_t* client) const { mongoc_client_destroy(client); }
  void operator()(mongoc_uri_t* uri) const { mongoc_uri_destroy(uri); }
  void operator()(mongoc_collection_t* collection) const { mongoc_collection_destroy(collection); }
  void operator()(mongoc_cursor_t* cursor) const { mongoc_cursor_destroy(cursor); }
};
using Client = std::unique_ptr<mongoc_client_t, Deleter>;
using Uri = std::unique_ptr<mongoc_uri_t, Deleter>;
using Collection = std::unique_ptr<mongoc_collection_t, Deleter>;
using Cursor = std::unique_ptr<mongoc_cursor_t, Deleter>;

}  // namespace detail

struct MongoConnection {
  detail::Client client;
  detail::Collection collection;
};

namespace {

using namespace detail;

constexpr std::uint16_t kUsualPort = 27017;

// A selection of MongoDB's error codes.
constexpr std::uint32_t kUnauthorized = 13;
constexpr std::uint32_t kAuthenticationFailed = 18;
constexpr std::uint32_t kTimeExpired = 50;

Error failure_of(const bson_error_t& error) {
  const bool is_of_server = error.domain == MONGOC_ERROR_SERVER || error.domain == MONGOC_ERROR_QUERY ||
                            error.domain == MONGOC_ERROR_WRITE_CONCERN;
  if (is_of_server && error.code == kTimeExpired) return fail(Code::try_again, error.message);
  if (is_of_server && error.code != kUnauthorized && error.code != kAuthenticationFailed)
    return fail(Code::bad_config, error.message);
  if (error.domain == MONGOC_ERROR_BSON || error.domain == MONGOC_ERROR_PROTOCOL)
    return fail(Code::bad_data, error.message);
  return fail(Code::unavailable, error.message);
}

Result<MongoConnection*> open(const DatabaseAccess& access, int milliseconds) {
  static const bool is_started = [] {
    mongoc_init();
    mongoc_log_set_handler(nullptr, nullptr);  // errors are reported as results instead
    return true;
  }();
  static_cast<void>(is_started);
  bson_error_t error{};
  const auto port = access.port > 0 ? static_cast<std::uint16_t>(access.port) : kUsualPort;
  const Uri uri(access.connection.empty() ? mongoc_uri_new_for_host_port(access.host.c_str(), port)
                                          : mongoc_uri_new_with_error(access.connection.c_str(), &error));
  if (!uri) return fail(Code::bad_config, error.message);
  if (!access.username.empty()) mongoc_uri_set_username(uri.get(), access.username.c_str());
  if (!access.password.empty()) mongoc_uri_set_password(uri.get(), access.password.c_str());
  mongoc_uri_set_appname(uri.get(), "metafuse");
  for (const char* option :
       {MONGOC_URI_SERVERSELECTIONTIMEOUTMS, MONGOC_URI_CONNECTTIMEOUTMS, MONGOC_URI_SOCKETTIMEOUTMS})
    mongoc_uri_set_option_as_int32(uri.get(), option, milliseconds);
  Client client(mongoc_client_new_from_uri_with_error(uri.get(), &error));
  if (!client) return failure_of(error);
  mongoc_client_set_error_api(client.get(), MONGOC_ERROR_API_VERSION_2);
  Collection collection(
      mongoc_client_get_collection(client.get(), access.database.c_str(), access.collection.c_str()));
  return new MongoConnection{std::move(client), std::move(collection)};
}

void close(MongoConnection* connection) {
  delete connection;
}

Result<void> aggregate(MongoConnection& connection, const bson_t& stages, const bson_t& options,
                       const std::function<bool(std::span<const std::uint8_t>)>& take) {
  const Cursor cursor(mongoc_collection_aggregate(connection.collection.get(), MONGOC_QUERY_NONE, &stages,
                                                  &options, nullptr));
  const bson_t* document = nullptr;
  while (mongoc_cursor_next(cursor.get(), &document))
    if (!take({bson_get_data(document), document->len})) return {};
  bson_error_t error{};
  if (!mongoc_cursor_error(cursor.get(), &error)) return {};
  return failure_of(error);
}

}  // namespace
}  // namespace metafuse::fetchers

extern "C" {
extern const metafuse::fetchers::MongoModule metafuse_mongo_module;
const metafuse::fetchers::MongoModule metafuse_mongo_module{
    metafuse::fetchers::open, metafuse::fetchers::close, metafuse::fetchers::aggregate};
}
