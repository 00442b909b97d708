#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/deadline.h"
#include "service/base/log.h"
#include "service/base/metrics.h"
#include "service/http/exchange.h"
#include "service/http/message.h"

namespace metafuse::service {

/// The one answer to a request: sent whole, or begun and continued in pieces; with the headers that all
/// answers have; counted and logged once.
class Reply {
 public:
  Reply(const Exchange& exchange, Responder& responder, const Clock& clock, Metrics& metrics, Log& log)
      : exchange_(exchange), responder_(responder), clock_(clock), metrics_(metrics), log_(log) {}
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  /// Sends the whole answer; nothing once one was sent or begun.
  void send(HttpResponse response);
  void begin(HttpResponse head);
  void write(std::string piece);
  /// Ends an answer that came in pieces; nothing when none was begun.
  void end();
  bool has_begun() const { return has_begun_; }

 private:
  void count(int status);

  const Exchange& exchange_;
  Responder& responder_;
  const Clock& clock_;
  Metrics& metrics_;
  Log& log_;
  std::size_t bytes_ = 0;
  int status_ = 0;
  bool has_begun_ = false;
  bool has_ended_ = false;
};

}  // namespace metafuse::service
