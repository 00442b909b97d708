#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace metafuse::service {

struct Header {
  std::string name;
  std::string value;
};

using Fields = std::vector<std::pair<std::string, std::string>>;

/// A request that passed every framing rule of head.h.
struct HttpRequest {
  std::string method;
  std::string target;  ///< path and query as they were sent
  std::string path;    ///< percent-decoded, without the query
  Fields query;        ///< decoded name=value pairs of the target, in order
  std::vector<Header> headers;
  std::string body;
  std::string peer;  ///< address of the other end, without port
  bool is_http_1_0 = false;

  /// The first header of that name (any case), or "".
  std::string_view header(std::string_view name) const;
  /// The values of all headers of that name, in order, joined by commas (RFC 9110, 5.3).
  std::string list(std::string_view name) const;
  /// The first query parameter of that name.
  std::optional<std::string_view> parameter(std::string_view name) const;
};

/// Text shared by several answers, with gaps that each answer fills with its own text.
struct BodyFrame {
  std::vector<std::string> parts;  ///< at least one
  std::vector<std::size_t> gaps;   ///< which filling follows each part but the last
};

struct Repeat;

struct HttpResponse {
  int status = 200;
  std::vector<Header> headers;
  std::string body;
  std::shared_ptr<const BodyFrame> frame;  ///< instead of `body`
  std::vector<std::string> fillings;       ///< the texts for the frame's gaps
  std::shared_ptr<const Repeat> repeat;    ///< of a search: how it may be sent again

  /// The length of the body as it is sent.
  std::size_t body_bytes() const;
  void set(std::string_view name, std::string_view value);
  std::string_view header(std::string_view name) const;
};

/// The text without the optional white space around a field's value or a list's item (RFC 9110, 5.6.3).
std::string_view trimmed(std::string_view text);

/// The parts of a text between separators, without empty ones.
std::vector<std::string> split(std::string_view text, char separator);
HttpResponse make_response(int status, std::string_view content_type, std::string body);
HttpResponse json_response(const JsonObject& body);
/// What went wrong, as problem+json (RFC 9457).
HttpResponse problem_response(int status, std::string_view text);
HttpResponse html_response(std::string page, int status = 200);

/// Sends the answer to the client. May be called from any thread: either send() once, or begin() once, then
/// write() and end().
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void send(HttpResponse response) = 0;
  /// Starts an answer whose body is sent in pieces.
  virtual void begin(HttpResponse head) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;
};

std::string_view reason_of(int status);

/// "application/json" of "Application/JSON; charset=utf-8", in lower case.
std::string media_type(std::string_view content_type);

/// The JSON object in a request's body.
///
/// errors: usage that says what is wrong: not JSON, not an object, nested too deeply
Result<JsonObject> json_body(const HttpRequest& request);

/// What the request decides about the framing of its answer.
struct ResponseFraming {
  bool is_piecewise = false;  ///< the body is sent in pieces and its length is not known yet
  bool is_http_1_0 = false;   ///< then chunks must not be used
  bool keeps_alive = true;
};

/// Whether answers with this status may have a body.
bool has_body(int status);

/// How entity tags are compared (RFC 9110, 8.8.3.2): strongly for If-Match, where a weak tag equals none, and
/// weakly for If-None-Match, because a proxy that compresses an answer makes its tag weak.
enum class EtagComparison { strong, weak };

/// Whether If-Match or If-None-Match names an entity tag: "*", or a list of tags with or without quotes.
///
/// in: etag - without quotes, and without a comma
bool names_etag(std::string_view header, std::string_view etag, EtagComparison comparison);

/// Sets the entity tag of an answer, and makes it 304 without a body if the client has it already.
void set_etag(const HttpRequest& request, std::string_view etag, HttpResponse& response);

/// Status line, headers and the empty line. A header with a control character, or with a colon in its name,
/// is left out, so that no value can inject headers.
std::string response_head(const HttpResponse& response, const ResponseFraming& framing);

/// One piece, framed as a chunk of HTTP/1.1's chunked coding.
std::string chunk_of(std::string piece);

}  // namespace metafuse::service
