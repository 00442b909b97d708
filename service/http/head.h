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

/// Why a request is refused before it was read whole; the connection closes after the answer.
struct Refusal {
  int status = 400;
  std::string reason;
};

/// A request's head, parsed so strictly that no two HTTP programs can understand it differently.
struct HttpHead {
  HttpRequest request;  ///< without body and peer
  bool is_head = false;
  bool keeps_alive = true;
  bool is_chunked = false;
  bool wants_continue = false;
  std::uint64_t content_length = 0;
};

/// Parses a request line and header fields, more strictly than RFC 9112 requires: whatever a proxy in front
/// of this server could read differently is refused.
///
/// in:     text - up to and including the empty line
///         max_body_bytes - a longer Content-Length is 413
/// out:    also after a refusal what could be read: method, path, the fields and the query's pairs that are
///         well formed. They decide only about the form of the refusal.
/// errors: 400 bare CR or LF, folded lines, bad names or values, absolute-form or non-ASCII targets, Host
///         missing, doubled or malformed, Content-Length doubled, listed or with Transfer-Encoding,
///         Transfer-Encoding on HTTP/1.0; 413; 414; 417 an expectation other than 100-continue; 431; 501
///         other transfer codings or methods; 505
std::optional<Refusal> parse_head(std::string_view text, std::uint64_t max_body_bytes, HttpHead& out);

/// The refusal of a body that is longer than the limit.
Refusal long_body(std::uint64_t max_body_bytes);

/// How many bytes of empty lines precede a request; at most two such lines are skipped (RFC 9112, 2.2).
std::size_t empty_lines_before(std::string_view text);

/// Where a head ends, including its empty line; nothing while it is incomplete.
std::optional<std::size_t> head_end(std::string_view text);

/// The refusal of an incomplete head that no further bytes can make valid: 400, 414 or 431.
std::optional<Refusal> hopeless_head(std::string_view text);

/// Percent-decodes a text, with `plus_is_space` as in forms. nullopt for a malformed escape, a NUL or
/// invalid UTF-8.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);

/// The pairs of "a=b&c=d"; nullopt where percent_decode() fails, or for more than 200 pairs.
std::optional<Fields> parse_form(std::string_view text);

/// The first value of a name, "" if there is none.
std::string form_value(const Fields& fields, std::string_view name);
}  // namespace metafuse::service
