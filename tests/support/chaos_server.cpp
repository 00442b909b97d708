#include "tests/support/chaos_server.h"

#include <algorithm>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/loopback_socket.h"

namespace metafuse::test {

/// One accepted socket: it serves requests one after the other until a fault ends it.
class ChaosServer::Connection final : public ChaosClient {
 public:
  Connection(const ChaosServer& server, int socket) : server_(server), socket_(socket) {}
  ~Connection() override { ::close(socket_); }

  bool send(std::string_view bytes) override {
    while (!bytes.empty()) {
      pollfd waiting[2] = {{socket_, POLLOUT, 0}, {server_.stop_read_, POLLIN, 0}};
      if (::poll(waiting, 2, -1) < 0 || waiting[1].revents != 0) return false;
      const ssize_t sent =
          ::send(socket_, bytes.data(), std::min<std::size_t>(bytes.size(), 65536), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  bool waits(int milliseconds) override {
    pollfd waiting[2] = {{server_.stop_read_, POLLIN, 0}, {socket_, POLLRDHUP, 0}};
    return ::poll(waiting, 2, milliseconds) == 0;
  }
  void hang() override { waits(-1); }
  void reset() override { reset_on_close(socket_); }
  void half_close() override { ::shutdown(socket_, SHUT_WR); }
  std::string origin() const override { return server_.origin(); }
  std::uint16_t closed_port() const override { return server_.closed_port_; }
  std::string last_request() const override { return server_.last_request(); }

  /// The header of the next request; empty when there is none.
  std::string next_request() {
    char buffer[4096];
    while (true) {
      const std::size_t of_body = std::min(body_left_, bytes_.size());
      bytes_.erase(0, of_body);
      body_left_ -= of_body;
      if (const std::size_t end = bytes_.find("\r\n\r\n"); end != std::string::npos) {
        std::string request = bytes_.substr(0, end + 4);
        bytes_.erase(0, end + 4);
        body_left_ = body_size(request);
        return request;
      }
      pollfd waiting[2] = {{socket_, POLLIN, 0}, {server_.stop_read_, POLLIN, 0}};
      if (::poll(waiting, 2, -1) < 0 || waiting[1].revents != 0) return {};
      const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
      if (count <= 0) return {};
      bytes_.append(buffer, static_cast<std::size_t>(count));
      if (body_left_ == 0 && bytes_[0] == '\x16') {  // a TLS handshake on a port without TLS
        send("HTTP/1.1 400 No\r\n\r\n");
        hang();
        return {};
      }
    }
  }

 private:
  static std::size_t body_size(const std::string& request) {
    const std::size_t at = request.find("Content-Length: ");
    return at == std::string::npos ? 0 : std::stoul(request.substr(at + 16));
  }

  const ChaosServer& server_;
  int socket_;
  std::string bytes_;
  std::size_t body_left_ = 0;  ///< what is left of the last request's body, which is skipped
};

ChaosServer::ChaosServer() : tls_(std::string(chaos_results())) {
  const int closed = bound_socket();
  closed_port_ = port_of(closed);
  ::close(closed);
  deaf_listener_ = bound_socket();
  deaf_port_ = port_of(deaf_listener_);
  listener_ = bound_socket();
  port_ = port_of(listener_);
  int ends[2];
  if (::listen(listener_, 128) != 0 || ::listen(deaf_listener_, 128) != 0 || ::pipe2(ends, O_CLOEXEC) != 0)
    throw std::runtime_error("cannot listen");
  stop_read_ = ends[0];
  stop_write_ = ends[1];
  acceptor_ = std::thread([this] { accept_all(); });
}

ChaosServer::~ChaosServer() {
  ::close(stop_write_);  // every waiting thread sees the end of the pipe
  acceptor_.join();
  {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return connections_ == 0; });
  }
  ::close(listener_);
  ::close(deaf_listener_);
  ::close(stop_read_);
}

std::string ChaosServer::url(std::string_view fault) const {
  const std::string path = "/" + std::string(fault) + "?q={query}";
  if (fault == "refuse") return "http://127.0.0.1:" + std::to_string(closed_port_) + path;
  if (fault == "tls-deaf") return "https://127.0.0.1:" + std::to_string(deaf_port_) + path;
  if (fault == "hang-at-accept") return "http://127.0.0.1:" + std::to_string(deaf_port_) + path;
  if (fault == "tls-expected") return "https://" + origin() + path;
  if (fault.starts_with("tls-")) return "https://" + tls_.origin(fault.substr(4)) + path;
  return "http://" + origin() + path;
}

std::string ChaosServer::last_request() const {
  const std::lock_guard lock(mutex_);
  return last_request_;
}

void ChaosServer::hang_requests_of(std::string_view word) {
  const std::lock_guard lock(mutex_);
  hung_word_ = word;
}

void ChaosServer::accept_all() {
  while (true) {
    pollfd waiting[2] = {{listener_, POLLIN, 0}, {stop_read_, POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0) continue;
    if (waiting[1].revents != 0) return;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    const std::lock_guard lock(mutex_);
    ++connections_;
    std::thread([this, socket] { serve(socket); }).detach();
  }
}

void ChaosServer::serve(int socket) {
  {
    Connection connection(*this, socket);
    for (std::string request = connection.next_request(); !request.empty();
         request = connection.next_request()) {
      ++requests_;
      const std::size_t path = request.find('/') + 1;
      const std::size_t path_end = request.find_first_of("?/ ", path);
      const std::string fault = request.substr(path, path_end - path);
      const std::size_t target_begin =
          std::min(request.find_first_of("? ", path_end), request.size() - 1) + 1;
      std::string target = request.substr(target_begin, request.find(' ', target_begin) - target_begin);
      if (target.starts_with("u=")) target.erase(0, 2);
      bool is_hung = false;
      {
        const std::lock_guard lock(mutex_);
        last_request_ = request;
        is_hung = !hung_word_.empty() && target == "q=" + hung_word_;
      }
      if (is_hung) {
        ++hung_requests_;
        connection.hang();
        break;
      }
      play_fault(connection, fault, target);
      if (!fault.starts_with("ok") || fault == "ok-close-delimited") break;
    }
  }
  const std::lock_guard lock(mutex_);
  --connections_;
  left_.notify_all();
}

}  // namespace metafuse::test
