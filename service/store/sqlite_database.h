#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "service/store/sql_database.h"
#include "service/store/store.h"

namespace metafuse::service {

/// Opens an SQLite file in WAL mode: one connection writes and checkpoints, another only reads. In mode
/// `serve` the file is created if it does not exist (readable by its owner only), checked, and locked against
/// a second server (FILE.lock). A single writing connection is necessary because two that write or checkpoint
/// at once can damage a WAL in SQLite 3.40.
///
/// errors: those of open_store
Result<std::unique_ptr<SqlDatabase>> open_sqlite(const std::string& path, StoreMode mode);

}  // namespace metafuse::service
