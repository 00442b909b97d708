#include "tests/support/wire_server.h"

#include <algorithm>
#include <array>
#include <exception>
#include <stdexcept>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/loopback_socket.h"

namespace metafuse::test {
namespace {

/// Random-looking bytes, the same for the same seed.
std::string noise(unsigned seed, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    seed = seed * 1664525U + 1013904223U;
    out += static_cast<char>(seed >> 24);
  }
  return out;
}

/// Discards what the peer sends until the peer or the server stops.
void hear_out(int socket) {
  std::array<char, 4096> buffer{};
  while (::recv(socket, buffer.data(), buffer.size(), 0) > 0) {
  }
}

}  // namespace

WireServer::WireServer(Serve serve) : serve_(std::move(serve)) {
  listener_ = bound_socket();
  port_ = port_of(listener_);
  std::array<int, 2> ends{};
  if (::listen(listener_, 64) != 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("cannot listen");
  stop_read_ = ends[0];
  stop_write_ = ends[1];
  acceptor_ = std::thread([this] { accept_all(); });
}

WireServer::~WireServer() {
  ::close(stop_write_);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
  ::close(stop_read_);
}

void WireServer::accept_all() {
  while (true) {
    std::array<pollfd, 2> waiting = {{{listener_, POLLIN, 0}, {stop_read_, POLLIN, 0}}};
    if (::poll(waiting.data(), 2, -1) < 0) continue;
    if (waiting[1].revents != 0) return;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    ++accepted_;
    const std::lock_guard lock(mutex_);
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket] {
      try {
        serve_(socket);
      } catch (const std::exception&) {  // a client whose bytes make no sense
      }
      const std::lock_guard ending(mutex_);
      std::erase(sockets_, socket);
      ::close(socket);
    });
  }
}

bool send_all(int socket, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

int connected_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return -1;
  path.copy(address.sun_path, path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
  ::close(socket);
  return -1;
}

int connected_to(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
  ::close(socket);
  return -1;
}

std::vector<WireFault> wire_faults() {
  using Kind = WireFault::Kind;
  std::vector<WireFault> out = {
      {"close", Kind::close},
      {"reset", Kind::reset},
      {"hang", Kind::hang},
      {"drip", Kind::drip},
      {"http", Kind::says, 0, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"},
      {"tls-alert", Kind::says, 0, std::string("\x15\x03\x01\x00\x02\x02\x28", 7)},
      {"zeros", Kind::says, 0, std::string(64, '\0')},
      {"ones", Kind::says, 0, std::string(64, '\xFF')},
      {"banner", Kind::says, 0, "SSH-2.0-OpenSSH_9.2\r\n"},
      {"largest", Kind::says, 0, std::string("\xFF\xFF\xFF\x7F\x01\0\0\0\0\0\0\0\xDD\x07\0\0", 16)},
      {"negative", Kind::says, 0, std::string("\xFE\xFF\xFF\xFF\x01\0\0\0\0\0\0\0\xDD\x07\0\0", 16)},
      {"refusal", Kind::says, 0, std::string("E\0\0\0\x12SFATAL\0Mno more\0\0", 22)},
  };
  for (unsigned seed = 1; seed <= 4; ++seed)
    out.push_back({"noise-" + std::to_string(seed), Kind::says, 0, noise(seed, 512)});
  for (const std::size_t after : {1, 4, 5, 16, 40, 80, 160, 320}) {
    const std::string at = std::to_string(after);
    out.push_back({"cut-" + at, Kind::cut, after});
    out.push_back({"stall-" + at, Kind::stall, after});
    out.push_back({"flip-" + at, Kind::flip, after});
  }
  for (const std::size_t after : {0, 5, 30, 90, 180})
    out.push_back({"insert-" + std::to_string(after), Kind::insert, after, noise(9, 37)});
  for (const std::size_t after : {5, 60, 200})
    out.push_back({"reset-" + std::to_string(after), Kind::reset, after});
  return out;
}

FaultyWire::FaultyWire(WireFault fault, std::function<int()> upstream)
    : fault_(std::move(fault)),
      upstream_(std::move(upstream)),
      server_([this](int socket) { serve(socket); }) {}

void FaultyWire::serve(int client) const {
  using Kind = WireFault::Kind;
  const WireFault& fault = fault_;
  if (fault.kind == Kind::close) return;
  if (fault.kind == Kind::hang) return hear_out(client);
  if (fault.kind == Kind::says) {
    send_all(client, fault.bytes);
    return hear_out(client);
  }
  const int server = upstream_();
  if (server < 0) return;
  std::size_t said = 0;
  std::array<char, 4096> buffer{};
  const auto passes_on = [&](std::string bytes) {
    const std::size_t from = said;
    said += bytes.size();
    const bool is_reached = from <= fault.after && fault.after < said;
    if (fault.kind == Kind::drip)
      return std::all_of(bytes.begin(), bytes.end(), [&](char c) { return send_all(client, {c}); });
    if (!is_reached) return send_all(client, bytes);
    const std::size_t at = fault.after - from;
    if (fault.kind == Kind::flip) bytes[at] = static_cast<char>(~bytes[at]);
    if (fault.kind == Kind::insert) bytes.insert(at, fault.bytes);
    if (fault.kind == Kind::flip || fault.kind == Kind::insert) return send_all(client, bytes);
    send_all(client, bytes.substr(0, at));
    if (fault.kind == Kind::stall) hear_out(client);
    if (fault.kind == Kind::reset) reset_on_close(client);
    return false;
  };
  while (true) {
    std::array<pollfd, 2> waiting = {{{client, POLLIN, 0}, {server, POLLIN, 0}}};
    if (::poll(waiting.data(), 2, -1) < 0) break;
    const bool is_clients = waiting[0].revents != 0;
    const ssize_t count = ::recv(is_clients ? client : server, buffer.data(), buffer.size(), 0);
    if (count <= 0) break;
    std::string bytes(buffer.data(), static_cast<std::size_t>(count));
    if (is_clients ? !send_all(server, bytes) : !passes_on(std::move(bytes))) break;
  }
  ::close(server);
}

}  // namespace metafuse::test
