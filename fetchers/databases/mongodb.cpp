// MongoDB, Atlas and compatible servers, through MongoDB's C driver in a module. Values are inserted into
// BSON, never into text. The driver blocks, so an engine of this type is searched on a thread of its own,
// within the driver's time limits and the server's `maxTimeMS`.

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include <bson/bson.h>
#include <fmt/format.h>

#include "core/idle_pool.h"
#include "core/module.h"
#include "core/text.h"
#include "fetchers/databases/database.h"
#include "fetchers/databases/mongo_module.h"
#include "fetchers/databases/mongo_pipeline.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxMongoTextBytes = 64 * 1024;  ///< per field; results show less
constexpr std::size_t kMaxMongoFields = 256;           ///< per document
constexpr int kMaxMongoDepth = 8;
constexpr int kMaxBatch = 100;

Result<const MongoModule*> mongo_module() {
  static const Result<const void*> module = load_module(kMongoModuleFile, kMongoModuleSymbol);
  if (!module)
    return fail(
        Code::unavailable,
        fmt::format(
            "MongoDB's driver cannot be loaded; install the package metafuse-mongodb, or build {} ({})",
            kMongoModuleFile, module.error().text));
  return static_cast<const MongoModule*>(*module);
}

/// Closes a connection through the module that opened it.
struct MongoCloser {
  const MongoModule* module = nullptr;
  void operator()(MongoConnection* connection) const { module->close(connection); }
};
using MongoClient = std::unique_ptr<MongoConnection, MongoCloser>;

/// A BSON document of our own. (A unique_ptr cannot be used: bson_t is aligned, which template
/// arguments ignore.)
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

Error mongo_error(const Error& failure, const Deadline& deadline) {
  const bool is_late = failure.code == Code::unavailable && deadline.has_passed();
  return fail(is_late ? Code::try_again : failure.code, "MongoDB: " + to_valid_utf8(failure.text));
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

/// The fields of a document with their paths, such as `author.name`. The texts of a list are joined.
struct MongoFields {
  std::vector<std::string> names, values;

  void add(const bson_t& document) {
    bson_iter_t at;
    if (bson_iter_init(&at, &document)) add(at, "", 0);
  }

  /// Maps result columns to fields of other names, such as url to link.
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
  using Database::Database;

  Result<RankedList> search(const SqlWindow& window, const Deadline& deadline) override {
    if (window.query.find('\0') != std::string_view::npos)
      return fail(Code::bad_data, "the query contains a NUL byte, which MongoDB does not accept");
    TRY(const auto pipeline, parse_json(access_.statement, "pipeline", Code::bad_config));
    // The server may have closed an idle connection; if so, try again with a new one.
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
    TRY(const auto* module, mongo_module());
    const auto opened = module->open(access_, milliseconds());
    if (opened) return MongoClient(*opened, MongoCloser{module});
    const std::string_view origin = opened.error().code == Code::bad_config ? "connection: " : "MongoDB: ";
    return fail(opened.error().code, std::string(origin) + to_valid_utf8(opened.error().text));
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
    HitRows rows(access_.url_format, window.depth, wanted - window.depth);
    bool is_late = false;
    const auto take = [&](std::span<const std::uint8_t> bytes) {
      is_late = deadline.has_passed();
      bson_t document;
      if (is_late || !bson_init_static(&document, bytes.data(), bytes.size())) return !is_late;
      MongoFields fields;
      fields.add(document);
      fields.rename(access_.columns);
      rows.add(std::vector<std::string_view>(fields.names.begin(), fields.names.end()),
               std::vector<std::string_view>(fields.values.begin(), fields.values.end()));
      return !rows.is_full();
    };
    const auto asked = client.get_deleter().module->aggregate(*client, *stages.get(), *options.get(), take);
    if (is_late) return fail(Code::try_again, "MongoDB did not answer in time");
    // after a mere refusal the connection is still usable
    if (asked || asked.error().code == Code::bad_config) idle_.give_back(std::move(client));
    if (!asked) return mongo_error(asked.error(), deadline);
    return rows.take();
  }

  IdlePool<MongoClient> idle_{kMostIdleConnections};
};

}  // namespace

std::unique_ptr<Database> make_mongodb(const DatabaseAccess& access, Duration timeout) {
  return std::make_unique<Mongodb>(access, timeout);
}

}  // namespace metafuse::fetchers
