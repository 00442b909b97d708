#include "service/http/session.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include <boost/asio/dispatch.hpp>

namespace metafuse::service {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

/// The kernel's send buffer per connection. Without this limit it holds megabytes for a client that does
/// not read.
constexpr int kSendBytes = 128 * 1024;
/// What a connection has to send counts as unsent if it is at least as large as this, or if it has to wait
/// for earlier pieces. Connections are limited in number.
constexpr std::size_t kLargeAnswer = 64 * 1024;
/// How long a connection is read on before it closes: usually, and if its request has too long a body, most
/// of which is then still to come.
constexpr double kUsualLinger = 1;
constexpr double kSecondsForLongBody = 10;

HttpResponse unread_answers() {
  auto response = make_response(503, "text/plain; charset=utf-8", "read the other answers first\n");
  response.set("Retry-After", "1");
  return response;
}

class Session;

/// The responder of one request. If it is destroyed before an answer, the client gets a 500.
class SessionResponder final : public Responder {
 public:
  explicit SessionResponder(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  SessionResponder(const SessionResponder&) = delete;
  SessionResponder& operator=(const SessionResponder&) = delete;
  ~SessionResponder() override;
  void send(HttpResponse response) override;
  void begin(HttpResponse head) override;
  void write(std::string piece) override;
  void end() override;

 private:
  std::shared_ptr<Session> session_;
  bool is_answered_ = false;
  bool is_ended_ = false;
};

/// One connection: reads a request, passes it to the handler, sends the answer, and repeats until either side
/// closes it. Everything runs on the thread of the socket's io_context; responders post their calls to it.
/// Pending operations and responders keep the session alive.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionSocket socket, std::shared_ptr<SessionContext> context, ConnectionTable::Seat seat)
      : socket_(std::move(socket)),
        context_(std::move(context)),
        seat_(std::move(seat)),
        // pending operations end with an error; the socket stays open for a last answer
        deadline_(socket_.get_executor(), [this] { socket_.cancel(); }),
        writer_(socket_, deadline_,
                {[this] { limit(reader_.limits().write_seconds); },
                 [this](bool is_done) { on_settled(is_done); }}),
        reader_(socket_, deadline_, context_->limits(),
                {[this] { dispatch(); }, [this](const Refusal& refusal) { refuse(refusal); },
                 [this](bool is_too_idle) {
                   if (is_too_idle) ++context_->timed_out;
                   close();
                 }}) {
    ErrorCode ignored;
    const auto peer = socket_.remote_endpoint(ignored);
    if (!ignored) peer_ = peer.address().to_string();
    client_ = address_prefix(peer_);
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::send_buffer_size(kSendBytes), ignored);
    socket_.non_blocking(true, ignored);
    ++context_->open;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    leave();
    --context_->open;
  }

  void start() {
    seat_.set_close([weak = weak_from_this(), executor = socket_.get_executor()] {
      asio::post(executor, [weak] {
        if (const auto self = weak.lock()) self->make_room();
      });
    });
    asio::dispatch(socket_.get_executor(), [self = shared_from_this()] { self->next_request(true); });
  }

  template <class Work>
  void on_own_thread(Work work) {
    asio::dispatch(socket_.get_executor(), std::move(work));
  }

  void send(HttpResponse response) { answer(std::move(response), false); }

  void begin(HttpResponse head) { answer(std::move(head), true); }

  void write_piece(std::string piece) {
    if (piece.empty() || has_failed_ || reader_.head().is_head) return;
    Outgoing out;
    if (!is_counted(piece.size(), out)) {
      has_failed_ = true;
      return close();
    }
    out.head = reader_.head().request.is_http_1_0 ? std::move(piece) : chunk_of(std::move(piece));
    writer_.send(std::move(out), shared_from_this());
  }

  void end_pieces() {
    if (has_failed_) return;
    is_last_queued_ = true;
    if (!reader_.head().request.is_http_1_0 && !reader_.head().is_head)
      return writer_.send({"0\r\n\r\n", {}, nullptr, {}, nullptr}, shared_from_this());
    if (writer_.is_idle()) finish_answer();
  }

 private:
  void limit(double time) { deadline_.set(time, shared_from_this()); }

  void next_request(bool is_first) {
    const double usual = reader_.limits().idle_seconds;
    const double idle = context_->is_draining ? std::min(1.0, usual) : usual;
    reader_.next(is_first, idle, shared_from_this());
  }

  void dispatch() {
    ++context_->busy;
    is_busy_ = true;
    seat_.set_waiting(false);
    deadline_.clear();
    context_->handler(take_request(), std::make_shared<SessionResponder>(shared_from_this()));
  }

  /// The request, as far as it was read. The reader keeps what the framing of the answer depends on.
  HttpRequest take_request() {
    HttpRequest& read = reader_.head().request;
    HttpRequest request = std::exchange(read, HttpRequest{});
    read.is_http_1_0 = request.is_http_1_0;
    request.peer = peer_;
    return request;
  }

  void refuse(const Refusal& refusal) {
    ++context_->refused;
    if (refusal.status == 408) ++context_->timed_out;
    reader_.head().keeps_alive = false;
    linger_seconds_ = refusal.status == 413 ? kSecondsForLongBody : kUsualLinger;
    answer(context_->refuse(take_request(), refusal), false);
  }

  void answer(HttpResponse response, bool is_piecewise) {
    Outgoing out;
    if (!is_counted(response.body_bytes(), out)) response = unread_answers();
    if (context_->is_draining) reader_.head().keeps_alive = false;
    if (is_piecewise && reader_.head().request.is_http_1_0) reader_.head().keeps_alive = false;
    is_last_queued_ = !is_piecewise;
    out.head = response_head(response,
                             {is_piecewise, reader_.head().request.is_http_1_0, reader_.head().keeps_alive});
    if (!is_piecewise && !reader_.head().is_head && has_body(response.status)) {
      out.body = std::move(response.body);
      out.frame = std::move(response.frame);
      out.fillings = std::move(response.fillings);
    }
    writer_.send(std::move(out), shared_from_this());
  }

  bool is_proxy() const {
    return std::any_of(context_->trusted_proxies.begin(), context_->trusted_proxies.end(),
                       [&](const AddressRange& range) { return range.contains(peer_); });
  }

  /// Counts bytes as unsent until they are sent or never will be; false if the client has too many.
  bool is_counted(std::size_t bytes, Outgoing& out) {
    if (writer_.is_idle() ? bytes < kLargeAnswer : bytes == 0) return true;
    out.account = context_->unsent.add(client_, bytes, is_proxy());
    return out.account != nullptr;
  }

  void on_settled(bool is_done) {
    if (!is_done) {
      if (deadline_.has_passed()) ++context_->timed_out;
      has_failed_ = true;
      return close();
    }
    deadline_.clear();
    if (is_last_queued_) finish_answer();
  }

  void finish_answer() {
    leave();
    is_last_queued_ = false;
    if (reader_.head().keeps_alive) return next_request(false);
    linger();
  }

  /// Closes the connection after reading what the client still sends: closing with unread bytes would send a
  /// reset, which can overtake the answer.
  void linger() {
    ErrorCode ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    if (linger_seconds_ == 0 && !reader_.has_more()) return close();
    reader_.forget_rest(std::max(linger_seconds_, kUsualLinger), shared_from_this());
  }

  void leave() {
    if (!is_busy_) return;
    is_busy_ = false;
    --context_->busy;
    seat_.set_waiting(true);
  }

  /// Closes an idle connection because another client needs its place.
  void make_room() {
    if (is_busy_ || !writer_.is_idle()) return seat_.stay();
    ++context_->displaced;
    close();
  }

  void close() {
    leave();
    deadline_.stop();
    ErrorCode ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
  }

  SessionSocket socket_;
  std::shared_ptr<SessionContext> context_;
  ConnectionTable::Seat seat_;
  SessionDeadline deadline_;
  SessionWriter writer_;
  RequestReader reader_;
  std::string peer_;
  std::string client_;
  bool is_busy_ = false;
  bool is_last_queued_ = false;
  double linger_seconds_ = 0;  ///< after a refusal
  bool has_failed_ = false;
};

SessionResponder::~SessionResponder() {
  try {
    if (!is_answered_)
      send(make_response(500, "text/plain; charset=utf-8", "no answer was made\n"));
    else if (!is_ended_)
      end();
  } catch (const std::exception&) {
    // no memory: the session is destroyed with this responder, and its connection closes
  }
}

void SessionResponder::send(HttpResponse response) {
  is_answered_ = true;
  is_ended_ = true;
  session_->on_own_thread(
      [session = session_, response = std::move(response)]() mutable { session->send(std::move(response)); });
}

void SessionResponder::begin(HttpResponse head) {
  is_answered_ = true;
  session_->on_own_thread(
      [session = session_, head = std::move(head)]() mutable { session->begin(std::move(head)); });
}

void SessionResponder::write(std::string piece) {
  session_->on_own_thread(
      [session = session_, piece = std::move(piece)]() mutable { session->write_piece(std::move(piece)); });
}

void SessionResponder::end() {
  is_ended_ = true;
  session_->on_own_thread([session = session_] { session->end_pieces(); });
}

}  // namespace

std::shared_ptr<void> UnsentAnswers::add(const std::string& client, std::size_t bytes, bool is_proxy) {
  const std::size_t most = is_proxy ? kProxyFactor * kMostOfClient : kMostOfClient;
  {
    const std::lock_guard lock(mutex_);
    const auto at = bytes_.find(client);
    if (at != bytes_.end() && at->second + bytes > most) return nullptr;
    bytes_[client] += bytes;
  }
  return {this, [client, bytes](UnsentAnswers* all) { all->remove(client, bytes); }};
}

void UnsentAnswers::remove(const std::string& client, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto at = bytes_.find(client);
  if ((at->second -= bytes) == 0) bytes_.erase(at);
}

std::optional<ConnectionTable::Seat> ConnectionTable::add(std::string client, std::size_t most,
                                                          std::size_t most_of_client) {
  const std::lock_guard lock(mutex_);
  if (const auto at = count_.find(client);
      most_of_client > 0 && at != count_.end() && at->second >= most_of_client)
    return std::nullopt;
  // more than one may have to go, because connections that were to be closed may have stayed
  while (staying_ >= most)
    if (!make_room()) return std::nullopt;
  ++count_[client];
  ++staying_;
  entries_.push_back({std::move(client), {}});
  return Seat(*this, std::prev(entries_.end()));
}

/// Closes the longest idle connection among the clients with the most connections; false if none is idle.
bool ConnectionTable::make_room() {
  auto chosen = entries_.end();
  std::size_t most = 0;
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (!at->is_waiting || at->is_leaving || !at->close) continue;
    if (const std::size_t has = count_[at->client]; has > most) {
      most = has;
      chosen = at;
    }
  }
  if (chosen == entries_.end()) return false;
  forget(chosen);
  chosen->is_leaving = true;
  chosen->close();
  return true;
}

/// Takes a connection out of the counts.
void ConnectionTable::forget(Place place) {
  --staying_;
  if (const auto at = count_.find(place->client); --at->second == 0) count_.erase(at);
}

void ConnectionTable::set_close(Place place, std::function<void()> close) {
  const std::lock_guard lock(mutex_);
  place->close = std::move(close);
}

void ConnectionTable::set_waiting(Place place, bool is_waiting) {
  const std::lock_guard lock(mutex_);
  place->is_waiting = is_waiting;
  entries_.splice(entries_.end(), entries_, place);
}

void ConnectionTable::stay(Place place) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(place->is_leaving, false)) return;
  ++count_[place->client];
  ++staying_;
}

void ConnectionTable::remove(Place place) {
  const std::lock_guard lock(mutex_);
  if (!place->is_leaving) forget(place);
  entries_.erase(place);
}

void run_session(SessionSocket socket, std::shared_ptr<SessionContext> context, ConnectionTable::Seat seat) {
  std::make_shared<Session>(std::move(socket), std::move(context), std::move(seat))->start();
}

}  // namespace metafuse::service
