#include "fetchers/fetcher.h"

namespace metafuse::fetchers {

std::string_view name_of(Failure failure) {
  switch (failure) {
    case Failure::none:
      return "none";
    case Failure::timeout:
      return "timeout";
    case Failure::refused:
      return "refused";
    case Failure::tls:
      return "tls";
    case Failure::http_status:
      return "http_status";
    case Failure::rate_limited:
      return "rate_limited";
    case Failure::captcha:
      return "captcha";
    case Failure::bad_answer:
      return "bad_answer";
    case Failure::too_large:
      return "too_large";
    case Failure::not_allowed:
      return "not_allowed";
    case Failure::breaker_open:
      return "breaker_open";
    case Failure::not_recorded:
      return "not_recorded";
  }
  return "unknown";
}

}  // namespace metafuse::fetchers
