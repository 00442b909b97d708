#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/deadline.h"
#include "core/result.h"
#include "service/access/gate.h"
#include "service/api/finder.h"
#include "service/api/operations.h"
#include "service/base/traces.h"
#include "service/config/reloader.h"
#include "service/config/snapshot.h"
#include "service/http/exchange.h"
#include "service/http/head.h"
#include "service/http/message.h"
#include "service/http/worker_pool.h"
#include "service/learning/caretaker.h"
#include "service/learning/other_servers.h"
#include "service/learning/records.h"
#include "service/router.h"
#include "service/search/answer_source.h"
#include "service/search/document_keeper.h"
#include "service/search/health_keeper.h"
#include "service/search/page_reader.h"
#include "service/search/picture_reader.h"
#include "service/search/suggester.h"

namespace metafuse::service {

/// What an App is made of. Tests pass their own engines and clock.
struct AppOptions : SnapshotSource {
  const Clock* clock = nullptr;
  std::function<UnixTime()> unix_time;  ///< for what is stored; the machine's clock if empty
};

/// The server without its sockets: owns its parts, and passes each request through the gate to its
/// route's handler.
class App {
 public:
  /// errors: those of load_snapshot() and open_records()
  static Result<std::unique_ptr<App>> create(AppOptions options);
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App();

  /// Answers a request. Called on an I/O thread, so it never blocks. An exception fails this request only.
  void handle(HttpRequest request, std::shared_ptr<Responder> responder);
  /// The answer to a request that cannot be handled, because it was not read whole: in the form of the API
  /// that its path and headers name.
  HttpResponse refused(HttpRequest request, const Refusal& refusal) const;
  /// Finishes the work under way. Requests that come later get 503.
  void stop();

  Reloader& reloader() { return reloader_; }
  Operations& operations() { return operations_; }
  const RenderedAnswers& rendered() const { return rendered_; }
  Suggester& suggester() { return suggester_; }
  Records& records() { return *records_; }
  Log& log() { return telemetry_.log; }

 private:
  /// A request with its responder, kept until it is answered.
  struct Call {
    Exchange exchange;
    std::shared_ptr<Responder> responder;
    const Route* route = nullptr;
  };

  App(AppOptions options, std::shared_ptr<const Snapshot> snapshot, std::unique_ptr<Records> records,
      std::unique_ptr<Traces> traces);
  void begin(Exchange& exchange, HttpRequest request) const;
  void answer(const std::shared_ptr<Call>& call, const Match& match, Reply& reply);
  /// The answer that was rendered for an equal request; nothing if there is none, or if this process does not
  /// know that the key's quota suffices.
  std::optional<HttpResponse> answer_again(Exchange& exchange);
  void dispatch(const std::shared_ptr<Call>& call, Reply& reply);
  void run(Call& call, Reply& reply);
  Parts parts_for(const Call& call, Reply& reply);
  /// Sends a handler's answer, which is kept if it is a search that may be repeated.
  void send_found(const Exchange& exchange, HttpResponse response, Reply& reply);
  void guarded(Call& call, const std::function<void(Reply&)>& work) noexcept;
  /// Applies what a reload changes beyond the snapshot.
  void take_limits(const Snapshot& snapshot);
  CaretakerOptions care_options();
  DocumentKeeperOptions document_options();
  HealthKeeperOptions health_options();

  /// What reads other sites for requests.
  struct Readers {
    PageReader pages;
    PictureReader pictures;
    void configure(const ServerConfig& config);
  };

  const Clock& clock_;
  Telemetry telemetry_;
  std::unique_ptr<Records> records_;
  Gate gate_;
  Suggester suggester_;
  AnswerSource source_;
  RenderedAnswers rendered_;
  Finder finder_;
  Readers readers_;
  WorkerPool pool_;
  WorkerPool store_pool_;
  Operations operations_;
  OtherServers others_;
  Reloader reloader_;  // after the members that its thread uses
  DocumentKeeper documents_;
  HealthKeeper health_;
  std::unique_ptr<Caretaker> caretaker_;
};

}  // namespace metafuse::service
