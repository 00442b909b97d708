#include "fetchers/model/secrets.h"

#include <algorithm>
#include <utility>

#include "core/encoding.h"
#include "core/json.h"
#include "core/text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::string_view kRedacted = "REDACTED";
constexpr std::size_t kLeastSecret = 6;  // a shorter value occurs in texts by chance

/// An encoded text with small letters in its escapes, as some servers write them.
std::string with_small_escapes(std::string text) {
  for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1))
    for (std::size_t i = at + 1; i < std::min(at + 3, text.size()); ++i) text[i] = ascii_lower(text[i]);
  return text;
}

/// A text as it stands between quotation marks in JSON; with or without escaped slashes.
std::string in_json(std::string_view text, bool escapes_slashes) {
  const std::string quoted = to_text(Json(to_valid_utf8(text)));
  std::string out;
  for (const char c : std::string_view(quoted).substr(1, quoted.size() - 2)) {
    if (c == '/' && escapes_slashes) out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string> spellings_of(const std::string& secret) {
  std::vector<std::string> out = {secret, in_json(secret, false), in_json(secret, true)};
  for (const bool is_form : {false, true}) {
    out.push_back(percent_encoded(secret, is_form));
    out.push_back(with_small_escapes(out.back()));
  }
  return out;
}

}  // namespace

void add_secret(HiddenTexts& hidden, const std::string& value) {
  if (value.size() < kLeastSecret) return;
  auto texts = hidden == nullptr ? std::vector<std::string>() : *hidden;
  for (std::string& spelling : spellings_of(value))
    if (std::find(texts.begin(), texts.end(), spelling) == texts.end()) texts.push_back(std::move(spelling));
  std::stable_sort(texts.begin(), texts.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  hidden = std::make_shared<const std::vector<std::string>>(std::move(texts));
}

void redact(std::string& text, const std::vector<std::string>& hidden) {
  for (const std::string& secret : hidden) {
    std::size_t at = text.find(secret);
    if (at == std::string::npos) continue;
    std::string out;
    std::size_t copied = 0;
    for (; at != std::string::npos; at = text.find(secret, copied)) {
      out.append(text, copied, at - copied).append(kRedacted);
      copied = at + secret.size();
    }
    text = out.append(text, copied);
  }
}

}  // namespace metafuse::fetchers
