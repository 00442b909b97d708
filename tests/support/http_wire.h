#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>

#include <sys/socket.h>

#include "tests/support/wire_server.h"

// HTTP by hand on the connections of a WireServer, for requests without bodies.

namespace metafuse::test {

/// in: headers - whole lines, each with its end
inline std::string http_response(const std::string& status, const std::string& headers,
                                 const std::string& body = "") {
  return "HTTP/1.1 " + status + "\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

/// Serves a connection: `answer` gets the head of each request and returns the response.
inline WireServer::Serve serving_http(std::function<std::string(const std::string& head)> answer) {
  return [answer = std::move(answer)](int socket) {
    std::string bytes;
    std::array<char, 4096> buffer{};
    while (true) {
      const std::size_t end = bytes.find("\r\n\r\n");
      if (end == std::string::npos) {
        const auto size = ::recv(socket, buffer.data(), buffer.size(), 0);
        if (size <= 0) return;
        bytes.append(buffer.data(), static_cast<std::size_t>(size));
        continue;
      }
      const std::string response = answer(bytes.substr(0, end));
      bytes.erase(0, end + 4);
      if (::send(socket, response.data(), response.size(), MSG_NOSIGNAL) < 0) return;
    }
  };
}

}  // namespace metafuse::test
