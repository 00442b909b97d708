// Sends requests to a server at a fixed rate, whether or not it keeps up, and counts the outcomes.
// usage: load_client PORT RATE SECONDS CONNECTIONS TARGET
// {n} in TARGET becomes a different number in every request. Prints one JSON object. An answer is complete if
// its length is as its head says and no engine's list is missing; a refusal must have a Retry-After.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

struct Connection {
  int socket = -1;
  bool is_busy = false;
  Clock::time_point due;
  std::string received;
};

struct Counts {
  std::size_t complete = 0;
  std::size_t refused = 0;
  std::size_t partial = 0;  ///< status 200, but names engines whose lists are missing
  std::size_t wrong = 0;    ///< anything else: no answer, another status, no Retry-After
  std::vector<double> complete_ms;
  std::vector<double> refused_ms;
};

struct Load {
  std::uint16_t port = 0;
  std::string target;
  int poll = -1;
  std::uint64_t number = 0;
  std::vector<Connection> connections;
  std::vector<std::size_t> idle;
  Counts counts;
};

bool open_connection(const Load& load, Connection& connection, std::size_t at) {
  connection.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(load.port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(connection.socket, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return false;
  const int one = 1;
  ::setsockopt(connection.socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = at;
  return ::epoll_ctl(load.poll, EPOLL_CTL_ADD, connection.socket, &event) == 0;
}

void drop(Connection& connection) {
  ::close(connection.socket);
  connection.socket = -1;
  connection.received.clear();
}

void ask(Load& load, std::size_t at, Clock::time_point due) {
  Connection& connection = load.connections[at];
  connection.is_busy = true;
  connection.due = due;
  std::string target = load.target;
  if (const std::size_t mark = target.find("{n}"); mark != std::string::npos)
    target.replace(mark, 3, std::to_string(::getpid()) + "x" + std::to_string(++load.number));
  const std::string text = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const bool is_open = connection.socket >= 0 || open_connection(load, connection, at);
  if (is_open &&
      ::send(connection.socket, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()))
    return;
  ++load.counts.wrong;
  drop(connection);
  connection.is_busy = false;
  load.idle.push_back(at);
}

/// The size of the whole answer, or 0 while some of it is missing.
std::size_t answer_bytes(std::string_view text) {
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string_view::npos) return 0;
  constexpr std::string_view kLength = "Content-Length: ";
  const std::size_t at = text.substr(0, end).find(kLength);
  std::size_t length = 0;
  if (at != std::string_view::npos)
    std::from_chars(text.data() + at + kLength.size(), text.data() + end, length);
  return text.size() < end + 4 + length ? 0 : end + 4 + length;
}

void judge(Load& load, const Connection& connection) {
  const std::string_view text = connection.received;
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - connection.due).count();
  if (text.starts_with("HTTP/1.1 200 ") && text.find("\"unresponsive_engines\":[]") != text.npos) {
    ++load.counts.complete;
    load.counts.complete_ms.push_back(ms);
  } else if ((text.starts_with("HTTP/1.1 503 ") || text.starts_with("HTTP/1.1 429 ")) &&
             text.find("\r\nRetry-After: ") != text.npos) {
    ++load.counts.refused;
    load.counts.refused_ms.push_back(ms);
  } else if (text.starts_with("HTTP/1.1 200 ") && text.find("\"unresponsive_engines\":[[") != text.npos) {
    ++load.counts.partial;
  } else {
    ++load.counts.wrong;
  }
}

void receive(Load& load, std::size_t at) {
  Connection& connection = load.connections[at];
  char buffer[65536];
  const ssize_t got = ::recv(connection.socket, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got > 0) {
    connection.received.append(buffer, static_cast<std::size_t>(got));
    if (answer_bytes(connection.received) == 0) return;
    judge(load, connection);
    if (connection.received.find("\r\nConnection: close\r\n") != std::string::npos) drop(connection);
  } else {
    if (connection.is_busy) ++load.counts.wrong;
    drop(connection);
    if (!connection.is_busy) return;
  }
  connection.received.clear();
  connection.is_busy = false;
  load.idle.push_back(at);
}

void run(Load& load, double rate, double seconds) {
  const auto gap = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / rate));
  const auto begin = Clock::now();
  const auto end =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const auto patience = end + std::chrono::seconds(10);
  auto due = begin;
  std::deque<Clock::time_point> waiting;  // requests that wait for a connection
  epoll_event events[64];
  while (Clock::now() < patience) {
    for (const auto now = Clock::now(); due <= now && due < end; due += gap) waiting.push_back(due);
    while (!waiting.empty() && !load.idle.empty()) {
      const std::size_t at = load.idle.back();
      load.idle.pop_back();
      ask(load, at, waiting.front());
      waiting.pop_front();
    }
    if (due >= end && waiting.empty() && load.idle.size() == load.connections.size()) break;
    const int count = ::epoll_wait(load.poll, events, 64, 1);
    for (int i = 0; i < count; ++i) receive(load, events[i].data.u64);
  }
  load.counts.wrong += waiting.size() + load.connections.size() - load.idle.size();
}

double at_share(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: load_client PORT RATE SECONDS CONNECTIONS TARGET\n");
    return 64;
  }
  Load load;
  load.port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  load.target = argv[5];
  load.poll = ::epoll_create1(EPOLL_CLOEXEC);
  load.connections.resize(static_cast<std::size_t>(std::atoi(argv[4])));
  for (std::size_t i = load.connections.size(); i > 0; --i) load.idle.push_back(i - 1);
  run(load, std::atof(argv[2]), std::atof(argv[3]));
  Counts& counts = load.counts;
  std::printf(
      "{\"complete\":%zu,\"partial\":%zu,\"refused\":%zu,\"wrong\":%zu,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
      "\"refused_p50_ms\":%.3f,\"refused_p99_ms\":%.3f,\"refused_max_ms\":%.3f}\n",
      counts.complete, counts.partial, counts.refused, counts.wrong, at_share(counts.complete_ms, 0.5),
      at_share(counts.complete_ms, 0.99), at_share(counts.refused_ms, 0.5), at_share(counts.refused_ms, 0.99),
      at_share(counts.refused_ms, 1));
  return counts.wrong == 0 ? 0 : 1;
}
