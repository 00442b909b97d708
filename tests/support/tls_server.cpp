#include "tests/support/tls_server.h"

#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/loopback_socket.h"

namespace metafuse::test {
namespace {

constexpr const char* kHost = "IP:127.0.0.1";

}  // namespace

TlsServer::TlsServer(std::string body) : body_(std::move(body)) {
  const CertificateAuthority authority;
  authority_file_ = folder_.write("authority.pem", authority.pem());
  listeners_.push_back({"ok", bound_socket(), authority.context(kHost, -1, 30)});
  listeners_.push_back({"self-signed", bound_socket(), CertificateAuthority::self_signed_context(kHost)});
  listeners_.push_back({"expired", bound_socket(), authority.context(kHost, -20, -1)});
  listeners_.push_back({"not-yet-valid", bound_socket(), authority.context(kHost, 2, 20)});
  listeners_.push_back({"wrong-host", bound_socket(), authority.context("DNS:other.example", -1, 30)});
  listeners_.push_back({"cut", bound_socket(), nullptr});
  listeners_.push_back({"drip", bound_socket(), nullptr});
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  stop_read_ = ends[0];
  stop_write_ = ends[1];
  for (const Listener& listener : listeners_)
    if (::listen(listener.socket, 128) != 0) throw std::runtime_error("cannot listen");
  acceptor_ = std::thread([this] { accept_all(); });
}

TlsServer::~TlsServer() {
  ::close(stop_write_);  // every waiting thread sees the end of the pipe
  acceptor_.join();
  {
    std::unique_lock lock(mutex_);
    for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
    left_.wait(lock, [&] { return open_.empty(); });
  }
  for (const Listener& listener : listeners_) ::close(listener.socket);
  ::close(stop_read_);
}

std::string TlsServer::origin(std::string_view kind) const {
  for (const Listener& listener : listeners_)
    if (listener.kind == kind) return "127.0.0.1:" + std::to_string(port_of(listener.socket));
  throw std::runtime_error("no such kind of TLS server: " + std::string(kind));
}

void TlsServer::accept_all() {
  std::vector<pollfd> waiting;
  for (const Listener& listener : listeners_) waiting.push_back({listener.socket, POLLIN, 0});
  waiting.push_back({stop_read_, POLLIN, 0});
  while (true) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting.back().revents != 0) return;
    for (std::size_t i = 0; i < listeners_.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      const int socket = ::accept4(listeners_[i].socket, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      const std::lock_guard lock(mutex_);
      open_.insert(socket);
      std::thread([this, i, socket] { serve(listeners_[i], socket); }).detach();
    }
  }
}

void TlsServer::serve(const Listener& listener, int socket) {
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  if (listener.context != nullptr) {
    talk(listener.context.get(), socket);
  } else {
    char hello[4096];
    const bool has_hello = ::recv(socket, hello, sizeof hello, 0) > 0;
    if (has_hello && listener.kind == "drip") drip(socket);
    if (has_hello && listener.kind == "cut") ::send(socket, "\x16\x03\x03\x00\x7a\x02", 6, MSG_NOSIGNAL);
  }
  const std::lock_guard lock(mutex_);
  ::close(socket);
  open_.erase(socket);
  left_.notify_all();
}

/// Announces a ServerHello of 16 KB and never finishes it.
void TlsServer::drip(int socket) const {
  ::send(socket, "\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03", 11, MSG_NOSIGNAL);
  pollfd waiting[2] = {{stop_read_, POLLIN, 0}, {socket, POLLRDHUP, 0}};
  while (::poll(waiting, 2, 20) == 0)
    if (::send(socket, "x", 1, MSG_NOSIGNAL) != 1) return;
}

void TlsServer::talk(SSL_CTX* context, int socket) {
  const std::unique_ptr<SSL, FreeTls> connection(SSL_new(context));
  SSL_set_fd(connection.get(), socket);
  if (SSL_accept(connection.get()) != 1) return;
  if (SSL_session_reused(connection.get()) == 1) ++resumed_;
  std::string request;
  char buffer[4096];
  for (int count = 0; (count = SSL_read(connection.get(), buffer, sizeof buffer)) > 0;) {
    request.append(buffer, static_cast<std::size_t>(count));
    if (request.find("\r\n\r\n") == std::string::npos) continue;
    request.clear();
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                               std::to_string(body_.size()) + "\r\n\r\n" + body_;
    if (SSL_write(connection.get(), answer.data(), static_cast<int>(answer.size())) <= 0) return;
  }
}

}  // namespace metafuse::test
