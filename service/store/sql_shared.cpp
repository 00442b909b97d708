#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "service/base/digest.h"
#include "service/store/sql_rows.h"
#include "service/store/sql_store.h"

// SqlStore's functions for several servers: shared files, and tasks that only one server should do.

namespace metafuse::service {
namespace {

constexpr std::string_view kChannel = "metafuse_shared_files";

Result<void> change_shared_file(SqlSession& session, const SharedChange& change, std::int64_t number,
                                bool& is_made) {
  is_made = false;
  const std::string digest = change.text ? sha256_hex(*change.text) : std::string();
  const std::string text = change.text.value_or("");
  const auto note = [&](SqlRow) -> Result<void> {
    is_made = true;
    return {};
  };
  if (change.known.empty())
    return session.run(
        "INSERT INTO shared_files (name, digest, text, change) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO "
        "UPDATE SET digest = excluded.digest, text = excluded.text, change = excluded.change "
        "WHERE shared_files.digest = '' RETURNING 1",
        {change.name, digest, text, number}, note);
  return session.run(
      "UPDATE shared_files SET digest = $1, text = $2, change = $3 WHERE name = $4 AND digest = $5 RETURNING "
      "1",
      {digest, text, number, change.name, change.known}, note);
}

}  // namespace

Result<std::vector<SharedFile>> SqlStore::shared_files(std::int64_t after) {
  std::vector<SharedFile> files;
  const auto look = [&](SqlSession& session) {
    files.clear();
    return session.run(
        "SELECT name, text, digest, change FROM shared_files WHERE change > $1 ORDER BY change, name",
        {after}, [&](SqlRow row) -> Result<void> {
          files.push_back({text_of(row[0]), text_of(row[1]), text_of(row[2]), integer_of(row[3])});
          return {};
        });
  };
  TRY_VOID(database_->read(look));
  return files;
}

Result<bool> SqlStore::change_shared_files(std::span<const SharedChange> changes) {
  bool is_overtaken = false;
  const auto change_all = [&](SqlSession& session) -> Result<void> {
    is_overtaken = false;
    TRY_VOID(session.lock("shared_files"));  // so that change numbers follow the order of commits
    std::int64_t number = 0;
    TRY_VOID(session.run("SELECT coalesce(max(change), 0) + 1 FROM shared_files", {},
                         [&](SqlRow row) -> Result<void> {
                           number = integer_of(row[0]);
                           return {};
                         }));
    for (const SharedChange& change : changes) {
      bool is_made = false;
      TRY_VOID(change_shared_file(session, change, number, is_made));
      if (is_made) continue;
      is_overtaken = true;
      // The transaction is rolled back.
      return fail(Code::try_again, change.name + ": another server changed it");
    }
    return session.notify(kChannel);
  };
  const auto done = database_->write(change_all);
  if (is_overtaken) return false;
  if (!done) return done.error();
  return true;
}

std::unique_ptr<Listener> SqlStore::listen(std::function<void()> on_change) {
  return database_->listen(kChannel, std::move(on_change));
}

Result<std::int64_t> SqlStore::milliseconds_now() {
  std::int64_t now = 0;
  const std::string sql = fmt::format("SELECT {}", database_->milliseconds_now());
  TRY_VOID(database_->read([&](SqlSession& session) { return session.run(sql, {}, into(now)); },
                           Patience::request));
  return now;
}

Result<bool> SqlStore::hold_task(std::string_view task, std::string_view holder, std::int64_t seconds) {
  bool is_held = false;
  const std::string now = fmt::format("({} / 1000)", database_->milliseconds_now());
  const std::string sql = fmt::format(
      "INSERT INTO tasks (name, holder, ends) VALUES ($1, $2, {0} + $3) ON CONFLICT (name) DO UPDATE SET "
      "holder = excluded.holder, ends = excluded.ends WHERE tasks.holder = excluded.holder OR tasks.ends <= "
      "{0} "
      "RETURNING 1",
      now);
  const auto take = [&](SqlSession& session) {
    is_held = false;
    return session.run(sql, {task, holder, seconds}, [&](SqlRow) -> Result<void> {
      is_held = true;
      return {};
    });
  };
  TRY_VOID(database_->write(take));
  return is_held;
}

}  // namespace metafuse::service
