#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "service/http/message.h"

namespace metafuse::service {

inline constexpr std::size_t kMaxHeadBytes = 16 * 1024;
inline constexpr std::size_t kMaxTargetBytes = 8000;
inline constexpr std::size_t kMaxHeaders = 100;

/// Why a request is refused before its body is read; the connection closes after the answer.
struct Refusal {
  int status = 400;
  std::string reason;
};

/// A request's head that two HTTP programs cannot understand differently.
struct HttpHead {
  HttpRequest request;  ///< without body and peer
  bool is_head = false;
  bool keeps_alive = true;
  bool is_chunked = false;
  bool wants_continue = false;
  std::uint64_t content_length = 0;
};

/// Parses a request line and header fields, more strictly than RFC 9112 asks: what a proxy in front of us
/// could read otherwise is refused.
///
/// in:     text - up to and with the empty line
///         max_body_bytes - a longer Content-Length is 413
/// errors: 400 bare CR or LF, folded lines, bad names or values, absolute-form or non-ASCII targets, Host
///         missing, doubled or malformed, Content-Length doubled, listed or with Transfer-Encoding,
///         Transfer-Encoding on HTTP/1.0; 413; 414; 417 an expectation other than 100-continue; 431; 501
///         other transfer codings or methods; 505
std::optional<Refusal> parse_head(std::string_view text, std::uint64_t max_body_bytes, HttpHead& out);

/// How many bytes of empty lines stand before a request; at most two lines are passed over (RFC 9112, 2.2).
std::size_t empty_lines_before(std::string_view text);

/// Where a head ends, its empty line included; nothing while it has not all arrived.
std::optional<std::size_t> head_end(std::string_view text);

/// What is wrong with a head that is not all there and that no further byte can mend: 400, 414 or 431.
std::optional<Refusal> hopeless_head(std::string_view text);

/// Percent-decodes; `plus_is_space` as forms write it. nullopt for a damaged escape, a NUL or invalid UTF-8.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);

/// Pairs of "a=b&c=d"; nullopt as percent_decode, or for more than 200 pairs.
std::optional<Fields> parse_form(std::string_view text);

/// The first value of a name, "" when there is none.
std::string form_value(const Fields& fields, std::string_view name);
}  // namespace metafuse::service
