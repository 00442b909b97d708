#include "tests/support/chaos_faults.h"

#include <zlib.h>

namespace metafuse::test {
namespace {

using enum fetchers::Failure;

const std::string kHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const std::string kBody(chaos_results());

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

std::string page(const std::string& status, const std::string& html) {
  return "HTTP/1.1 " + status +
         "\r\nContent-Type: text/html\r\nContent-Length: " + std::to_string(html.size()) + "\r\n\r\n" + html;
}

std::vector<Fault> all_faults() {
  return {
      {"ok", {none}, [](ChaosClient& c) { c.send(response(kBody)); }},
      {"ok-chunked",
       {none},
       [](ChaosClient& c) {
         c.send(kHead + "Transfer-Encoding: chunked\r\n\r\n");
         for (const char one : kBody) c.send(std::string("1\r\n") + one + "\r\n");
         c.send("0\r\n\r\n");
       }},
      {"ok-gzip",
       {none},
       [](ChaosClient& c) { c.send(response(gzipped(kBody, 1), "Content-Encoding: gzip\r\n")); }},
      {"ok-slow-start",
       {none},
       [](ChaosClient& c) {
         c.waits(30);
         c.send(response(kBody));
       }},
      {"ok-wrong-charset",
       {none},
       [](ChaosClient& c) {
         c.send("HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=iso-2022-kr\r\nContent-Length: " +
                std::to_string(kBody.size()) + "\r\n\r\n" + kBody);
       }},
      {"ok-bom", {none}, [](ChaosClient& c) { c.send(response("\xEF\xBB\xBF" + kBody)); }},
      {"ok-redirect", {none}, [](ChaosClient& c) { c.send(redirect("/ok?again")); }},
      {"ok-close-delimited", {none}, [](ChaosClient& c) { c.send(kHead + "\r\n" + kBody); }},
      {"refuse", {refused}, nullptr},
      {"reset-at-once", {refused}, [](ChaosClient& c) { c.reset(); }},
      {"reset-after-request", {refused}, [](ChaosClient& c) { c.reset(); }},
      {"reset-in-headers",
       {refused, bad_answer},
       [](ChaosClient& c) {
         c.send("HTTP/1.1 200 OK\r\nContent-Ty");
         c.waits(10);
         c.reset();
       }},
      {"reset-in-body",
       {refused, bad_answer},
       [](ChaosClient& c) {
         c.send(kHead + "Content-Length: 5000\r\n\r\n" + kBody);
         c.waits(10);
         c.reset();
       }},
      {"close-after-request", {refused}, [](ChaosClient&) {}},
      {"hang-at-accept", {timeout}, nullptr},
      {"hang-after-request", {timeout}, [](ChaosClient& c) { c.hang(); }},
      {"hang-in-headers",
       {timeout},
       [](ChaosClient& c) {
         c.send("HTTP/1.1 200 OK\r\nContent-");
         c.hang();
       }},
      {"hang-in-body",
       {timeout},
       [](ChaosClient& c) {
         c.send(kHead + "Content-Length: 5000\r\n\r\n" + kBody);
         c.hang();
       }},
      {"drip-headers",
       {timeout},
       [](ChaosClient& c) {
         c.send("HTTP/1.1 200 OK\r\nX-Drip: ");
         while (c.waits(20) && c.send("x")) {
         }
       }},
      {"drip-body",
       {timeout},
       [](ChaosClient& c) {
         c.send(kHead + "Content-Length: 500000\r\n\r\n");
         while (c.waits(20) && c.send("{")) {
         }
       }},
      {"half-closed",
       {timeout, refused, bad_answer},
       [](ChaosClient& c) {
         c.half_close();
         c.hang();
       }},
      {"garbage",
       {bad_answer, refused},
       [](ChaosClient& c) { c.send(std::string("\x00\x01\xFF\xFE garbage \r\n\r\n\x80\x81", 19)); }},
      {"garbage-status",
       {bad_answer, refused, http_status},
       [](ChaosClient& c) { c.send("HTTP/1.1 banana OK\r\nContent-Length: 2\r\n\r\n{}"); }},
      {"http-0.9", {bad_answer, refused}, [](ChaosClient& c) { c.send(kBody); }},
      {"truncated",
       {bad_answer, refused},
       [](ChaosClient& c) { c.send(kHead + "Content-Length: 5000\r\n\r\n" + kBody); }},
      {"length-too-short",
       {bad_answer},
       [](ChaosClient& c) { c.send(kHead + "Content-Length: 50\r\n\r\n" + kBody); }},
      {"length-negative",
       {bad_answer, refused, none},
       [](ChaosClient& c) { c.send(kHead + "Content-Length: -5\r\n\r\n" + kBody); }},
      {"two-lengths",
       {bad_answer, refused, none},
       [](ChaosClient& c) {
         c.send(kHead + "Content-Length: 5\r\nContent-Length: " + std::to_string(kBody.size()) + "\r\n\r\n" +
                kBody);
       }},
      {"bad-chunk-size",
       {bad_answer, refused},
       [](ChaosClient& c) { c.send(kHead + "Transfer-Encoding: chunked\r\n\r\nZZZ\r\nxxx\r\n"); }},
      {"endless-body",
       {too_large, timeout},
       [](ChaosClient& c) {
         c.send(kHead + "Transfer-Encoding: chunked\r\n\r\n");
         const std::string chunk = "4000\r\n" + std::string(0x4000, ' ') + "\r\n";
         while (c.send(chunk)) {
         }
       }},
      {"endless-headers",
       {too_large, timeout},
       [](ChaosClient& c) {
         c.send("HTTP/1.1 200 OK\r\n");
         while (c.send("X-Header: again and again\r\n")) {
         }
       }},
      {"long-header",
       {too_large, bad_answer, refused},
       [](ChaosClient& c) { c.send("HTTP/1.1 200 OK\r\nX-Long: " + std::string(500000, 'x') + "\r\n\r\n"); }},
      {"200-mb",
       {too_large},
       [](ChaosClient& c) {
         c.send(kHead + "Content-Length: 200000000\r\n\r\n");
         const std::string block(65536, ' ');
         for (int i = 0; i < 3052 && c.send(block); ++i) {
         }
       }},
      {"gzip-bomb",
       {too_large},
       [](ChaosClient& c) {
         static const std::string bomb = gzipped(std::string(1 << 20, ' '), 16);
         c.send(response(bomb, "Content-Encoding: gzip\r\n"));
       }},
      {"gzip-truncated",
       {bad_answer, refused},
       [](ChaosClient& c) {
         const std::string whole = gzipped(kBody, 1);
         c.send(response(whole.substr(0, whole.size() / 2), "Content-Encoding: gzip\r\n"));
       }},
      {"gzip-not",
       {bad_answer, refused},
       [](ChaosClient& c) { c.send(response(kBody, "Content-Encoding: gzip\r\n")); }},
      {"encoding-unknown",
       {bad_answer, refused},
       [](ChaosClient& c) { c.send(response(kBody, "Content-Encoding: rot13\r\n")); }},
      {"redirect-loop", {bad_answer}, [](ChaosClient& c) { c.send(redirect("/redirect-loop?q=again")); }},
      {"redirect-private",
       {not_allowed},
       [](ChaosClient& c) {
         c.send(redirect("http://127.0.0.1:" + std::to_string(c.closed_port()) + "/secret"));
       }},
      {"redirect-link-local",
       {not_allowed},
       [](ChaosClient& c) { c.send(redirect("http://169.254.169.254/latest/meta-data/")); }},
      {"redirect-file", {not_allowed}, [](ChaosClient& c) { c.send(redirect("file:///etc/passwd")); }},
      {"redirect-user",
       {not_allowed},
       [](ChaosClient& c) { c.send(redirect("http://user:word@" + c.origin() + "/ok")); }},
      {"redirect-nowhere",
       {http_status},
       [](ChaosClient& c) { c.send("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"); }},
      {"status-429",
       {rate_limited},
       [](ChaosClient& c) { c.send(response("slow down", "", "429 Too Many Requests")); }},
      {"status-429-retry-after",
       {rate_limited},
       [](ChaosClient& c) {
         c.send(response("slow down", "Retry-After: 120\r\n", "429 Too Many Requests"));
       }},
      {"status-500",
       {http_status},
       [](ChaosClient& c) { c.send(response("oops", "", "500 Internal Server Error")); }},
      {"status-503-html", {http_status}, [](ChaosClient& c) { c.send(page("503 Busy", "<h1>busy</h1>")); }},
      {"status-403-captcha",
       {captcha},
       [](ChaosClient& c) {
         c.send(page("403 Forbidden", "<html><div class=\"g-recaptcha\"></div></html>"));
       }},
      {"captcha-200",
       {captcha},
       [](ChaosClient& c) { c.send(page("200 OK", "<html><div class=\"g-recaptcha\"></div></html>")); }},
      {"html-instead", {bad_answer}, [](ChaosClient& c) { c.send(page("200 OK", "<p>Hello</p>")); }},
      {"empty", {bad_answer}, [](ChaosClient& c) { c.send(response("")); }},
      {"json-cut", {bad_answer}, [](ChaosClient& c) { c.send(response(kBody.substr(0, kBody.size() / 2))); }},
      {"json-deep", {bad_answer}, [](ChaosClient& c) { c.send(response(std::string(100000, '['))); }},
      {"json-other-shape", {bad_answer}, [](ChaosClient& c) { c.send(response(R"({"hello":"world"})")); }},
      {"json-error",
       {bad_answer},
       [](ChaosClient& c) { c.send(response(R"({"error":{"message":"no such index"}})")); }},
      {"nul-bytes", {bad_answer}, [](ChaosClient& c) { c.send(response(std::string(1000, '\0'))); }},
      {"tls-expected", {tls, refused, bad_answer}, nullptr},
      {"tls-ok", {none}, nullptr},
      {"tls-deaf", {timeout}, nullptr},
      {"tls-drip", {timeout}, nullptr},
      {"tls-cut", {tls, refused}, nullptr},
      {"tls-self-signed", {tls}, nullptr},
      {"tls-expired", {tls}, nullptr},
      {"tls-not-yet-valid", {tls}, nullptr},
      {"tls-wrong-host", {tls}, nullptr},
  };
}

}  // namespace

std::string_view chaos_results() {
  return R"({"results":[{"url":"http://a.example/1","title":"One","content":"first"},)"
         R"({"url":"http://b.example/2","title":"Two","content":"second"},)"
         R"({"url":"http://c.example/3","title":"Three","content":"third"}]})";
}

std::span<const Fault> faults() {
  static const std::vector<Fault> list = all_faults();
  return list;
}

void play_fault(ChaosClient& client, std::string_view name, std::string_view target) {
  std::string answer;
  if (name == "redirect-to")
    answer = redirect(decoded(target));
  else if (name == "ok-vector")  // the answer of an embedding endpoint
    answer = response(R"({"data":[{"index":0,"embedding":[0.5,0.25]}]})");
  else if (name == "cookie-wall")  // which only those pass who bring back its cookie
    answer =
        client.last_request().find("Cookie: passed=1\r\n") != std::string::npos
            ? response(kBody)
            : response("", "Location: /cookie-wall?q=x\r\nSet-Cookie: passed=1; Path=/\r\n", "302 Found");
  else if (name == "ok-nothing")
    answer = response(R"({"results":[]})");
  else if (name.starts_with("hops-"))  // /hops-3 redirects three times
    answer = name == "hops-0"
                 ? response(kBody)
                 : redirect("/hops-" + std::to_string(std::stoi(std::string(name.substr(5))) - 1) + "?q=x");
  else if (name.starts_with("moved-"))  // /moved-307 redirects with that status
    answer = response("", "Location: /ok?q=moved\r\n", std::string(name.substr(6)) + " Moved");
  else if (name.starts_with("forwarded-"))  // the same, but to the target
    answer = response("", "Location: " + decoded(target) + "\r\n", std::string(name.substr(10)) + " Moved");
  else if (name.starts_with("lines-")) {  // /lines-7 has seven lines of headers
    std::string lines;
    for (int i = 2; i < std::stoi(std::string(name.substr(6))); ++i) lines += "X-A: b\r\n";
    answer = response(kBody, lines);
  } else if (name.starts_with("head-")) {  // the head has this many bytes
    const std::size_t others = response(kBody, "X-Fill: \r\n").size() - kBody.size();
    answer = response(
        kBody, "X-Fill: " + std::string(std::stoul(std::string(name.substr(5))) - others, 'x') + "\r\n");
  } else if (name.starts_with("wide-")) {
    // /wide-2 redirects twice, each time with 30 KB of headers and a body.
    const int left = std::stoi(std::string(name.substr(5)));
    const std::string fill = "X-Fill: " + std::string(30000, 'x') + "\r\n";
    answer = left == 0
                 ? response(kBody, fill)
                 : response("elsewhere", fill + "Location: /wide-" + std::to_string(left - 1) + "?q=x\r\n",
                            "302 Found");
  } else if (name.starts_with("answers-"))  // /answers-201 sends the results with that status
    answer = response(kBody, "", std::string(name.substr(8)) + " So");
  else if (name == "description")
    answer = response("<OpenSearchDescription><Url type=\"application/rss+xml\" template=\"http://" +
                      decoded(target) + "/ok?q={searchTerms}\"/></OpenSearchDescription>");
  else
    answer = response("no such fault: " + std::string(name), "", "404 Not Found");
  for (const Fault& fault : faults())
    if (fault.name == name && fault.play != nullptr) return fault.play(client);
  client.send(answer);
}

}  // namespace metafuse::test
