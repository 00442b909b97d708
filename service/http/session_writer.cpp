#include "service/http/session_writer.h"

#include <utility>

#include <boost/asio/write.hpp>

namespace metafuse::service {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

void SessionWriter::send(Outgoing item, std::shared_ptr<void> hold) {
  queue_.push_back(std::move(item));
  if (queue_.size() == 1) write_queue(std::move(hold));
}

/// The first item's text as the socket takes it.
void SessionWriter::gather() {
  const Outgoing& item = queue_.front();
  buffers_.clear();
  buffers_.push_back(asio::buffer(item.head));
  if (item.frame == nullptr) {
    buffers_.push_back(asio::buffer(item.body));
    return;
  }
  for (std::size_t i = 0; i < item.frame->parts.size(); ++i) {
    if (i > 0) buffers_.push_back(asio::buffer(item.fillings[item.frame->gaps[i - 1]]));
    buffers_.push_back(asio::buffer(item.frame->parts[i]));
  }
}

void SessionWriter::skip(std::size_t bytes) {
  std::size_t whole = 0;
  while (whole < buffers_.size() && bytes >= buffers_[whole].size()) bytes -= buffers_[whole++].size();
  buffers_.erase(buffers_.begin(), buffers_.begin() + static_cast<std::ptrdiff_t>(whole));
  if (!buffers_.empty()) buffers_.front() += bytes;
}

void SessionWriter::write_queue(std::shared_ptr<void> hold) {
  while (!queue_.empty()) {
    gather();
    ErrorCode error;
    skip(socket_.write_some(buffers_, error));
    if (error && error != asio::error::would_block) return settle(false);
    if (!buffers_.empty()) {
      events_.on_waiting();
      asio::async_write(socket_, buffers_,
                        [this, hold = std::move(hold)](ErrorCode failure, std::size_t) mutable {
                          if (failure) return settle(false);
                          queue_.pop_front();
                          write_queue(std::move(hold));
                        });
      return;
    }
    queue_.pop_front();
  }
  settle(true);
}

void SessionWriter::settle(bool is_done) {
  queue_.clear();
  buffers_.clear();
  events_.on_settled(is_done);
}

}  // namespace metafuse::service
