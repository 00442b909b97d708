#include "service/suggester.h"

#include <algorithm>

namespace metafuse::service {
namespace {

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

}  // namespace

void Suggester::learn(const std::vector<std::string>& suggestions) {
  const std::lock_guard lock(mutex_);
  for (const std::string& text : suggestions) {
    if (text.empty() || text.size() > 200 || std::find(texts_.begin(), texts_.end(), text) != texts_.end())
      continue;
    texts_.push_front(text);
    if (texts_.size() > capacity_) texts_.pop_back();
  }
}

std::vector<std::string> Suggester::complete(std::string_view prefix, std::size_t limit) const {
  const std::string wanted = lowered(prefix);
  std::vector<std::string> out;
  const std::lock_guard lock(mutex_);
  for (const std::string& text : texts_) {
    const std::size_t at = lowered(text).find(wanted);
    if (at == std::string::npos || (at > 0 && text[at - 1] != ' ')) continue;
    out.push_back(text);
    if (out.size() >= limit) break;
  }
  return out;
}

}  // namespace metafuse::service
