#include "service/sql_store.h"

#include <algorithm>
#include <array>
#include <map>

#include "service/digest.h"
#include "service/sql_export.h"
#include "service/sql_rows.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kSchemaVersion = "1";

// One text for both databases: SQLite takes the names of PostgreSQL's types by their affinity.
constexpr std::array kSchema = {
    "CREATE TABLE IF NOT EXISTS searches (id text PRIMARY KEY, domain text NOT NULL, query text NOT NULL, "
    "slots text NOT NULL, at bigint NOT NULL, model text NOT NULL, challenger text NOT NULL, lists text NOT "
    "NULL)",
    "CREATE INDEX IF NOT EXISTS searches_at ON searches (at)",
    "CREATE TABLE IF NOT EXISTS clicks (search text NOT NULL, position bigint NOT NULL, domain text NOT "
    "NULL, "
    "team bigint NOT NULL, at bigint NOT NULL, day bigint NOT NULL, prefix text NOT NULL, api_key text NOT "
    "NULL, "
    "weight double precision NOT NULL, PRIMARY KEY (search, position))",
    "CREATE INDEX IF NOT EXISTS clicks_prefix ON clicks (day, prefix)",
    "CREATE INDEX IF NOT EXISTS clicks_key ON clicks (day, api_key)",
    "CREATE INDEX IF NOT EXISTS clicks_domain ON clicks (domain, at)",
    "CREATE TABLE IF NOT EXISTS judgments (domain text NOT NULL, query text NOT NULL, document text NOT "
    "NULL, "
    "judge text NOT NULL, grade bigint NOT NULL, search text NOT NULL, at bigint NOT NULL, "
    "PRIMARY KEY (domain, query, document, judge))",
    "CREATE INDEX IF NOT EXISTS judgments_search ON judgments (search)",
    "CREATE TABLE IF NOT EXISTS template_versions (domain text NOT NULL, number bigint NOT NULL, "
    "text text NOT NULL, author text NOT NULL, at bigint NOT NULL, PRIMARY KEY (domain, number))",
    "CREATE TABLE IF NOT EXISTS key_usage (api_key text NOT NULL, day bigint NOT NULL, amount bigint NOT "
    "NULL, "
    "PRIMARY KEY (api_key, day))",
};

constexpr std::string_view kInsertSearch =
    "INSERT INTO searches (id, domain, query, slots, at, model, challenger, lists) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING";

TakeRow into(std::string& text) {
  return [&text](SqlRow row) -> Result<void> {
    text = text_of(row[0]);
    return {};
  };
}
TakeRow into(std::int64_t& value) {
  return [&value](SqlRow row) -> Result<void> {
    value = integer_of(row[0]);
    return {};
  };
}
TakeRow into(double& value) {
  return [&value](SqlRow row) -> Result<void> {
    value = number_of(row[0]);
    return {};
  };
}

Result<std::int64_t> count(SqlSession& session, std::string_view sql,
                           std::initializer_list<SqlValue> values) {
  std::int64_t rows = 0;
  auto run = session.run(sql, values, [&](SqlRow) -> Result<void> {
    ++rows;
    return {};
  });
  if (run.has_error()) return run.error();
  return rows;
}

/// What a cap leaves of a click's weight after what the day already holds.
Result<double> left_of(SqlSession& session, std::string_view sql, std::int64_t day, std::string_view who,
                       double cap) {
  double used = 0;
  if (auto run = session.run(sql, {day, who}, into(used)); run.has_error()) return run.error();
  return std::max(0.0, cap - used);
}

class SqlStore final : public Store {
 public:
  explicit SqlStore(std::unique_ptr<SqlDatabase> database) : database_(std::move(database)) {}

  Result<void> prepare(StoreMode mode) {
    if (mode == StoreMode::serve) {
      auto made = database_->write(make_tables);
      if (made.has_error()) return made;
    }
    std::string version;
    auto read = database_->read([&](SqlSession& session) {
      return session.run("SELECT value FROM meta WHERE name = 'schema'", {}, into(version));
    });
    if (read.has_error() && mode == StoreMode::read)
      return fail(Code::bad_data, read.error().text + "; this is no store of metafuse");
    if (read.has_error()) return read;
    if (version == kSchemaVersion) return {};
    return fail(Code::bad_data, "the store has version '" + version + "' and this program knows version " +
                                    std::string(kSchemaVersion) + "; use the program that made it");
  }

  Result<void> add_searches(std::span<const StoredSearch> searches) override {
    if (searches.empty()) return {};
    std::vector<std::string> lists;
    for (const StoredSearch& search : searches) lists.push_back(lists_text(search));
    return database_->write([&](SqlSession& session) -> Result<void> {
      for (std::size_t i = 0; i < searches.size(); ++i) {
        const StoredSearch& search = searches[i];
        const std::string slots = slots_text(search.slots);
        auto run = session.run(kInsertSearch, {search.id, search.domain, search.query, slots, search.at,
                                               search.model, search.challenger, lists[i]});
        if (run.has_error()) return run;
      }
      return {};
    });
  }

  Result<std::optional<StoredSearch>> find_search(std::string_view id) override {
    std::optional<StoredSearch> found;
    auto read = database_->read([&](SqlSession& session) {
      return session.run("SELECT " + std::string(kSearchColumns) + " FROM searches WHERE id = $1", {id},
                         [&](SqlRow row) -> Result<void> {
                           auto search = read_search_row(row);
                           if (search.has_error()) return search.error();
                           found = std::move(*search);
                           return {};
                         });
    });
    if (read.has_error()) return read.error();
    return found;
  }

  Result<ClickOutcome> add_click(const Click& click, const ClickCaps& caps) override {
    ClickOutcome outcome = ClickOutcome::recorded;
    auto written = database_->write([&](SqlSession& session) -> Result<void> {
      // The sums that the caps look at must not change before this click is among them.
      if (auto locked = session.lock("clicks"); locked.has_error()) return locked;
      auto before = count(session, "SELECT 1 FROM clicks WHERE search = $1 AND position = $2",
                          {click.search, std::int64_t{click.position}});
      if (before.has_error()) return before.error();
      outcome = *before > 0 ? ClickOutcome::duplicate : ClickOutcome::capped;
      if (*before > 0) return {};
      auto weight = capped_weight(session, click, caps);
      if (weight.has_error()) return weight.error();
      if (*weight <= 0) return {};
      outcome = ClickOutcome::recorded;
      return session.run(
          "INSERT INTO clicks (search, position, domain, team, at, day, prefix, api_key, weight) "
          "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
          {click.search, std::int64_t{click.position}, click.domain, static_cast<std::int64_t>(click.team),
           click.at, day_of(click.at), click.prefix, click.key, *weight});
    });
    if (written.has_error()) return written.error();
    return outcome;
  }

  Result<std::vector<Click>> clicks_of(std::string_view search) override {
    std::vector<Click> clicks;
    auto read = database_->read([&](SqlSession& session) {
      return session.run(
          "SELECT " + std::string(kClickColumns) + " FROM clicks WHERE search = $1 ORDER BY position",
          {search}, [&](SqlRow row) -> Result<void> {
            clicks.push_back(read_click_row(row));
            return {};
          });
    });
    if (read.has_error()) return read.error();
    return clicks;
  }

  Result<std::vector<std::string>> clicked_searches(std::string_view domain, std::size_t limit) override {
    std::vector<std::string> ids;
    auto read = database_->read([&](SqlSession& session) {
      return session.run(
          "SELECT search, max(at) AS latest FROM clicks WHERE domain = $1 GROUP BY search "
          "ORDER BY latest DESC, search LIMIT $2",
          {domain, static_cast<std::int64_t>(limit)}, [&](SqlRow row) -> Result<void> {
            ids.push_back(text_of(row[0]));
            return {};
          });
    });
    if (read.has_error()) return read.error();
    return ids;
  }

  Result<void> set_judgment(const StoredJudgment& judgment) override {
    return database_->write([&](SqlSession& session) {
      return session.run(
          "INSERT INTO judgments (domain, query, document, judge, grade, search, at) "
          "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (domain, query, document, judge) "
          "DO UPDATE SET grade = excluded.grade, search = excluded.search, at = excluded.at",
          {judgment.domain, judgment.query, judgment.document, judgment.judge, std::int64_t{judgment.grade},
           judgment.search, judgment.at});
    });
  }

  Result<std::vector<JudgedQuery>> judged_queries(std::string_view domain) override {
    std::vector<JudgedQuery> queries;
    UnixTime latest = 0;
    auto read = database_->read([&](SqlSession& session) {
      return session.run("SELECT " + std::string(kJudgmentColumns) +
                             " FROM judgments WHERE domain = $1 ORDER BY query, document, judge",
                         {domain}, [&](SqlRow row) -> Result<void> {
                           StoredJudgment judgment = read_judgment_row(row);
                           if (queries.empty() || queries.back().query != judgment.query) {
                             queries.push_back({judgment.query, judgment.search, {}});
                             latest = judgment.at;
                           }
                           if (judgment.at > latest) {
                             latest = judgment.at;
                             queries.back().search = judgment.search;
                           }
                           queries.back().judgments.push_back(std::move(judgment));
                           return {};
                         });
    });
    if (read.has_error()) return read.error();
    return queries;
  }

  Result<InterleavingCounts> interleaving_counts(std::string_view domain, std::string_view champion,
                                                 std::string_view challenger) override {
    InterleavingCounts counts;
    auto read = database_->read([&](SqlSession& session) {
      return session.run(
          "SELECT sum(CASE WHEN c.team = 1 THEN c.weight ELSE 0.0 END), "
          "sum(CASE WHEN c.team = 2 THEN c.weight ELSE 0.0 END) FROM clicks c JOIN searches s ON s.id = "
          "c.search "
          "WHERE s.domain = $1 AND s.model = $2 AND s.challenger = $3 GROUP BY s.id",
          {domain, champion, challenger}, [&](SqlRow row) -> Result<void> {
            const double a = number_of(row[0]);
            const double b = number_of(row[1]);
            ++(a > b ? counts.champion : b > a ? counts.challenger : counts.ties);
            return {};
          });
    });
    if (read.has_error()) return read.error();
    return counts;
  }

  Result<std::uint32_t> add_template_version(const TemplateVersion& version) override {
    std::int64_t number = 0;
    auto written = database_->write([&](SqlSession& session) -> Result<void> {
      if (auto locked = session.lock("templates"); locked.has_error()) return locked;
      number = 0;
      std::string text;
      auto latest = session.run(
          "SELECT number, text FROM template_versions WHERE domain = $1 ORDER BY number DESC LIMIT 1",
          {version.domain}, [&](SqlRow row) -> Result<void> {
            number = integer_of(row[0]);
            text = text_of(row[1]);
            return {};
          });
      if (latest.has_error() || (number > 0 && text == version.text)) return latest;
      if (number >= kMaxTemplateVersions)
        return fail(Code::try_again, version.domain + ": " + std::to_string(number) +
                                         " versions are kept; export and remove old ones first");
      ++number;
      return session.run(
          "INSERT INTO template_versions (domain, number, text, author, at) VALUES ($1, $2, $3, $4, $5)",
          {version.domain, number, version.text, version.author, version.at});
    });
    if (written.has_error()) return written.error();
    return static_cast<std::uint32_t>(number);
  }

  Result<std::vector<TemplateVersion>> template_versions(std::string_view domain) override {
    std::vector<TemplateVersion> versions;
    auto read = database_->read([&](SqlSession& session) {
      return session.run(
          "SELECT domain, number, '', author, at FROM template_versions WHERE domain = $1 ORDER BY number "
          "DESC",
          {domain}, [&](SqlRow row) -> Result<void> {
            versions.push_back(read_template_row(row));
            return {};
          });
    });
    if (read.has_error()) return read.error();
    return versions;
  }

  Result<std::optional<TemplateVersion>> find_template_version(std::string_view domain,
                                                               std::uint32_t number) override {
    std::optional<TemplateVersion> found;
    auto read = database_->read([&](SqlSession& session) {
      return session.run("SELECT " + std::string(kTemplateColumns) +
                             " FROM template_versions WHERE domain = $1 AND number = $2",
                         {domain, std::int64_t{number}}, [&](SqlRow row) -> Result<void> {
                           found = read_template_row(row);
                           return {};
                         });
    });
    if (read.has_error()) return read.error();
    return found;
  }

  Result<std::uint64_t> add_usage(std::string_view key, std::int64_t day, std::uint64_t amount) override {
    std::int64_t sum = 0;
    auto written = database_->write([&](SqlSession& session) -> Result<void> {
      auto forgotten = session.run("DELETE FROM key_usage WHERE api_key = $1 AND day < $2", {key, day});
      if (forgotten.has_error()) return forgotten;
      return session.run(
          "INSERT INTO key_usage (api_key, day, amount) VALUES ($1, $2, $3) ON CONFLICT (api_key, day) "
          "DO UPDATE SET amount = key_usage.amount + excluded.amount RETURNING amount",
          {key, day, static_cast<std::int64_t>(amount)}, into(sum));
    });
    if (written.has_error()) return written.error();
    return static_cast<std::uint64_t>(sum);
  }

  Result<std::string> secret() override { return remembered("secret"); }

  Result<std::string> daily_salt(std::int64_t day) override {
    const std::string name = "salt " + std::to_string(day);
    std::string salt;
    auto read = database_->read([&](SqlSession& session) {
      return session.run("SELECT value FROM meta WHERE name = $1", {name}, into(salt));
    });
    if (read.has_error()) return read.error();
    if (!salt.empty()) return salt;
    // Once a day: without the salt nobody can link yesterday's prefixes, and nothing needs them any more.
    auto forgotten = database_->write([&](SqlSession& session) -> Result<void> {
      auto run = session.run("DELETE FROM meta WHERE name LIKE 'salt %' AND name <> $1", {name});
      if (run.has_error()) return run;
      return session.run("UPDATE clicks SET prefix = '' WHERE day < $1 AND prefix <> ''", {day});
    });
    if (forgotten.has_error()) return forgotten.error();
    return remembered(name);
  }

  Result<RemovedCounts> remove_before(UnixTime time) override;
  Result<RemovedCounts> reset_feedback(std::string_view domain, bool clicks, bool judgments) override;

  Result<void> export_lines(const std::function<Result<void>(std::string_view line)>& take) override {
    return export_database(*database_, take);
  }

  Result<void> check() override { return database_->check(); }

 private:
  static Result<void> make_tables(SqlSession& session) {
    if (auto locked = session.lock("schema"); locked.has_error()) return locked;
    auto made = session.run("CREATE TABLE IF NOT EXISTS meta (name text PRIMARY KEY, value text NOT NULL)");
    if (made.has_error()) return made;
    std::string version;
    auto read = session.run("SELECT value FROM meta WHERE name = 'schema'", {}, into(version));
    if (read.has_error() || !version.empty()) return read;
    for (const char* sql : kSchema)
      if (auto run = session.run(sql); run.has_error()) return run;
    return session.run("INSERT INTO meta (name, value) VALUES ('schema', $1)", {kSchemaVersion});
  }

  static Result<double> capped_weight(SqlSession& session, const Click& click, const ClickCaps& caps) {
    const std::int64_t day = day_of(click.at);
    auto by_prefix =
        left_of(session, "SELECT coalesce(sum(weight), 0.0) FROM clicks WHERE day = $1 AND prefix = $2", day,
                click.prefix, caps.per_prefix);
    if (by_prefix.has_error()) return by_prefix;
    const double weight = std::min(click.weight, *by_prefix);
    if (click.key.empty()) return weight;
    auto by_key =
        left_of(session, "SELECT coalesce(sum(weight), 0.0) FROM clicks WHERE day = $1 AND api_key = $2", day,
                click.key, caps.per_key);
    if (by_key.has_error()) return by_key;
    return std::min(weight, *by_key);
  }

  /// A random value that is made once and then stays.
  Result<std::string> remembered(std::string_view name) {
    const std::string fresh = random_hex(32);
    std::string value;
    auto written = database_->write([&](SqlSession& session) -> Result<void> {
      auto made = session.run("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
                              {name, fresh});
      if (made.has_error()) return made;
      return session.run("SELECT value FROM meta WHERE name = $1", {name}, into(value));
    });
    if (written.has_error()) return written.error();
    return value;
  }

  std::unique_ptr<SqlDatabase> database_;
};

/// Rows that one transaction removes, so that clicks and searches can be written in between.
constexpr std::int64_t kRemovedAtOnce = 2000;

Result<std::uint64_t> remove_in_parts(SqlDatabase& database, std::string_view sql, UnixTime time) {
  std::uint64_t removed = 0;
  for (;;) {
    std::int64_t rows = 0;
    auto written = database.write([&](SqlSession& session) -> Result<void> {
      auto part = count(session, sql, {time, kRemovedAtOnce});
      if (part.has_error()) return part.error();
      rows = *part;
      return {};
    });
    if (written.has_error()) return written.error();
    removed += static_cast<std::uint64_t>(rows);
    if (rows < kRemovedAtOnce) return removed;
  }
}

Result<RemovedCounts> SqlStore::remove_before(UnixTime time) {
  auto clicks = remove_in_parts(
      *database_,
      "DELETE FROM clicks WHERE search IN (SELECT search FROM clicks WHERE at < $1 LIMIT $2) RETURNING 1",
      time);
  if (clicks.has_error()) return clicks.error();
  auto emptied =
      remove_in_parts(*database_,
                      "UPDATE searches SET slots = '{}' WHERE id IN (SELECT id FROM searches WHERE "
                      "at < $1 AND slots <> '{}' LIMIT $2) RETURNING 1",
                      time);
  if (emptied.has_error()) return emptied.error();
  auto searches = remove_in_parts(
      *database_,
      "DELETE FROM searches WHERE id IN (SELECT id FROM searches WHERE at < $1 AND NOT EXISTS (SELECT 1 FROM "
      "judgments WHERE judgments.search = searches.id) AND NOT EXISTS (SELECT 1 FROM clicks WHERE "
      "clicks.search = searches.id) "
      "LIMIT $2) RETURNING 1",
      time);
  if (searches.has_error()) return searches.error();
  return RemovedCounts{*searches, *clicks, 0};
}

Result<RemovedCounts> SqlStore::reset_feedback(std::string_view domain, bool clicks, bool judgments) {
  RemovedCounts removed;
  auto written = database_->write([&](SqlSession& session) -> Result<void> {
    removed = {};
    if (clicks) {
      auto rows = count(session, "DELETE FROM clicks WHERE domain = $1 RETURNING 1", {domain});
      if (rows.has_error()) return rows.error();
      removed.clicks = static_cast<std::uint64_t>(*rows);
    }
    if (!judgments) return {};
    auto rows = count(session, "DELETE FROM judgments WHERE domain = $1 RETURNING 1", {domain});
    if (rows.has_error()) return rows.error();
    removed.judgments = static_cast<std::uint64_t>(*rows);
    return {};
  });
  if (written.has_error()) return written.error();
  return removed;
}

}  // namespace

Result<std::unique_ptr<Store>> make_sql_store(std::unique_ptr<SqlDatabase> database, StoreMode mode) {
  auto store = std::make_unique<SqlStore>(std::move(database));
  if (auto prepared = store->prepare(mode); prepared.has_error()) return prepared.error();
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace metafuse::service
