#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <bson/bson.h>

#include "core/result.h"
#include "fetchers/definition/engine.h"

namespace metafuse::fetchers {

/// bad_config: the server does not take the pipeline, or the address is none; try_again: not in time;
/// bad_data: an answer that is no BSON; unavailable: all else
struct MongoFailure {
  Code code = Code::unavailable;
  std::string message;  ///< as the driver or the server says it
};

class MongoConnection;

/// What the module metafuse_mongodb.so holds: all of MongoDB's driver that the engine type calls. It is
/// loaded with the first engine of the type, because the driver makes a file of shared memory when it is.
struct MongoModule {
  /// in:     milliseconds - for finding a server, connecting, and each answer
  /// out:    nullptr where it failed
  MongoConnection* (*open)(const DatabaseAccess& access, int milliseconds, MongoFailure& failure);
  void (*close)(MongoConnection* connection);
  /// Hands the bytes of each document of an aggregation over until `take` returns false.
  ///
  /// out: whether it went well
  bool (*aggregate)(MongoConnection& connection, const DatabaseAccess& access, const bson_t& stages,
                    const bson_t& options, const std::function<bool(std::span<const std::uint8_t>)>& take,
                    MongoFailure& failure);
};

/// The module's one symbol, of type MongoModule.
inline constexpr const char* kMongoModuleSymbol = "metafuse_mongo_module";
inline constexpr const char* kMongoModuleFile = "metafuse_mongodb.so";

}  // namespace metafuse::fetchers
