// MongoDB, Atlas and what speaks their protocol, by MongoDB's C driver: an aggregation whose values are
// filled into BSON, never into text. The driver blocks, so an engine of this type is asked on a thread of its
// own, and the driver's time limits and the server's `maxTimeMS` bound that. Clients are used by one thread
// at a time: they have no thread of their own.

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>
#include <mongoc/mongoc.h>

#include "core/utf8.h"
#include "fetchers/databases/database.h"
#include "fetchers/databases/idle_connections.h"
#include "fetchers/databases/mongo_pipeline.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxMongoTextBytes = 64 * 1024;  ///< of a field; results show less
constexpr std::size_t kMaxMongoFields = 256;           ///< of a document
constexpr int kMaxMongoDepth = 8;
constexpr int kMaxBatch = 100;

// Of MongoDB's error codes.
constexpr std::uint32_t kMongoUnauthorized = 13;
constexpr std::uint32_t kMongoAuthenticationFailed = 18;
constexpr std::uint32_t kMongoTimeExpired = 50;

struct MongoDeleter {
  void operator()(mongoc_client_t* client) const { mongoc_client_destroy(client); }
  void operator()(mongoc_uri_t* uri) const { mongoc_uri_destroy(uri); }
  void operator()(mongoc_collection_t* collection) const { mongoc_collection_destroy(collection); }
  void operator()(mongoc_cursor_t* cursor) const { mongoc_cursor_destroy(cursor); }
};
using MongoClient = std::unique_ptr<mongoc_client_t, MongoDeleter>;
using MongoUri = std::unique_ptr<mongoc_uri_t, MongoDeleter>;
using MongoCollection = std::unique_ptr<mongoc_collection_t, MongoDeleter>;
using MongoCursor = std::unique_ptr<mongoc_cursor_t, MongoDeleter>;

/// A document of ours. (bson_t is aligned, which a template's argument forgets.)
class Bson {
 public:
  explicit Bson(bson_t* document) : document_(document) {}
  Bson(const Bson&) = delete;
  Bson& operator=(const Bson&) = delete;
  ~Bson() {
    if (document_ != nullptr) bson_destroy(document_);
  }
  const bson_t* get() const { return document_; }

 private:
  bson_t* document_;
};

Error mongo_error(const bson_error_t& error, const Deadline& deadline) {
  const std::string said = "MongoDB: " + to_valid_utf8(error.message);
  const bool is_of_server = error.domain == MONGOC_ERROR_SERVER || error.domain == MONGOC_ERROR_QUERY ||
                            error.domain == MONGOC_ERROR_WRITE_CONCERN;
  if (is_of_server && error.code == kMongoTimeExpired) return fail(Code::try_again, said);
  if (is_of_server && error.code != kMongoUnauthorized && error.code != kMongoAuthenticationFailed)
    return fail(Code::bad_config, said);
  if (error.domain == MONGOC_ERROR_BSON || error.domain == MONGOC_ERROR_PROTOCOL)
    return fail(Code::bad_data, said);
  return fail(deadline.has_passed() ? Code::try_again : Code::unavailable, said);
}

std::string text_of(const bson_iter_t& at) {
  switch (bson_iter_type(&at)) {
    case BSON_TYPE_UTF8: {
      std::uint32_t size = 0;
      const char* text = bson_iter_utf8(&at, &size);
      return to_valid_utf8({text, std::min<std::size_t>(size, kMaxMongoTextBytes)});
    }
    case BSON_TYPE_OID: {
      std::array<char, 25> text{};
      bson_oid_to_string(bson_iter_oid(&at), text.data());
      return text.data();
    }
    case BSON_TYPE_DATE_TIME:  // milliseconds since 1970
      return std::to_string(bson_iter_date_time(&at));
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
      return std::to_string(bson_iter_as_int64(&at));
    case BSON_TYPE_DOUBLE:
      return fmt::format("{}", bson_iter_double(&at));
    case BSON_TYPE_BOOL:
      return bson_iter_bool(&at) ? "true" : "false";
    default:
      return {};
  }
}

/// The fields of a document with their paths, `author.name`; the texts of a list are joined.
struct MongoFields {
  std::vector<std::string> names, values;

  void add(const bson_t& document) {
    bson_iter_t at;
    if (bson_iter_init(&at, &document)) add(at, "", 0);
  }

  /// The columns of a result read other fields: url from link.
  void rename(const std::vector<std::pair<std::string, std::string>>& columns) {
    std::vector<std::string> renamed;
    for (const auto& [column, path] : columns) {
      const auto found = std::find(names.begin(), names.end(), path);
      renamed.push_back(found == names.end() ? "" : values[static_cast<std::size_t>(found - names.begin())]);
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::replace(names.begin(), names.end(), columns[i].first, std::string());
      names.push_back(columns[i].first);
      values.push_back(std::move(renamed[i]));
    }
  }

 private:
  void add(bson_iter_t& at, const std::string& before, int depth) {
    while (names.size() < kMaxMongoFields && bson_iter_next(&at)) {
      const std::string name = before + bson_iter_key(&at);
      bson_iter_t inner;
      const bson_type_t type = bson_iter_type(&at);
      if (type == BSON_TYPE_ARRAY && bson_iter_recurse(&at, &inner)) {
        names.push_back(name);
        values.push_back(joined(inner));
      } else if (type == BSON_TYPE_DOCUMENT && depth < kMaxMongoDepth && bson_iter_recurse(&at, &inner)) {
        add(inner, name + ".", depth + 1);
      } else {
        names.push_back(name);
        values.push_back(text_of(at));
      }
    }
  }

  static std::string joined(bson_iter_t& at) {
    std::string out;
    while (out.size() < kMaxMongoTextBytes && bson_iter_next(&at))
      if (const std::string text = text_of(at); !text.empty()) out += (out.empty() ? "" : ", ") + text;
    return out;
  }
};

class Mongodb final : public Database {
 public:
  Mongodb(DatabaseAccess access, Duration timeout) : access_(std::move(access)), timeout_(timeout) {
    static const bool is_started = [] {
      mongoc_init();
      mongoc_log_set_handler(nullptr, nullptr);  // errors come back as results
      return true;
    }();
    static_cast<void>(is_started);
  }

  Result<RankedList> search(const SqlWindow& window, const Deadline& deadline) override {
    if (window.query.find('\0') != std::string_view::npos)
      return fail(Code::bad_data, "a query with a NUL byte is no text of MongoDB's");
    TRY(const auto pipeline, parse_json(access_.statement, "pipeline", Code::bad_config));
    // A connection that lay idle may have been ended by the server: then a new one is worth a try.
    if (MongoClient idle = idle_.take()) {
      auto list = ask(std::move(idle), pipeline, window, deadline);
      if (list || list.error().code != Code::unavailable || deadline.has_passed()) return list;
    }
    TRY(auto client, open());
    return ask(std::move(client), pipeline, window, deadline);
  }

 private:
  int milliseconds() const {
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(timeout_).count());
  }

  Result<MongoClient> open() const {
    bson_error_t error{};
    const MongoUri uri(
        access_.connection.empty()
            ? mongoc_uri_new_for_host_port(
                  access_.host.c_str(), static_cast<std::uint16_t>(access_.port > 0 ? access_.port : 27017))
            : mongoc_uri_new_with_error(access_.connection.c_str(), &error));
    if (!uri) return fail(Code::bad_config, "connection: " + to_valid_utf8(error.message));
    if (!access_.username.empty()) mongoc_uri_set_username(uri.get(), access_.username.c_str());
    if (!access_.password.empty()) mongoc_uri_set_password(uri.get(), access_.password.c_str());
    mongoc_uri_set_appname(uri.get(), "metafuse");
    for (const char* option :
         {MONGOC_URI_SERVERSELECTIONTIMEOUTMS, MONGOC_URI_CONNECTTIMEOUTMS, MONGOC_URI_SOCKETTIMEOUTMS})
      mongoc_uri_set_option_as_int32(uri.get(), option, milliseconds());
    MongoClient client(mongoc_client_new_from_uri_with_error(uri.get(), &error));
    if (!client) return fail(Code::unavailable, "MongoDB: " + to_valid_utf8(error.message));
    mongoc_client_set_error_api(client.get(), MONGOC_ERROR_API_VERSION_2);
    return client;
  }

  Result<RankedList> ask(MongoClient client, const Json& pipeline, const SqlWindow& window,
                         const Deadline& deadline) {
    bson_error_t error{};
    const std::string text = to_text(JsonObject{{"pipeline", filled_pipeline(pipeline, window)}});
    const Bson stages(bson_new_from_json(reinterpret_cast<const std::uint8_t*>(text.data()),
                                         static_cast<ssize_t>(text.size()), &error));
    if (stages.get() == nullptr) return fail(Code::bad_data, "pipeline: " + to_valid_utf8(error.message));
    const int wanted = window.depth + (pipeline_skips(pipeline) ? 0 : window.offset);
    const Bson options(BCON_NEW("maxTimeMS", BCON_INT64(milliseconds()), "batchSize",
                                BCON_INT32(std::clamp(wanted, 1, kMaxBatch))));
    const MongoCollection collection(
        mongoc_client_get_collection(client.get(), access_.database.c_str(), access_.collection.c_str()));
    HitRows rows(access_.url_format, window.depth, wanted - window.depth);
    {
      const MongoCursor cursor(mongoc_collection_aggregate(collection.get(), MONGOC_QUERY_NONE, stages.get(),
                                                           options.get(), nullptr));
      const bson_t* document = nullptr;
      while (!rows.is_full() && mongoc_cursor_next(cursor.get(), &document)) {
        if (deadline.has_passed()) return fail(Code::try_again, "MongoDB did not answer in time");
        MongoFields fields;
        fields.add(*document);
        fields.rename(access_.columns);
        rows.add(std::vector<std::string_view>(fields.names.begin(), fields.names.end()),
                 std::vector<std::string_view>(fields.values.begin(), fields.values.end()));
      }
      if (mongoc_cursor_error(cursor.get(), &error)) {
        const Error failed = mongo_error(error, deadline);
        if (failed.code == Code::bad_config) idle_.give_back(std::move(client));  // in order, it only refused
        return failed;
      }
    }
    idle_.give_back(std::move(client));
    return rows.take();
  }

  DatabaseAccess access_;
  Duration timeout_;
  IdleConnections<MongoClient> idle_;
};

}  // namespace

std::unique_ptr<Database> make_mongodb(const DatabaseAccess& access, Duration timeout) {
  return std::make_unique<Mongodb>(access, timeout);
}

}  // namespace metafuse::fetchers
