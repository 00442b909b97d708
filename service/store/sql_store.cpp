#include "service/store/sql_store.h"

#include <utility>
#include <vector>

#include "service/base/digest.h"
#include "service/store/sql_export.h"
#include "service/store/sql_feedback.h"
#include "service/store/sql_retention.h"
#include "service/store/sql_rows.h"
#include "service/store/sql_schema.h"
#include "service/store/sql_templates.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kInsertSearch =
    "INSERT INTO searches (id, domain, query, slots, at, model, challenger, lists) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING";

class SqlStore final : public Store {
 public:
  explicit SqlStore(std::unique_ptr<SqlDatabase> database) : database_(std::move(database)) {}

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
    return sql::add_click(*database_, click, caps);
  }
  Result<std::vector<Click>> clicks_of(std::string_view search) override {
    return sql::clicks_of(*database_, search);
  }
  Result<std::vector<std::string>> clicked_searches(std::string_view domain, std::size_t limit) override {
    return sql::clicked_searches(*database_, domain, limit);
  }
  Result<void> set_judgment(const StoredJudgment& judgment) override {
    return sql::set_judgment(*database_, judgment);
  }
  Result<std::vector<JudgedQuery>> judged_queries(std::string_view domain) override {
    return sql::judged_queries(*database_, domain);
  }
  Result<InterleavingCounts> interleaving_counts(std::string_view domain, std::string_view champion,
                                                 std::string_view challenger) override {
    return sql::interleaving_counts(*database_, domain, champion, challenger);
  }

  Result<std::uint32_t> add_template_version(const TemplateVersion& version) override {
    return sql::add_template_version(*database_, version);
  }
  Result<std::vector<TemplateVersion>> template_versions(std::string_view domain) override {
    return sql::template_versions(*database_, domain);
  }
  Result<std::optional<TemplateVersion>> find_template_version(std::string_view domain,
                                                               std::uint32_t number) override {
    return sql::find_template_version(*database_, domain, number);
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

  Result<RemovedCounts> remove_before(UnixTime time) override { return sql::remove_before(*database_, time); }
  Result<RemovedCounts> reset_feedback(std::string_view domain, bool clicks, bool judgments) override {
    return sql::reset_feedback(*database_, domain, clicks, judgments);
  }

  Result<void> export_lines(const std::function<Result<void>(std::string_view line)>& take) override {
    return export_database(*database_, take);
  }

  Result<void> check() override { return database_->check(); }

 private:
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

}  // namespace

Result<std::unique_ptr<Store>> make_sql_store(std::unique_ptr<SqlDatabase> database, StoreMode mode) {
  if (auto prepared = prepare_schema(*database, mode); prepared.has_error()) return prepared.error();
  return std::unique_ptr<Store>(std::make_unique<SqlStore>(std::move(database)));
}

}  // namespace metafuse::service
