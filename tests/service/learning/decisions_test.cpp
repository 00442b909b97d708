#include "service/learning/decisions.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

/// A database that answers nothing until it is released, and then fails.
class SilentDatabase final : public SqlDatabase {
 public:
  Result<void> write(const Transaction&, Wait) override { return wait(); }
  Result<void> read(const Transaction&, Wait) override { return wait(); }
  Result<void> check() override { return {}; }
  std::string_view milliseconds_now() const override { return "0"; }

  void release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    released_.notify_all();
  }

 private:
  Result<void> wait() {
    std::unique_lock lock(mutex_);
    released_.wait(lock, [this] { return is_released_; });
    return fail(Code::try_again, "the database is busy");
  }

  std::mutex mutex_;
  std::condition_variable released_;
  bool is_released_ = false;
};

const TrackingParameters kTracking;
const DecisionOptions kOptions{true, {"secret", false, "Q"}, &kTracking};

}  // namespace

TEST_CASE("A search does not wait for a store that does not answer", "[service][learning][decisions]") {
  auto silent = std::make_unique<SilentDatabase>();
  SilentDatabase& database = *silent;
  Store store(std::move(silent), "");
  Decisions decisions(store);
  for (int i = 0; i < 2; ++i) {
    const auto found = decisions.of("pages", kOptions);  // without an end if it waited for the store
    REQUIRE(found != nullptr);
    CHECK(found->queries.empty());
  }
  database.release();
}

TEST_CASE("What another server decided is noticed", "[service][learning][decisions]") {
  const test::TemporaryFolder folder;
  const auto store = open_store(folder.path("store.db")).value();
  Decisions decisions(*store);
  static_cast<void>(decisions.look("pages"));
  CHECK(decisions.of("pages", kOptions)->synonyms.empty());
  const TemplateVersion curation{curation_name("pages"), 0, R"({"synonyms":[["car","automobile"]]})", "ann",
                                 1};
  REQUIRE(store->templates.add(curation).has_value());
  REQUIRE(decisions.look("pages").has_value());
  CHECK(decisions.of("pages", kOptions)->synonyms == Synonyms{{"car", "automobile"}});
  REQUIRE(store->judgments.set({"pages", "ada", "a.example", "ann", 1, "id", 1}).has_value());
  REQUIRE(decisions.look("pages").has_value());
  CHECK(decisions.of("pages", kOptions)->queries.contains("ada"));
}

TEST_CASE("What was read is not news at the next look", "[service][learning][decisions]") {
  const test::TemporaryFolder folder;
  const auto store = open_store(folder.path("store.db")).value();
  Decisions decisions(*store);
  for (const int grade : {1, 2}) {
    REQUIRE(store->judgments.set({"pages", "ada", "a.example", "ann", grade, "id", 1}).has_value());
    decisions.note("pages");
    const auto found = decisions.of("pages", kOptions);
    REQUIRE(found->queries.at("ada").grades.at("a.example") == grade);
    const std::uint64_t changes = decisions.changes();
    REQUIRE(decisions.look("pages").has_value());
    CHECK(decisions.changes() == changes);
    CHECK(decisions.of("pages", kOptions) == found);
  }
}

TEST_CASE("A judgment is seen by the next search and by answers rendered before it",
          "[service][learning][decisions]") {
  const test::TemporaryFolder folder;
  const auto store = open_store(folder.path("store.db"));
  REQUIRE(store.has_value());
  Decisions decisions(**store);
  CHECK(decisions.of("pages", kOptions)->queries.empty());
  for (const int grade : {1, 3}) {
    REQUIRE((*store)->judgments.set({"pages", "ada", "a.example", "ann", grade, "id", 1}).has_value());
    const std::uint64_t before = decisions.changes();
    decisions.note("pages");
    CHECK(decisions.changes() > before);
    const auto found = decisions.of("pages", kOptions);
    REQUIRE(found->queries.contains("ada"));
    CHECK(found->queries.at("ada").grades.at("a.example") == grade);
    CHECK(decisions.of("pages", kOptions) == found);
  }
  // another domain's judgments change nothing here
  CHECK(decisions.of("other", kOptions)->queries.empty());
}
