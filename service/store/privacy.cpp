#include "service/store/privacy.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/text_file.h"
#include "service/store/tables.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kSecretDigits = 64;
constexpr std::string_view kNoPlainSlot = "-";
constexpr std::string_view kHiddenMark = "queries hidden";
constexpr std::string_view kReadMeta = "SELECT value FROM meta WHERE name = $1";
/// Clicks per transaction, so that others can be written in between.
constexpr std::int64_t kForgottenAtOnce = 2000;

/// The name of the row that holds the plain slot by which a domain's queries were unified.
std::string identity_mark(std::string_view domain) {
  return fmt::format("identity {}", domain);
}

bool is_secret(std::string_view text) {
  return text.size() == kSecretDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<void> set_meta(SqlSession& session, std::string_view name, std::string_view value) {
  return session.run(
      "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = "
      "excluded.value",
      {name, value});
}

/// Creates a new file that only its owner can read.
Result<void> make_secret_file(const std::string& path, const std::string& secret) {
  const auto problem = [&] {
    return fail(Code::no_input,
                fmt::format("{}: {}; the store's secret must be kept there", path, std::strerror(errno)));
  };
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return problem();
  const std::string line = secret + "\n";
  const bool is_written =
      ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()) && ::fsync(file) == 0;
  const Error error = is_written ? Error{} : problem();
  ::close(file);
  if (is_written) return {};
  ::unlink(path.c_str());
  return error;
}

/// Hashes the documents of some searches after an id. Stored lists begin with their documents (see
/// lists_text()), so that the query skips already hashed ones without reading them.
///
/// out: the last id of them; empty if there were none
Result<std::string> hide_some_searches(SqlSession& session, const std::string& secret,
                                       const std::string& after) {
  std::vector<std::pair<std::string, std::string>> changes;
  const auto take = [&](SqlRow row) -> Result<void> {
    StoredSearch search;
    TRY_VOID(read_lists_text(text_of(row[1]), search));
    for (std::string& document : search.documents) document = hashed_document(secret, document);
    changes.emplace_back(text_of(row[0]), lists_text(search));
    return {};
  };
  TRY_VOID(
      session.run("SELECT id, lists FROM searches WHERE id > $1 AND substr(lists, 1, 15) = "
                  "'{\"documents\":[\"' AND substr(lists, 16, 1) <> '#' ORDER BY id LIMIT 200",
                  {after}, take));
  for (const auto& [id, lists] : changes)
    TRY_VOID(session.run("UPDATE searches SET lists = $1 WHERE id = $2", {lists, id}));
  return changes.empty() ? std::string() : changes.back().first;
}

/// Blanks the address prefixes of some clicks of the first day that is not before `day` and has clicks.
///
/// in:  kept - the first day whose prefixes stay
/// out: the day to go on with; `kept` if no click from before it is left
Result<std::int64_t> forget_some_prefixes(SqlSession& session, std::int64_t day, std::int64_t kept) {
  TRY(const auto found,
      first_row<std::int64_t>(
          session, "SELECT coalesce(min(day), $1) FROM clicks WHERE day >= $2 AND day < $1", {kept, day}));
  if (found == kept) return kept;
  TRY(const auto blanked,
      count_rows(session,
                 "UPDATE clicks SET prefix = '' WHERE (search, position) IN (SELECT search, position FROM "
                 "clicks WHERE day = $1 AND prefix > '' LIMIT $2) RETURNING 1",
                 {found, kForgottenAtOnce}));
  return std::cmp_less(blanked, kForgottenAtOnce) ? found + 1 : found;
}

/// Gives a domain's searches and judgments of one digest another.
Result<void> rename_query(SqlSession& session, std::string_view domain, const std::string& before,
                          const std::string& now) {
  TRY_VOID(
      session.run("UPDATE searches SET query = $1 WHERE query = $2 AND domain = $3", {now, before, domain}));
  // the primary key allows one judgment per query, document and judge: keep the later one
  TRY_VOID(session.run(
      "INSERT INTO judgments (domain, query, document, judge, grade, search, at) "
      "SELECT domain, $1, document, judge, grade, search, at FROM judgments "
      "WHERE query = $2 AND domain = $3 ON CONFLICT (domain, query, document, judge) DO UPDATE SET "
      "grade = excluded.grade, search = excluded.search, at = excluded.at "
      "WHERE excluded.at > judgments.at",
      {now, before, domain}));
  return session.run("DELETE FROM judgments WHERE query = $1 AND domain = $2", {before, domain});
}

/// Renames a domain's queries. A new digest of one may be the old one of another, so that all of them go by
/// names that are nobody's digest.
Result<void> rename_queries(SqlSession& session, std::string_view domain,
                            const std::map<std::string, std::string>& changes) {
  const auto in_between = [](const std::string& now) { return "to " + now; };
  std::set<std::string> wanted;
  for (const auto& [before, now] : changes) {
    TRY_VOID(rename_query(session, domain, before, in_between(now)));
    wanted.insert(now);
  }
  for (const std::string& now : wanted) TRY_VOID(rename_query(session, domain, in_between(now), now));
  return {};
}

/// The short digest by which a database recognises its secret, which is kept outside of it.
std::string mark_of(const std::string& secret) {
  return sha256_hex("metafuse secret " + secret).substr(0, 16);
}

}  // namespace

QueryPrivacy::QueryPrivacy(SqlDatabase& database, std::string secret_file)
    : database_(database), secret_file_(std::move(secret_file)) {}

/// A value by its name; empty if there is none.
Result<std::string> QueryPrivacy::meta(std::string_view name, Wait wait) {
  return database_.read_value(
      [&](SqlSession& session) { return first_row<std::string>(session, kReadMeta, {name}); }, wait);
}

/// A random value that is created once and then never changes.
Result<std::string> QueryPrivacy::remembered(std::string_view name, Wait wait) {
  const std::string fresh = random_hex(kSecretDigits / 2);
  const auto change = [&](SqlSession& session) -> Result<std::string> {
    TRY_VOID(session.run("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
                         {name, fresh}));
    return first_row<std::string>(session, kReadMeta, {name});
  };
  return database_.write_value(change, wait);
}

Result<std::string> QueryPrivacy::secret() {
  const std::lock_guard lock(secret_mutex_);
  if (!secret_.empty()) return secret_;
  TRY(auto secret, secret_file_.empty() ? remembered("secret", Patience::background) : secret_in_file());
  secret_ = std::move(secret);
  return secret_;
}

/// The secret from its file. The file is written before the database notes its mark, so that a crash in
/// between loses nothing.
Result<std::string> QueryPrivacy::secret_in_file() {
  TRY(const std::string mark, meta("secret mark"));
  std::string secret;
  if (std::filesystem::exists(secret_file_)) {
    TRY(const auto text, read_text(secret_file_, std::size_t{4096}));
    secret = text.substr(0, text.find_last_not_of(" \n\r\t") + 1);
    if (!is_secret(secret))
      return fail(Code::bad_config, secret_file_ + ": has no secret of 64 hexadecimal digits");
    if (!mark.empty() && mark_of(secret) != mark)
      return fail(Code::bad_config,
                  secret_file_ + ": belongs to another store; put this store's secret there");
  } else {
    if (!mark.empty())
      return fail(Code::no_input,
                  secret_file_ + ": the store's secret is gone; restore the file from a backup");
    secret = random_hex(kSecretDigits / 2);
    TRY_VOID(make_secret_file(secret_file_, secret));
  }
  if (!mark.empty()) return secret;
  const std::string new_mark = mark_of(secret);
  TRY_VOID(database_.write([&](SqlSession& session) {
    return session.run(
        "INSERT INTO meta (name, value) VALUES ('secret mark', $1) ON CONFLICT (name) DO NOTHING",
        {new_mark});
  }));
  return secret;
}

Result<std::string> QueryPrivacy::daily_salt(std::int64_t day, TimePoint end) {
  const std::string name = fmt::format("salt {}", day);
  TRY(std::string salt, meta(name, {Patience::request, end}));
  if (!salt.empty()) return salt;
  return remembered(name, {Patience::request, end});
}

Result<void> QueryPrivacy::forget_addresses(std::int64_t today) {
  const std::int64_t kept = today - 1;
  // without a day's salt nobody can link that day's prefixes
  TRY_VOID(database_.write([&](SqlSession& session) {
    return session.run(
        "DELETE FROM meta WHERE CASE WHEN name LIKE 'salt %' "
        "THEN CAST(substr(name, 6) AS bigint) ELSE $1 END < $1",
        {kept});
  }));
  for (std::int64_t day = 0; day < kept;) {
    TRY(day,
        database_.write_value([&](SqlSession& session) { return forget_some_prefixes(session, day, kept); }));
  }
  return {};
}

Result<std::uint64_t> QueryPrivacy::unify_queries(std::string_view domain, std::string_view plain_slot) {
  TRY(const std::string secret, this->secret());
  const std::string mark = identity_mark(domain);
  const std::string done = plain_slot.empty() ? std::string(kNoPlainSlot) : std::string(plain_slot);
  std::map<std::string, std::string> changes;
  const auto change = [&](SqlSession& session) -> Result<void> {
    changes.clear();
    TRY(const std::string unified, first_row<std::string>(session, kReadMeta, {mark}));
    if (unified == done) return {};
    const auto take = [&](SqlRow row) -> Result<void> {
      TRY(const auto slots, read_slots_text(text_of(row[1])));
      std::string now = query_digest(secret, domain, slots, plain_slot);
      if (now != text_of(row[0])) changes[text_of(row[0])] = std::move(now);
      return {};
    };
    TRY_VOID(session.run("SELECT DISTINCT query, slots FROM searches WHERE domain = $1 AND slots <> '{}'",
                         {domain}, take));
    TRY_VOID(rename_queries(session, domain, changes));
    return set_meta(session, mark, done);
  };
  TRY_VOID(database_.write(change, Patience::migration));
  return changes.size();
}

Result<std::string> QueryPrivacy::plain_slot(std::string_view domain) {
  TRY(std::string slot, meta(identity_mark(domain)));
  return slot == kNoPlainSlot ? std::string() : slot;
}

Result<void> QueryPrivacy::allow_words() {
  return database_.write(
      [](SqlSession& session) { return session.run("DELETE FROM meta WHERE name = $1", {kHiddenMark}); });
}

Result<bool> QueryPrivacy::are_queries_hidden() {
  TRY(const std::string mark, meta(kHiddenMark));
  return !mark.empty();
}

Result<void> QueryPrivacy::hide_queries() {
  TRY(const std::string secret, this->secret());
  TRY_VOID(database_.write([](SqlSession& session) { return set_meta(session, kHiddenMark, "yes"); }));
  std::string last;
  do {
    TRY(last,
        database_.write_value([&](SqlSession& session) { return hide_some_searches(session, secret, last); },
                              Patience::migration));
  } while (!last.empty());
  const auto change = [&](SqlSession& session) -> Result<void> {
    TRY_VOID(session.run("UPDATE searches SET slots = '{}' WHERE slots <> '{}'"));
    TRY(const auto documents, rows_of<std::string>(session, "SELECT DISTINCT document FROM judgments"));
    for (const std::string& document : documents) {
      const std::string hashed = hashed_document(secret, document);
      if (hashed == document) continue;
      // a document may be judged in both forms if the setting was changed more than once
      TRY_VOID(
          session.run("DELETE FROM judgments WHERE document = $1 AND EXISTS (SELECT 1 FROM judgments AS o "
                      "WHERE o.document = $2 AND o.domain = judgments.domain AND "
                      "o.query = judgments.query AND o.judge = judgments.judge)",
                      {document, hashed}));
      TRY_VOID(session.run("UPDATE judgments SET document = $1 WHERE document = $2", {hashed, document}));
    }
    return {};
  };
  return database_.write(change, Patience::migration);
}

}  // namespace metafuse::service
