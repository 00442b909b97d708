#include "tests/support/chaos_server.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

namespace metafuse::test {
namespace {

using fetchers::Failure;
using enum fetchers::Failure;

constexpr std::string_view kBody =
    R"({"results":[{"url":"http://a.example/1","title":"One","content":"first"},)"
    R"({"url":"http://b.example/2","title":"Two","content":"second"},)"
    R"({"url":"http://c.example/3","title":"Three","content":"third"}]})";

const std::vector<Fault>& all_faults() {
  static const std::vector<Fault> list = {
      {"ok", {none}},
      {"ok-chunked", {none}},
      {"ok-gzip", {none}},
      {"ok-slow-start", {none}},
      {"ok-wrong-charset", {none}},
      {"ok-bom", {none}},
      {"ok-redirect", {none}},
      {"ok-close-delimited", {none}},
      {"refuse", {refused}},
      {"reset-at-once", {refused}},
      {"reset-after-request", {refused}},
      {"reset-in-headers", {refused, bad_answer}},
      {"reset-in-body", {refused, bad_answer}},
      {"close-after-request", {refused}},
      {"hang-at-accept", {timeout}},
      {"hang-after-request", {timeout}},
      {"hang-in-headers", {timeout}},
      {"hang-in-body", {timeout}},
      {"drip-headers", {timeout}},
      {"drip-body", {timeout}},
      {"half-closed", {timeout, refused, bad_answer}},
      {"garbage", {bad_answer, refused}},
      {"garbage-status", {bad_answer, refused, http_status}},
      {"http-0.9", {bad_answer, refused}},
      {"truncated", {bad_answer, refused}},
      {"length-too-short", {bad_answer}},
      {"length-negative", {bad_answer, refused, none}},
      {"two-lengths", {bad_answer, refused, none}},
      {"bad-chunk-size", {bad_answer, refused}},
      {"endless-body", {too_large, timeout}},
      {"endless-headers", {too_large, timeout}},
      {"long-header", {too_large, bad_answer, refused}},
      {"200-mb", {too_large}},
      {"gzip-bomb", {too_large}},
      {"gzip-truncated", {bad_answer, refused}},
      {"gzip-not", {bad_answer, refused}},
      {"encoding-unknown", {bad_answer, refused}},
      {"redirect-loop", {bad_answer}},
      {"redirect-private", {not_allowed}},
      {"redirect-link-local", {not_allowed}},
      {"redirect-file", {not_allowed}},
      {"redirect-user", {not_allowed}},
      {"redirect-nowhere", {http_status, bad_answer, not_allowed}},
      {"status-429", {rate_limited}},
      {"status-429-retry-after", {rate_limited}},
      {"status-500", {http_status}},
      {"status-503-html", {http_status}},
      {"status-403-captcha", {captcha}},
      {"captcha-200", {captcha}},
      {"html-instead", {bad_answer}},
      {"empty", {bad_answer}},
      {"json-cut", {bad_answer}},
      {"json-deep", {bad_answer}},
      {"json-other-shape", {bad_answer}},
      {"json-error", {bad_answer}},
      {"nul-bytes", {bad_answer}},
      {"tls-expected", {tls, refused, bad_answer}},
      {"tls-slow", {timeout}},
  };
  return list;
}

std::string response(std::string_view body, std::string_view headers = "",
                     std::string_view status = "200 OK") {
  return "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: application/json\r\n" + std::string(headers) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

std::string redirect(const std::string& to) {
  return response("", "Location: " + to + "\r\n", "302 Found");
}

std::string gzipped(std::string_view text, std::size_t repeats) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  std::string out;
  std::string buffer(65536, '\0');
  for (std::size_t i = 0; i <= repeats; ++i) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = i < repeats ? static_cast<uInt>(text.size()) : 0;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      deflate(&stream, i < repeats ? Z_NO_FLUSH : Z_FINISH);
      out.append(buffer.data(), buffer.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return out;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  return out;
}

void reset(int socket) {
  const linger now{1, 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

std::uint16_t port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

int bound_socket() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket < 0 || ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("no free port on loopback");
  return socket;
}

}  // namespace

std::span<const Fault> faults() {
  return all_faults();
}

ChaosServer::ChaosServer() {
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
  ::close(stop_write_);  // everyone who waits sees the end of the pipe
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
  ::close(deaf_listener_);
  ::close(stop_read_);
}

std::string ChaosServer::url(std::string_view fault) const {
  const std::string path = "/" + std::string(fault) + "?q={query}";
  if (fault == "refuse") return "http://127.0.0.1:" + std::to_string(closed_port_) + path;
  if (fault == "tls-slow") return "https://127.0.0.1:" + std::to_string(deaf_port_) + path;
  if (fault == "hang-at-accept") return "http://127.0.0.1:" + std::to_string(deaf_port_) + path;
  if (fault == "tls-expected") return "https://" + origin() + path;
  return "http://" + origin() + path;
}

std::string ChaosServer::last_request() const {
  const std::lock_guard lock(mutex_);
  return last_request_;
}

void ChaosServer::accept_all() {
  while (true) {
    pollfd waiting[2] = {{listener_, POLLIN, 0}, {stop_read_, POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0) continue;
    if (waiting[1].revents != 0) return;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    threads_.emplace_back([this, socket] {
      serve(socket);
      ::close(socket);
    });
  }
}

/// Waits that long; false when the server ends or the client has gone.
bool ChaosServer::waits(int milliseconds, int socket) const {
  pollfd waiting[2] = {{stop_read_, POLLIN, 0}, {socket, POLLRDHUP, 0}};
  return ::poll(waiting, 2, milliseconds) == 0;
}

void ChaosServer::hang(int socket) const {
  waits(-1, socket);
}

bool ChaosServer::send_all(int socket, std::string_view bytes) const {
  while (!bytes.empty()) {
    pollfd waiting[2] = {{socket, POLLOUT, 0}, {stop_read_, POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0 || waiting[1].revents != 0) return false;
    const ssize_t sent =
        ::send(socket, bytes.data(), std::min<std::size_t>(bytes.size(), 65536), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Requests of one connection, one after the other; a fault ends it.
void ChaosServer::serve(int socket) {
  std::string request;
  char buffer[4096];
  while (true) {
    pollfd waiting[2] = {{socket, POLLIN, 0}, {stop_read_, POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0 || waiting[1].revents != 0) return;
    const ssize_t count = ::recv(socket, buffer, sizeof buffer, 0);
    if (count <= 0) return;
    request.append(buffer, static_cast<std::size_t>(count));
    if (request[0] == '\x16') {  // a TLS handshake at a port that speaks none
      if (request.find("never") == std::string::npos && waits(1, socket))
        send_all(socket, "HTTP/1.1 400 No\r\n\r\n");
      return hang(socket);
    }
    const std::size_t end = request.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    ++requests_;
    {
      const std::lock_guard lock(mutex_);
      last_request_ = request;
    }
    const std::size_t path = request.find('/');
    const std::string fault = request.substr(path + 1, request.find_first_of("? ", path) - path - 1);
    answer(socket, fault, request);
    if (!fault.starts_with("ok") || fault == "ok-close-delimited") return;
    request.erase(0, end + 4);
  }
}

void ChaosServer::answer(int socket, std::string_view fault, std::string_view request) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  const std::string body(kBody);
  const auto send = [&](const std::string& bytes) { return send_all(socket, bytes); };
  const auto is = [&](std::string_view name) { return fault == name; };
  if (is("ok")) {
    send(response(body));
  } else if (is("ok-chunked")) {
    send(head + "Transfer-Encoding: chunked\r\n\r\n");
    for (const char c : body) send(std::string("1\r\n") + c + "\r\n");
    send("0\r\n\r\n");
  } else if (is("ok-gzip")) {
    send(response(gzipped(body, 1), "Content-Encoding: gzip\r\n"));
  } else if (is("ok-slow-start")) {
    waits(30, socket);
    send(response(body));
  } else if (is("ok-wrong-charset")) {
    send("HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=iso-2022-kr\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body);
  } else if (is("ok-bom")) {
    send(response("\xEF\xBB\xBF" + body));
  } else if (is("ok-redirect")) {
    send(redirect("/ok?again"));
  } else if (is("ok-close-delimited")) {
    send(head + "\r\n" + body);
  } else if (is("reset-at-once") || is("reset-after-request")) {
    reset(socket);
  } else if (is("reset-in-headers")) {
    send("HTTP/1.1 200 OK\r\nContent-Ty");
    waits(10, socket);
    reset(socket);
  } else if (is("reset-in-body")) {
    send(head + "Content-Length: 5000\r\n\r\n" + body);
    waits(10, socket);
    reset(socket);
  } else if (is("close-after-request")) {
    return;
  } else if (is("hang-after-request")) {
    hang(socket);
  } else if (is("hang-in-headers")) {
    send("HTTP/1.1 200 OK\r\nContent-");
    hang(socket);
  } else if (is("hang-in-body")) {
    send(head + "Content-Length: 5000\r\n\r\n" + body);
    hang(socket);
  } else if (is("drip-headers")) {
    send("HTTP/1.1 200 OK\r\nX-Drip: ");
    while (waits(20, socket) && send("x")) {
    }
  } else if (is("drip-body")) {
    send(head + "Content-Length: 500000\r\n\r\n");
    while (waits(20, socket) && send("{")) {
    }
  } else if (is("half-closed")) {
    ::shutdown(socket, SHUT_WR);
    hang(socket);
  } else if (is("garbage")) {
    send(std::string("\x00\x01\xFF\xFE garbage \r\n\r\n\x80\x81", 19));
  } else if (is("garbage-status")) {
    send("HTTP/1.1 banana OK\r\nContent-Length: 2\r\n\r\n{}");
  } else if (is("http-0.9")) {
    send(body);
  } else if (is("truncated")) {
    send(head + "Content-Length: 5000\r\n\r\n" + body);
  } else if (is("length-too-short")) {
    send(head + "Content-Length: 50\r\n\r\n" + body);
  } else if (is("length-negative")) {
    send(head + "Content-Length: -5\r\n\r\n" + body);
  } else if (is("two-lengths")) {
    send(head + "Content-Length: 5\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  } else if (is("bad-chunk-size")) {
    send(head + "Transfer-Encoding: chunked\r\n\r\nZZZ\r\nxxx\r\n");
  } else if (is("endless-body")) {
    send(head + "Transfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "4000\r\n" + std::string(0x4000, ' ') + "\r\n";
    while (send(chunk)) {
    }
  } else if (is("endless-headers")) {
    send("HTTP/1.1 200 OK\r\n");
    while (send("X-Header: again and again\r\n")) {
    }
  } else if (is("long-header")) {
    send("HTTP/1.1 200 OK\r\nX-Long: " + std::string(500000, 'x') + "\r\n\r\n");
  } else if (is("200-mb")) {
    send(head + "Content-Length: 200000000\r\n\r\n");
    const std::string block(65536, ' ');
    for (int i = 0; i < 3052 && send(block); ++i) {
    }
  } else if (is("gzip-bomb")) {
    static const std::string bomb = gzipped(std::string(1 << 20, ' '), 16);
    send(response(bomb, "Content-Encoding: gzip\r\n"));
  } else if (is("gzip-truncated")) {
    const std::string whole = gzipped(body, 1);
    send(response(whole.substr(0, whole.size() / 2), "Content-Encoding: gzip\r\n"));
  } else if (is("gzip-not")) {
    send(response(body, "Content-Encoding: gzip\r\n"));
  } else if (is("encoding-unknown")) {
    send(response(body, "Content-Encoding: rot13\r\n"));
  } else if (is("redirect-loop")) {
    send(redirect("/redirect-loop?q=again"));
  } else if (is("redirect-private")) {
    send(redirect("http://127.0.0.1:" + std::to_string(closed_port_) + "/secret"));
  } else if (is("redirect-link-local")) {
    send(redirect("http://169.254.169.254/latest/meta-data/"));
  } else if (is("redirect-file")) {
    send(redirect("file:///etc/passwd"));
  } else if (is("redirect-user")) {
    send(redirect("http://user:word@" + origin() + "/ok"));
  } else if (is("redirect-nowhere")) {
    send("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n");
  } else if (is("status-429")) {
    send(response("slow down", "", "429 Too Many Requests"));
  } else if (is("status-429-retry-after")) {
    send(response("slow down", "Retry-After: 120\r\n", "429 Too Many Requests"));
  } else if (is("status-500")) {
    send(response("oops", "", "500 Internal Server Error"));
  } else if (is("status-503-html")) {
    send("HTTP/1.1 503 Busy\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<h1>busy</h1>");
  } else if (is("status-403-captcha") || is("captcha-200")) {
    const std::string page = "<html><div class=\"g-recaptcha\"></div></html>";
    send("HTTP/1.1 " + std::string(is("captcha-200") ? "200 OK" : "403 Forbidden") +
         "\r\nContent-Type: text/html\r\nContent-Length: " + std::to_string(page.size()) + "\r\n\r\n" + page);
  } else if (is("html-instead")) {
    send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 12\r\n\r\n<p>Hello</p>");
  } else if (is("empty")) {
    send(response(""));
  } else if (is("json-cut")) {
    send(response(body.substr(0, body.size() / 2)));
  } else if (is("json-deep")) {
    send(response(std::string(100000, '[')));
  } else if (is("json-other-shape")) {
    send(response(R"({"hello":"world"})"));
  } else if (is("json-error")) {
    send(response(R"({"error":{"message":"no such index"}})"));
  } else if (is("nul-bytes")) {
    send(response(std::string(1000, '\0')));
  } else if (is("redirect-to")) {  // ?u=URL, percent-encoded
    const std::size_t at = request.find("u=") + 2;
    send(redirect(decoded(request.substr(at, request.find(' ', at) - at))));
  } else if (is("description")) {  // ?HOST:PORT
    const std::size_t at = request.find('?') + 1;
    const std::string host = decoded(request.substr(at, request.find(' ', at) - at));
    send(response("<OpenSearchDescription><Url type=\"application/rss+xml\" template=\"http://" + host +
                  "/ok?q={searchTerms}\"/></OpenSearchDescription>"));
  } else {
    send(response("no such fault: " + std::string(fault), "", "404 Not Found"));
  }
}

}  // namespace metafuse::test
