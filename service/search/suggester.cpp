#include "service/search/suggester.h"

#include <algorithm>

#include "core/ascii.h"

namespace metafuse::service {

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
  const std::string wanted = ascii_lower(prefix);
  std::vector<std::string> out;
  const std::lock_guard lock(mutex_);
  for (const std::string& text : texts_) {
    const std::size_t at = ascii_lower(text).find(wanted);
    if (at == std::string::npos || (at > 0 && text[at - 1] != ' ')) continue;
    out.push_back(text);
    if (out.size() >= limit) break;
  }
  return out;
}

}  // namespace metafuse::service
