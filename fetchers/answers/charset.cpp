#include "fetchers/answers/charset.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <iconv.h>

#include "core/ascii.h"
#include "core/utf8.h"

namespace metafuse::fetchers {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// A conversion to UTF-8, closed at its end.
class Converter {
 public:
  explicit Converter(const std::string& charset) : handle_(iconv_open("UTF-8", charset.c_str())) {}
  ~Converter() {
    if (is_known()) iconv_close(handle_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  bool is_known() const { return handle_ != reinterpret_cast<iconv_t>(-1); }

  std::string convert(std::string_view text) {
    std::string out;
    std::array<char, 4096> buffer{};
    char* in = const_cast<char*>(text.data());
    std::size_t left = text.size();
    while (left > 0) {
      char* to = buffer.data();
      std::size_t room = buffer.size();
      const bool is_stuck =
          iconv(handle_, &in, &left, &to, &room) == static_cast<std::size_t>(-1) && errno != E2BIG;
      out.append(buffer.data(), buffer.size() - room);
      if (!is_stuck) continue;
      out += kReplacement;
      ++in;
      --left;
    }
    return out;
  }

 private:
  iconv_t handle_;
};

}  // namespace

std::string charset_of(std::string_view content_type) {
  const std::string lower = ascii_lower(content_type);
  const std::size_t at = lower.find("charset=");
  if (at == std::string::npos) return {};
  std::string charset = lower.substr(at + 8);
  charset = charset.substr(0, charset.find_first_of("; ,"));
  charset.erase(std::remove(charset.begin(), charset.end(), '"'), charset.end());
  return charset.size() <= 40 ? charset : std::string();
}

std::optional<std::string> as_utf8(std::string_view text, const std::string& charset) {
  const bool is_utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  if (!is_utf16 && (charset.empty() || charset == "utf-8" || charset == "utf8" ||
                    (!charset.starts_with("utf-16") && !charset.starts_with("utf-32") &&
                     first_invalid_utf8(text) == std::string_view::npos)))
    return std::nullopt;
  Converter converter(is_utf16 ? "utf-16" : charset);
  if (!converter.is_known()) return std::nullopt;
  return converter.convert(text);
}

}  // namespace metafuse::fetchers
