#include "fetchers/http/curl_transfer.h"

#include <algorithm>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/encoding.h"
#include "core/field_value.h"
#include "core/number.h"
#include "core/text.h"
#include "fetchers/http/answer_headers.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxHeaderBytes = 64 * 1024;
constexpr std::size_t kMaxHeaders = 200;
constexpr double kMostAhead = 64 * 1024;
constexpr std::size_t kSpareBytes = 64;  ///< after a body, so that parsers may read it in blocks

long milliseconds(Duration duration) {
  return std::max<long>(1, static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(duration).count()));
}

Failure failure_of_transfer(CURLcode status) {
  switch (status) {
    case CURLE_OPERATION_TIMEDOUT:
      return Failure::timeout;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CIPHER:
    case CURLE_USE_SSL_FAILED:
      return Failure::tls;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
      return Failure::refused;
    case CURLE_FILESIZE_EXCEEDED:
      return Failure::too_large;
    default:
      return Failure::bad_answer;
  }
}

/// What happened, as a sentence that names the proxy if there is one. Nothing is ever sent around it.
std::string message_of_transfer(CURLcode status, long connect_status, const std::string& proxy,
                                Duration waited) {
  const std::string name = proxy.substr(proxy.find_last_of("/@") + 1);
  const bool is_of_proxy = !proxy.empty() && (status == CURLE_COULDNT_CONNECT || status == CURLE_PROXY ||
                                              status == CURLE_COULDNT_RESOLVE_PROXY || connect_status >= 300);
  if (is_of_proxy)
    return fmt::format(
        "the proxy {} refuses or cannot be reached ({}); nothing was sent another way", name,
        connect_status >= 300 ? fmt::format("HTTP {}", connect_status) : curl_easy_strerror(status));
  std::string message = curl_easy_strerror(status);
  if (status == CURLE_UNSUPPORTED_PROTOCOL)
    message = "the answer is not HTTP/1.1; the server may speak HTTP/2 without TLS, or another protocol";
  if (status == CURLE_OPERATION_TIMEDOUT)
    message = fmt::format("no complete answer within {} ms",
                          std::chrono::duration_cast<std::chrono::milliseconds>(waited).count());
  return proxy.empty() ? message : message + ", through the proxy " + name;
}

/// Headers that every client sends and that reveal nothing.
bool is_of_no_secret(std::string_view header) {
  const std::string name = ascii_lower(header);
  return name == "accept" || name == "accept-language" || name == "user-agent";
}

}  // namespace

void CurlTransfer::set_common_options(CURL* handle) {
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  curl_easy_setopt(handle, CURLOPT_PROXY, "");
  curl_easy_setopt(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(handle, CURLOPT_HTTP09_ALLOWED, 0L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &CurlTransfer::on_body);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, &CurlTransfer::on_open_socket);
  curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, &CurlTransfer::on_connected);
}

CurlTransfer::CurlTransfer(EngineRequest request, Transport::Done done, const AddressGuard& guard,
                           TimePoint start)
    : request_(std::move(request)), done_(std::move(done)), guard_(guard), start_(start) {
  answer_.url = request_.url;
}

CurlTransfer::~CurlTransfer() {
  curl_slist_free_all(headers_);
}

bool CurlTransfer::prepare(CURL* handle, TimePoint now) {
  handle_ = handle;
  if (redirects_ > 0) {
    curl_easy_reset(handle);
    set_common_options(handle);
  }
  const auto parts = parts_of_url(answer_.url);
  if (!parts) {
    refuse(Failure::not_allowed, "not a valid http or https URL: " + answer_.url.substr(0, 200));
    return false;
  }
  if (is_onion_host(parts->host) && !request_.proxy.starts_with("tor://")) {
    refuse(Failure::not_allowed,
           "a Tor address, but the engine has no `proxy: tor://HOST:PORT`: " + answer_.url.substr(0, 200));
    return false;
  }
  origin_ = parts->origin();
  if (first_origin_.empty()) first_origin_ = origin_;
  answer_.headers.clear();
  answer_.body.clear();
  header_bytes_ = 0;
  curl_easy_setopt(handle, CURLOPT_URL, answer_.url.c_str());
  if (!set_method()) return false;
  set_limits(now);
  for (const CURLoption option :
       {CURLOPT_PRIVATE, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_PREREQDATA})
    curl_easy_setopt(handle, option, this);
  set_tls();
  return set_proxy(*parts);
}

/// A proxy looks up names itself, so that neither a query nor a name leaves by another way. What it connects
/// to cannot be seen here; therefore only the engine's own host may be a private one.
bool CurlTransfer::set_proxy(const UrlParts& parts) {
  if (request_.proxy.empty()) return true;
  const bool is_own = !request_.own_origin.empty() && parts.origin() == request_.own_origin;
  const bool is_name =
      parts.host.find_first_not_of("0123456789.") != std::string::npos && parts.host[0] != '[';
  const bool is_public =
      is_name ? !is_private_name(parts.host) : reach_of(std::string_view(parts.host)) == Reach::everyone;
  if (!is_own && !is_public) {
    refuse(Failure::not_allowed, origin_ + " is private, and not in the engine's own definition");
    return false;
  }
  const std::size_t scheme = request_.proxy.find("://");
  const bool is_tor = request_.proxy.starts_with("tor");
  const bool is_socks = is_tor || request_.proxy.starts_with("socks5");
  // Tor keeps streams apart that have different user names: no two engines share a circuit.
  const bool has_user = request_.proxy.find('@') != std::string::npos;
  const std::string user =
      is_tor && !has_user ? hex_encoded(sha256(request_.engine)).substr(0, 16) + ":x@" : "";
  const std::string url = is_socks ? "socks5h://" + user + request_.proxy.substr(scheme + 3) : request_.proxy;
  curl_easy_setopt(handle_, CURLOPT_PROXY, url.c_str());
  curl_easy_setopt(handle_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  return true;
}

/// Headers, credentials and body are meant for the origin in the engine's definition. A redirect or a
/// description document that leads elsewhere is followed without them, and without the cookies that the
/// redirects of this request have set. libcurl sends headers as they are: one with a line end would become
/// several headers, or even a second request.
///
/// out: false if the request is refused
bool CurlTransfer::set_method() {
  curl_slist_free_all(headers_);
  headers_ = nullptr;
  StringPairs with_cookies;
  if (!cookies_.empty() && !is_crossing()) add_cookies(with_cookies = request_.headers, cookies_);
  for (const auto& [name, value] : with_cookies.empty() ? request_.headers : with_cookies) {
    if (!is_field_value(name) || !is_field_value(value)) {
      refuse(Failure::not_allowed, "a header to send has a control character, such as a line end");
      return false;
    }
    if (!is_crossing() || is_of_no_secret(name))
      headers_ = curl_slist_append(headers_, (value.empty() ? name + ";" : name + ": " + value).c_str());
  }
  if (!is_crossing() && !request_.username.empty()) {
    curl_easy_setopt(handle_, CURLOPT_USERNAME, request_.username.c_str());
    curl_easy_setopt(handle_, CURLOPT_PASSWORD, request_.password.c_str());
  }
  const bool is_post = request_.method == "POST" && !is_crossing();
  if (!is_post) curl_easy_setopt(handle_, CURLOPT_HTTPGET, 1L);
  if (is_post) {
    headers_ = curl_slist_append(headers_, "Expect:");
    curl_easy_setopt(handle_, CURLOPT_POST, 1L);
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE, static_cast<long>(request_.body.size()));
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDS, request_.body.c_str());
  }
  curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, headers_);
  return true;
}

void CurlTransfer::set_limits(TimePoint now) {
  const Duration left = std::max<Duration>(start_ + request_.timeout - now, std::chrono::milliseconds(1));
  const Duration connect = request_.connect_timeout == Duration::zero() ? left : request_.connect_timeout;
  curl_easy_setopt(handle_, CURLOPT_TIMEOUT_MS, milliseconds(left));
  curl_easy_setopt(handle_, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(std::min(left, connect)));
}

void CurlTransfer::set_tls() {
  curl_easy_setopt(handle_, CURLOPT_SSL_VERIFYPEER, request_.verifies_certificates ? 1L : 0L);
  curl_easy_setopt(handle_, CURLOPT_SSL_VERIFYHOST, request_.verifies_certificates ? 2L : 0L);
  if (!request_.ca_file.empty()) curl_easy_setopt(handle_, CURLOPT_CAINFO, request_.ca_file.c_str());
  if (is_crossing() || request_.certificate_file.empty()) return;
  curl_easy_setopt(handle_, CURLOPT_SSLCERT, request_.certificate_file.c_str());
  curl_easy_setopt(handle_, CURLOPT_SSLKEY, request_.key_file.c_str());
}

bool CurlTransfer::leaves_traces() const {
  return redirects_ > 0 || request_.method != "GET" || !request_.body.empty() || !request_.username.empty() ||
         !request_.ca_file.empty() || !request_.certificate_file.empty() || !request_.proxy.empty();
}

bool CurlTransfer::take_redirect() {
  const int status = answer_.status;
  if (status != 301 && status != 302 && status != 303 && status != 307 && status != 308) return false;
  const std::string_view location = answer_.header("location");
  if (location.empty() || refused_.failure != Failure::none) return false;
  auto next = resolved_url(location, answer_.url);
  if (++redirects_ > request_.max_redirects) {
    refuse(Failure::bad_answer, next && *next == answer_.url
                                    ? "redirected from the page to itself, as for a visitor without cookies"
                                    : fmt::format("more than {} redirects", request_.max_redirects));
    return false;
  }
  if (!is_crossing()) note_cookies(cookies_, answer_.headers);
  if (!next || !parts_of_url(*next)) {
    refuse(Failure::not_allowed, "redirected to something other than an http or https URL: " +
                                     std::string(location.substr(0, 200)));
    return false;
  }
  answer_.url = std::move(*next);
  if (status == 303 || ((status == 301 || status == 302) && request_.method == "POST"))
    request_.method = "GET";
  return true;
}

void CurlTransfer::note_proxy() {
  if (!request_.proxy.empty()) curl_easy_getinfo(handle_, CURLINFO_HTTP_CONNECTCODE, &connect_status_);
}

void CurlTransfer::finish(CURLcode status, TimePoint now) {
  if (refused_.failure != Failure::none) return finish(refused_.failure, refused_.message, now);
  if (status == CURLE_OK) return finish(Failure::none, "", now);
  finish(failure_of_transfer(status),
         message_of_transfer(status, connect_status_, request_.proxy, now - start_), now);
}

void CurlTransfer::finish(Failure failure, std::string message, TimePoint now) {
  answer_.failure = failure;
  answer_.message = std::move(message);
  answer_.elapsed = now - start_;
  for (const auto& [name, value] : cookies_)
    answer_.headers.insert(answer_.headers.begin(), {"set-cookie", name + "=" + value});
  if (failure != Failure::none) answer_.body = std::string();
  if (Transport::Done done = std::exchange(done_, nullptr)) done(std::move(answer_));
}

TimePoint CurlTransfer::next_limit() const {
  const TimePoint end = start_ + request_.timeout;
  if (has_first_byte_ || request_.first_byte_timeout == Duration::zero()) return end;
  return std::min(end, start_ + request_.first_byte_timeout);
}

std::size_t CurlTransfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const std::size_t bytes = size * count;
  std::string& body = transfer.answer_.body;
  if (body.size() + bytes > transfer.request_.max_bytes) {
    transfer.refuse(Failure::too_large,
                    "the answer is larger than " + std::to_string(transfer.request_.max_bytes) + " bytes");
    return 0;
  }
  if (body.size() + bytes > body.capacity()) {
    const std::size_t wanted = body.empty() ? std::max(bytes, transfer.announced_bytes()) : 2 * body.size();
    const std::size_t most = std::min(transfer.request_.max_bytes, std::max(body.size() + bytes, wanted));
    body.reserve(most + kSpareBytes);
  }
  body.append(data, bytes);
  return bytes;
}

/// The announced Content-Length, trusted only up to a limit: at most 64 KB are allocated in advance.
std::size_t CurlTransfer::announced_bytes() const {
  double bytes = 0;
  if (!to_double(answer_.header("content-length"), bytes) || !(bytes > 0)) return 0;
  return static_cast<std::size_t>(std::min(bytes, kMostAhead));
}

std::size_t CurlTransfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  HttpAnswer& answer = transfer.answer_;
  const std::size_t bytes = size * count;
  transfer.has_first_byte_ = true;
  transfer.header_bytes_ += bytes;
  std::string_view line(data, bytes);
  if (transfer.header_bytes_ > kMaxHeaderBytes || answer.headers.size() > kMaxHeaders) {
    transfer.refuse(Failure::too_large, "more than 64 KB or 200 lines of headers");
    return 0;
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' '))
    line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    answer.headers.clear();
    const std::size_t blank = line.find(' ');
    answer.status =
        blank == std::string_view::npos ? 0 : std::atoi(std::string(line.substr(blank + 1, 3)).c_str());
    return bytes;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return bytes;
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  if (answer.headers.empty()) answer.headers.reserve(16);
  answer.headers.emplace_back(ascii_lower(line.substr(0, colon)), value);
  return bytes;
}

bool CurlTransfer::may_connect(Reach reach) {
  if (!request_.proxy.empty()) return true;  // the connection leads to the proxy that the definition names
  const bool is_own_private =
      request_.own_host == nullptr || reach == Reach::everyone || request_.own_host->is_private();
  if (guard_.may_connect(reach, origin_,
                         is_own_private ? std::string_view(request_.own_origin) : std::string_view()))
    return true;
  refuse(
      Failure::not_allowed,
      origin_ +
          (reach == Reach::nobody
               ? " is a link-local, multicast or reserved address, which no engine may reach"
               : " is a private address that is not in the engine's own definition, or its name was a public "
                 "one when the definition was loaded; add it to allow_private if the engine may reach it"));
  return false;
}

curl_socket_t CurlTransfer::on_open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  if (!transfer.may_connect(reach_of(address->addr))) return CURL_SOCKET_BAD;
  transfer.refused_.failure = Failure::none;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int CurlTransfer::on_connected(void* self, char* remote, char*, int, int) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  if (!transfer.may_connect(reach_of(std::string_view(remote)))) return CURL_PREREQFUNC_ABORT;
  transfer.answer_.was_connected = true;
  return CURL_PREREQFUNC_OK;
}

}  // namespace metafuse::fetchers
