#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace metafuse::test {

/// A TCP connection to a port of this machine that sends bytes unchanged.
class RawClient {
 public:
  /// in: receive_bytes - the size of the kernel's receive buffer, for a client that does not read; 0:
  ///     the default
  explicit RawClient(std::uint16_t port, int receive_bytes = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes > 0) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (socket_ < 0 || ::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
      throw std::runtime_error("cannot connect");
    const int one = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { ::close(socket_); }

  /// Whether all was sent: the other side may close the connection before.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void finish_sending() { ::shutdown(socket_, SHUT_WR); }

  /// Everything until the other side closes the connection.
  std::string read_all() {
    std::string out;
    while (read_some(out)) {
    }
    return out;
  }

  /// What arrives until a text is among it, or until the other side closes the connection.
  std::string read_until(std::string_view text) {
    std::string out;
    for (std::size_t from = 0; out.find(text, from) == std::string::npos;) {
      // what was searched once can only hold the beginning of the text, cut off
      from = out.size() - std::min(out.size(), text.size());
      if (!read_some(out)) break;
    }
    return out;
  }

  /// Reads one response with a Content-Length; any bytes after it are kept for the next call.
  std::string read_response() {
    while (true) {
      const std::size_t end = rest_.find("\r\n\r\n");
      if (end != std::string::npos) {
        std::size_t length = 0;
        const std::size_t at = rest_.find("Content-Length: ");
        if (at < end) length = std::stoul(rest_.substr(at + 16, 20));  // not the whole body each time
        if (rest_.size() >= end + 4 + length) {
          std::string response = rest_.substr(0, end + 4 + length);
          rest_.erase(0, end + 4 + length);
          return response;
        }
      }
      if (!read_some(rest_)) return std::exchange(rest_, {});
    }
  }

 private:
  bool read_some(std::string& into) {
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, 20000) <= 0) throw std::runtime_error("no answer within 20 s");
    char buffer[16384];
    const auto got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    into.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  int socket_;
  std::string rest_;
};

/// The status of a response; 0 if it is not one.
inline int status_in(std::string_view response) {
  if (response.size() < 12 || !response.starts_with("HTTP/1.1 ")) return 0;
  return std::stoi(std::string(response.substr(9, 3)));
}

inline std::string body_in(const std::string& response) {
  const std::size_t end = response.find("\r\n\r\n");
  return end == std::string::npos ? "" : response.substr(end + 4);
}

}  // namespace metafuse::test
