#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fetchers/answers/work_end.h"
#include "fetchers/calling/embedder.h"
#include "fetchers/calling/engine_state.h"
#include "fetchers/calling/fetcher.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

/// One expanded query on its way through an HTTP engine: description document, token, lookup steps, pages,
/// and at most one retry. Answers may come from any thread; each is posted as an event, and events never
/// overlap, so that nothing here needs a lock.
class ListTask : public std::enable_shared_from_this<ListTask> {
 public:
  using Deliver = std::function<void(FetchedList list)>;
  /// Passes an event to the thread that should handle it. Events run one after the other, and an event that
  /// another one posts runs after it.
  using Post = std::function<void(std::function<void()>)>;

  struct Job {
    EngineState& state;
    Transport& transport;
    Transport* token_transport;  ///< not nullptr for an engine with tokens
    ExpandedQuery query;
    FetchOptions options;
    Post post;
    Deliver deliver;
    /// Takes the pages so far while more are under way, in case nobody waits for those.
    std::function<void(RankedList so_far)> keep;
    std::function<void()> on_request;  ///< called before each request to the engine, but not for tokens
    std::function<bool()> is_futile;   ///< whether to stop parsing, because nobody needs the list any more
    bool is_hedge = false;             ///< asked in addition; earns no further requests
  };

  ListTask(std::shared_ptr<FetcherState> shared, Job job);

  void start();

 private:
  /// The pages of the list: which are wanted, and which have arrived.
  struct Pages {
    PagePlan plan;
    std::vector<std::optional<RankedList>> lists;
    int under_way = 0;
    Duration slowest{};
    std::optional<FetchedList> first_lost{};  ///< why the first page is missing that is, but not page 0
    int lost_page = 0;

    std::size_t hits() const;
    void note_lost(int page, FetchedList read);
    /// The pages before the first that is missing: results behind it would have wrong ranks. The receiver of
    /// the list removes hits of the same page.
    RankedList joined();
  };

  /// Posts an event of this task, which is dropped if the task has ended before.
  template <class Event>
  void post(Event event);
  /// A callback that passes the answer to `take` as an event of this task.
  template <class Take>
  Transport::Done passed_to(Take take);
  void begin();
  void use_token(const std::string& token);
  void begin_with_token();
  /// Sends with the credentials of the definition's `auth`. A token that is answered with 401 is discarded.
  std::int64_t unix_time() const;
  void send_authorized(EngineRequest request, Transport::Done done);
  /// Sends the cookies of earlier answers, and notes those of this one if it comes from the definition's own
  /// server and not from where a redirect led.
  Transport::Done keep_cookies(EngineRequest& request, Transport::Done done);
  void send_with_token(EngineRequest request, Transport::Done done, bool is_second);
  void ask_for_token(TokenKeeper::Take take);
  void send_details();
  void send_first();
  void take_vector(const EmbeddedText& text);
  void send_pages();
  int largest_page() const;
  void note_page(std::size_t results) const;
  bool takes_cursor(const HttpAnswer& answer);
  bool takes_address(const std::string& link, const HttpAnswer& answer);
  void send_page(int page, bool is_retry);
  FetchedList read_page(const HttpAnswer& answer) const;
  void take_page(int page, const HttpAnswer& answer, bool is_retry);
  void finish_pages();
  void take_description(const HttpAnswer& answer);
  void send_step();
  void take_step(const HttpAnswer& answer);
  void keep_within_time(EngineRequest& request) const;
  WorkEnd end_of_parse() const;
  bool retries(const FetchedList& read, const HttpAnswer& answer, bool is_retry);
  /// Ends the task with the pages that have arrived, or with the failure in `ended`, whose list is not used.
  void finish(FetchedList ended);
  void refuse(Failure failure, std::string message, Blame blame = Blame::nobody);

  std::shared_ptr<FetcherState> shared_;
  Job job_;
  TimePoint start_;

  std::shared_ptr<const ReadyAccess> ready_;
  std::shared_ptr<TokenKeeper> keeper_;  ///< of `token_`
  std::string token_;
  StringPairs cookies_;  ///< set by the answers so far
  std::size_t next_step_ = 0;
  Found found_;                                  ///< by the requests so far; the ids by the last step
  std::vector<std::vector<std::string>> parts_;  ///< the ids split into what each request asks for
  Pages pages_;
  Duration recorded_elapsed_{};  ///< of the steps; replays only
  int sent_ = 0;                 ///< requests to the engine, but not for tokens
  bool is_finished_ = false;
};

}  // namespace metafuse::fetchers
