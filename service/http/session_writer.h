#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/buffer.hpp>

#include "service/http/message.h"
#include "service/http/session_io.h"

namespace metafuse::service {

/// What goes out in one go: a head, then a body or what stands for it.
struct Outgoing {
  std::string head;
  std::string body;
  std::shared_ptr<const BodyFrame> frame;
  std::vector<std::string> fillings;
};

/// Sends what is queued on a socket, in order. What the socket takes at once costs one system call and no
/// waiting; the rest follows when there is room. Its owner keeps it alive through `hold`.
class SessionWriter {
 public:
  /// What the owner hears of.
  struct Events {
    std::function<void()> on_waiting;              ///< the socket has no room: a time limit should begin
    std::function<void(bool is_done)> on_settled;  ///< all is sent, or sending failed
  };

  SessionWriter(SessionSocket& socket, Events events) : socket_(socket), events_(std::move(events)) {}
  SessionWriter(const SessionWriter&) = delete;
  SessionWriter& operator=(const SessionWriter&) = delete;

  /// in: hold - keeps the owner alive while the socket is waited for
  void send(Outgoing item, std::shared_ptr<void> hold);
  bool is_idle() const { return queue_.empty(); }

 private:
  void write_queue(std::shared_ptr<void> hold);
  void settle(bool is_done);
  void gather();
  void skip(std::size_t bytes);

  SessionSocket& socket_;
  Events events_;
  std::deque<Outgoing> queue_;
  std::vector<boost::asio::const_buffer> buffers_;  ///< what is left of the queue's first item
};

}  // namespace metafuse::service
