#include "service/http/reply.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "service/http/common_headers.h"

namespace metafuse::service {

void Reply::send(HttpResponse response) {
  if (has_begun_) return;
  add_common_headers(exchange_, response);
  bytes_ = response.body_bytes();
  has_begun_ = has_ended_ = true;
  count(response.status);
  responder_.send(std::move(response));
}

void Reply::begin(HttpResponse head) {
  add_common_headers(exchange_, head);
  has_begun_ = true;
  status_ = head.status;
  responder_.begin(std::move(head));
}

void Reply::write(std::string piece) {
  bytes_ += piece.size();
  responder_.write(std::move(piece));
}

void Reply::end() {
  if (!has_begun_ || has_ended_) return;
  has_ended_ = true;
  responder_.end();
  count(status_);
}

void Reply::count(int status) {
  const double seconds = std::chrono::duration<double>(clock_.now() - exchange_.arrived).count();
  metrics_.request(exchange_.route, status, seconds);
  if (exchange_.route == "healthz" || exchange_.route == "readyz" || exchange_.route == "metrics") return;
  log_.request({.route = exchange_.route,
                .method = exchange_.request.method,
                .status = status,
                .seconds = seconds,
                .bytes = bytes_,
                .key = exchange_.key == nullptr ? std::string_view() : std::string_view(exchange_.key->name),
                .refused = exchange_.refused,
                .trace = exchange_.traceparent});
}

}  // namespace metafuse::service
