#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <bson/bson.h>

#include "core/result.h"
#include "fetchers/definition/engine.h"

namespace metafuse::fetchers {

struct MongoConnection;

/// The contents of the module metafuse_mongodb.so: everything of MongoDB's driver that the engine type calls.
/// It is loaded with the first engine of this type, not at program start, because loading the driver creates
/// a shared-memory file.
///
/// errors: with the text of the driver or the server: bad_config: the server rejects the pipeline, or the
///         address is invalid; try_again: not finished in time; bad_data: the answer is not BSON;
///         unavailable: everything else
struct MongoModule {
  /// in:     milliseconds - limit for finding a server, for connecting, and for each answer
  Result<MongoConnection*> (*open)(const DatabaseAccess& access, int milliseconds);
  void (*close)(MongoConnection* connection);
  /// Passes the bytes of each document of an aggregation to `take` until it returns false.
  Result<void> (*aggregate)(MongoConnection& connection, const bson_t& stages, const bson_t& options,
                            const std::function<bool(std::span<const std::uint8_t>)>& take);
};

/// The only symbol that the module exports, of type MongoModule.
inline constexpr const char* kMongoModuleSymbol = "metafuse_mongo_module";
inline constexpr const char* kMongoModuleFile = "metafuse_mongodb.so";

}  // namespace metafuse::fetchers
