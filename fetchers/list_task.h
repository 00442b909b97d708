#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fetchers/engine_state.h"
#include "fetchers/fetcher.h"
#include "fetchers/http/transport.h"
#include "fetchers/vectors/embedder.h"

namespace metafuse::fetchers {

/// Whose doing a failure is. The breaker counts what the engine did, never what a query or our own limits
/// caused: else whoever searches could take an engine from everybody.
enum class Blame {
  nobody,  ///< an answer, or a failure that says nothing of the engine's health
  engine,  ///< no connection, no answer within its own time-out, 5xx, 429
};

/// What an answer means: a list, or why there is none.
struct ReadAnswer {
  RankedList list;
  Failure failure = Failure::none;
  std::string message;
  std::optional<Duration> retry_after;
  Blame blame = Blame::nobody;
};

/// Judges the status, looks for pages that ask for a human, and parses.
///
/// in: ids - in whose order an earlier step found the results
ReadAnswer read_answer(const Engine& engine, const HttpAccess& access, const HttpAnswer& answer,
                       const std::string& language, const std::vector<std::string>& ids = {});

/// One expanded query on its way through an HTTP engine: description document, pages, one retry. Its events
/// may come from any thread.
class ListTask : public std::enable_shared_from_this<ListTask> {
 public:
  using Deliver = std::function<void(FetchedList list, Blame blame, std::optional<Duration> retry_after)>;
  /// Brings an event to the thread that should work on it.
  using Post = std::function<void(std::function<void()>)>;

  ListTask(std::shared_ptr<SharedState> shared, EngineState& state, Transport& transport, ExpandedQuery query,
           FetchOptions options, Post post, Deliver deliver);

  void start();

 private:
  void begin();
  void begin_with_token();
  /// Sends with what the definition's `auth` adds; a token that gets 401 is used no more.
  void send_authorized(HttpRequest request, Transport::Done done);
  void send_with_token(HttpRequest request, Transport::Done done, bool is_second);
  void ask_for_token(TokenKeeper::Take take);
  void send_details();
  /// Asks for the query's vector where the engine needs one; else, or then, sends the first requests.
  void ask_with_vector();
  void send_first();
  void take_vector(const EmbeddedText& text);
  void send_pages();
  bool takes_cursor(const HttpAnswer& answer);
  void send_page(int page, bool is_retry);
  void take_page(int page, const HttpAnswer& answer, bool is_retry);
  void take_description(const HttpAnswer& answer);
  void send_step();
  void take_step(const HttpAnswer& answer);
  void keep_within_time(HttpRequest& request) const;
  bool retries(const ReadAnswer& read, const HttpAnswer& answer, bool is_retry);
  /// The end: what `read` says of the failure or of the last page that failed; its list is not used.
  void finish(const ReadAnswer& read);
  void refuse(Failure failure, std::string message) { finish({{}, failure, std::move(message), {}, {}}); }
  std::size_t hits_so_far() const;
  RankedList take_pages();

  std::shared_ptr<SharedState> shared_;
  EngineState& state_;
  Transport& transport_;
  ExpandedQuery query_;
  FetchOptions options_;
  Post post_;
  Deliver deliver_;
  TimePoint start_;

  std::recursive_mutex mutex_;  ///< a replay answers inside send()
  std::shared_ptr<const ReadyAccess> ready_;
  PagePlan plan_;
  std::size_t next_step_ = 0;
  std::vector<std::string> ids_;                 ///< of the last step
  std::vector<std::vector<std::string>> parts_;  ///< of them: what each request asks for
  std::string cursor_;                           ///< of the next page
  std::string vector_;                           ///< of the query, as it stands in the body
  std::string token_;
  std::vector<std::optional<RankedList>> pages_;
  int under_way_ = 0;
  Duration recorded_elapsed_{};  ///< of the steps
  Duration slowest_page_{};
  bool is_finished_ = false;
};

}  // namespace metafuse::fetchers
