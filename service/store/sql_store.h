#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "service/store/sql_database.h"
#include "service/store/store.h"

namespace metafuse::service {

/// Creates the store's tables if there are none, migrates those of an earlier version in one transaction, and
/// refuses those of a later version.
///
/// in:     mode - in mode `read` nothing is created or changed, and an earlier version is refused
/// errors: bad_data: not a store of ours, or one of another version
Result<void> prepare_schema(SqlDatabase& database, StoreMode mode);

/// The store in an SQL database. Its functions are in sql_store.cpp (searches, removal of old data, usage,
/// template versions) and in sql_secrets, sql_feedback, sql_figures, sql_shared and sql_export.cpp. Functions
/// for which a client's request waits use Patience::request.
class SqlStore final : public Store {
 public:
  SqlStore(std::unique_ptr<SqlDatabase> database, std::string secret_file);

  Result<void> add_searches(std::span<const StoredSearch> searches) override;
  Result<std::optional<StoredSearch>> find_search(std::string_view id, TimePoint end) override;

  Result<ClickOutcome> add_click(const Click& click, const ClickCaps& caps, TimePoint end) override;
  Result<std::vector<Click>> clicks_of(std::string_view search) override;
  Result<std::vector<std::string>> clicked_searches(std::string_view domain, std::size_t limit) override;
  Result<std::vector<BaseQuery>> popular_queries(std::string_view domain, std::size_t people,
                                                 std::size_t limit) override;
  Result<void> set_judgments(std::span<const StoredJudgment> judgments, TimePoint end) override;
  Result<std::vector<JudgedQuery>> judged_queries(std::string_view domain) override;
  Result<std::vector<AskedQuery>> asked_queries(std::string_view domain, std::size_t limit) override;
  Result<std::optional<AskedQuery>> find_query(std::string_view domain, std::string_view query) override;
  Result<void> for_each_search(std::string_view domain, UnixTime from,
                               const std::function<void(const SearchFact& search)>& take) override;
  Result<std::vector<ClickFact>> latest_clicks(std::string_view domain, UnixTime from,
                                               std::size_t limit) override;
  Result<void> latest_searches(std::string_view domain, UnixTime from, std::size_t limit,
                               const std::function<void(const StoredSearch& search)>& take) override;
  Result<InterleavingCounts> interleaving_counts(std::string_view domain, std::string_view champion,
                                                 std::string_view challenger) override;

  Result<std::uint32_t> add_template_version(const TemplateVersion& version) override;
  Result<std::vector<TemplateVersion>> template_versions(std::string_view domain) override;
  Result<std::optional<TemplateVersion>> find_template_version(std::string_view domain,
                                                               std::uint32_t number) override;

  Result<void> add_batch(const StoreBatch& batch) override;

  Result<std::vector<SharedFile>> shared_files(std::int64_t after) override;
  Result<bool> change_shared_files(std::span<const SharedChange> changes) override;
  std::unique_ptr<Listener> listen(std::function<void()> on_change) override;
  Result<std::int64_t> milliseconds_now() override;
  Result<bool> hold_task(std::string_view task, std::string_view holder, std::int64_t seconds) override;

  Result<std::uint64_t> add_usage(std::string_view key, std::int64_t day, std::uint64_t amount) override;
  Result<std::string> secret() override;
  Result<std::string> daily_salt(std::int64_t day, TimePoint end) override;
  Result<std::uint64_t> unify_queries(std::string_view domain, std::string_view plain_slot) override;
  Result<std::string> plain_slot(std::string_view domain) override;
  Result<void> hide_queries() override;

  Result<RemovedCounts> remove_before(UnixTime time) override;
  Result<RemovedCounts> keep_within(std::uint64_t max_bytes) override;
  Result<std::uint64_t> bytes() override;
  Result<RemovedCounts> reset_feedback(std::string_view domain, bool clicks, bool judgments) override;

  Result<void> export_lines(const std::function<Result<void>(std::string_view line)>& take) override;
  Result<void> check() override { return database_->check(); }
  std::string trouble() const override { return database_->trouble(); }
  void hurry() override { database_->hurry(); }

 private:
  Result<std::string> remembered(std::string_view name, Wait wait);
  Result<std::string> secret_in_file();

  std::unique_ptr<SqlDatabase> database_;
  std::string secret_file_;
  std::mutex secret_mutex_;
  std::string secret_;  ///< empty until it was read
};

/// errors: those of prepare_schema
Result<std::unique_ptr<Store>> make_sql_store(std::unique_ptr<SqlDatabase> database, StoreMode mode,
                                              std::string secret_file);

}  // namespace metafuse::service
