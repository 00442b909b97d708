#include "service/store/shared_state.h"

#include <chrono>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/digest.h"
#include "core/number.h"
#include "service/store/tables.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kChannel = "metafuse_shared_files";

/// out: whether the file was still the one that the caller knows
Result<bool> change_file(SqlSession& session, const SharedChange& change, std::int64_t number) {
  const std::string digest = change.text ? sha256_hex(*change.text) : std::string();
  const std::string text = change.text.value_or("");
  TRY(const auto rows,
      change.known.empty()
          ? count_rows(session,
                       "INSERT INTO shared_files (name, digest, text, change) VALUES ($1, $2, $3, $4) "
                       "ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, text = excluded.text, "
                       "change = excluded.change WHERE shared_files.digest = '' RETURNING 1",
                       {change.name, digest, text, number})
          : count_rows(session,
                       "UPDATE shared_files SET digest = $1, text = $2, change = $3 "
                       "WHERE name = $4 AND digest = $5 RETURNING 1",
                       {digest, text, number, change.name, change.known}));
  return rows > 0;
}

/// A domain's latest version, with the number 0 if there is none. Others wait until the transaction ends.
Result<TemplateVersion> locked_latest(SqlSession& session, std::string_view domain) {
  TRY_VOID(session.lock("templates"));
  static const std::string sql =
      fmt::format("SELECT {} FROM template_versions WHERE domain = $1 ORDER BY number DESC LIMIT 1",
                  columns_of<TemplateVersion>());
  return first_row<TemplateVersion>(session, sql, {domain});
}

}  // namespace

Result<std::vector<SharedFile>> SharedState::files(std::int64_t after) {
  return read_rows<SharedFile>(
      database_,
      "SELECT name, text, digest, change FROM shared_files WHERE change > $1 ORDER BY change, name", {after},
      {}, [](SqlRow row) -> Result<SharedFile> {
        return SharedFile{text_of(row[0]), text_of(row[1]), text_of(row[2]), integer_of(row[3])};
      });
}

Result<bool> SharedState::change_files(std::span<const SharedChange> changes) {
  bool is_overtaken = false;
  const auto change_all = [&](SqlSession& session) -> Result<void> {
    is_overtaken = false;
    TRY_VOID(session.lock("shared_files"));  // so that change numbers follow the order of commits
    TRY(const auto number,
        first_row<std::int64_t>(session, "SELECT coalesce(max(change), 0) + 1 FROM shared_files"));
    for (const SharedChange& change : changes) {
      TRY(const bool is_made, change_file(session, change, number));
      if (is_made) continue;
      is_overtaken = true;
      // The transaction is rolled back.
      return fail(Code::try_again, change.name + ": another server changed it");
    }
    return session.notify(kChannel);
  };
  const auto done = database_.write(change_all);
  if (is_overtaken) return false;
  if (!done) return done.error();
  return true;
}

Result<void> SharedState::forget_removed(std::string_view start, std::int64_t changes) {
  const std::string names = fmt::format("{}%", start);
  return database_.write([&](SqlSession& session) {
    return session.run(
        "DELETE FROM shared_files WHERE change < (SELECT max(change) FROM shared_files) - $1 "
        "AND digest = '' AND name LIKE $2",
        {changes, names});
  });
}

std::unique_ptr<Listener> SharedState::listen(std::function<void()> on_change) {
  return database_.listen(kChannel, std::move(on_change));
}

Result<std::int64_t> SharedState::milliseconds_now() {
  const std::string sql = fmt::format("SELECT {}", database_.milliseconds_now());
  return database_.read_value([&](SqlSession& session) { return first_row<std::int64_t>(session, sql); },
                              Patience::request);
}

Result<bool> SharedState::hold_task(std::string_view task, std::string_view holder, std::int64_t seconds) {
  const std::string sql = fmt::format(
      "INSERT INTO tasks (name, holder, ends) VALUES ($1, $2, {0} + $3) ON CONFLICT (name) DO UPDATE SET "
      "holder = excluded.holder, ends = excluded.ends "
      "WHERE tasks.holder = excluded.holder OR tasks.ends <= {0} RETURNING 1",
      fmt::format("({} / 1000)", database_.milliseconds_now()));
  TRY(const auto rows, database_.write_value([&](SqlSession& session) {
    return count_rows(session, sql, {task, holder, seconds});
  }));
  return rows > 0;
}

Result<std::uint64_t> SharedState::add_usage(std::string_view key, std::int64_t day, std::uint64_t amount) {
  const auto change = [&](SqlSession& session) -> Result<std::uint64_t> {
    TRY_VOID(session.run("DELETE FROM key_usage WHERE api_key = $1 AND day < $2", {key, day}));
    TRY(const auto sum,
        first_row<std::int64_t>(
            session,
            "INSERT INTO key_usage (api_key, day, amount) VALUES ($1, $2, $3) ON CONFLICT (api_key, day) "
            "DO UPDATE SET amount = key_usage.amount + excluded.amount RETURNING amount",
            {key, day, static_cast<std::int64_t>(amount)}));
    return static_cast<std::uint64_t>(sum);
  };
  return database_.write_value(change, Patience::request);
}

Result<std::uint32_t> add_template(SqlSession& session, const TemplateVersion& version) {
  TRY(const auto latest, locked_latest(session, version.domain));
  if (latest.number > 0 && latest.text == version.text) return latest.number;
  TemplateVersion next = version;
  next.number = latest.number + 1;
  TRY_VOID(insert_row(session, next));
  if (next.number > kKeptTemplateVersions)
    TRY_VOID(session.run("DELETE FROM template_versions WHERE domain = $1 AND number <= $2",
                         {next.domain, std::int64_t{next.number - kKeptTemplateVersions}}));
  return next.number;
}

Result<void> add_later_templates(SqlSession& session, std::span<const TemplateVersion> versions) {
  std::map<std::string, TemplateVersion> before;
  for (const TemplateVersion& version : versions) {
    const auto [latest, is_first] = before.try_emplace(version.domain);
    if (is_first) {
      TRY(latest->second, locked_latest(session, version.domain));
    }
    if (latest->second.number > 0 && version.at <= latest->second.at) continue;
    TRY_VOID(add_template(session, version));
  }
  return {};
}

std::uint32_t version_number(std::string_view text) {
  std::int64_t number = 0;
  const bool is_one =
      to_integer(text, number) && number > 0 && number <= std::numeric_limits<std::uint32_t>::max();
  return is_one ? static_cast<std::uint32_t>(number) : 0;
}

Result<std::uint32_t> TemplateVersions::add(const TemplateVersion& version) {
  const auto change = [&](SqlSession& session) -> Result<std::uint32_t> {
    TRY(const auto number, add_template(session, version));
    if (version.number == 0 || version.number == number) return number;
    return fail(Code::try_again,
                version.domain + ": another server saved a version first; load it and try again");
  };
  return database_.write_value(change, Patience::request);
}

Result<std::vector<TemplateVersion>> TemplateVersions::all(std::string_view domain) {
  return read_rows<TemplateVersion>(
      database_,
      "SELECT domain, number, '', author, at FROM template_versions WHERE domain = $1 ORDER BY number DESC",
      {domain}, Patience::request);
}

Result<std::optional<TemplateVersion>> TemplateVersions::find(std::string_view domain, std::uint32_t number) {
  static const std::string sql = fmt::format(
      "SELECT {} FROM template_versions WHERE domain = $1 AND number = $2", columns_of<TemplateVersion>());
  return database_.read_value(
      [&](SqlSession& session) {
        return find_row<TemplateVersion>(session, sql, {domain, std::int64_t{number}});
      },
      Patience::request);
}

std::string curation_name(std::string_view domain) {
  return "curation/" + std::string(domain);
}

std::int64_t machine_milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

SharedClock::SharedClock(SharedState& shared, const Clock& clock)
    : shared_(shared), clock_(clock), shift_ms_(machine_milliseconds() - steady_ms()) {}

std::int64_t SharedClock::steady_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now().time_since_epoch()).count();
}

Result<void> SharedClock::adjust() {
  const std::int64_t asked = steady_ms();
  TRY(const std::int64_t there, shared_.milliseconds_now());
  const std::int64_t answered = steady_ms();
  // assumes that the database read its clock halfway between question and answer
  shift_ms_ = there - (asked + (answered - asked) / 2);
  machine_ahead_ms_ = machine_milliseconds() - (answered + shift_ms_);
  return {};
}

UnixTime SharedClock::now() const {
  return (steady_ms() + shift_ms_) / 1000;
}

}  // namespace metafuse::service
