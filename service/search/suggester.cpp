#include "service/search/suggester.h"

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace metafuse::service {
namespace {

/// Whether a text contains `wanted` at the beginning of a word.
///
/// in: wanted - in lower case
bool begins_a_word(std::string_view text, std::string_view wanted) {
  const std::string small = ascii_lower(text);
  for (std::size_t at = small.find(wanted); at != std::string::npos; at = small.find(wanted, at + 1))
    if (at == 0 || small[at - 1] == ' ') return true;
  return false;
}

}  // namespace

void Suggester::learn(const std::string& domain, const std::vector<std::string>& suggestions,
                      const std::string& sender) {
  if (suggestions.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const std::string& text : suggestions) {
    if (text.empty() || text.size() > 200) continue;
    const auto at = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
      return known.domain == domain && known.text == text;
    });
    if (at != known_.end()) {
      auto& senders = at->senders;
      if (senders.size() < kFewestPeople &&
          std::find(senders.begin(), senders.end(), sender) == senders.end())
        senders.push_back(sender);
      continue;
    }
    known_.push_front({domain, text, {sender}});
    if (known_.size() > capacity_) known_.pop_back();
  }
}

std::vector<std::string> Suggester::complete(std::string_view prefix,
                                             const std::function<bool(const std::string& domain)>& is_usable,
                                             std::size_t limit) const {
  const std::string wanted = ascii_lower(prefix);
  std::vector<std::string> out;
  const std::lock_guard lock(mutex_);
  for (const auto& [domain, text, senders] : known_) {
    if (senders.size() < kFewestPeople) continue;
    if (is_usable && !is_usable(domain)) continue;
    if (!begins_a_word(text, wanted)) continue;
    if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(text);
    if (out.size() >= limit) break;
  }
  return out;
}

void Suggester::set_asked(const std::string& domain, std::vector<std::string> queries) {
  if (queries.size() > capacity_) queries.resize(capacity_);
  const std::lock_guard lock(mutex_);
  asked_[domain] = std::move(queries);
}

std::vector<std::string> Suggester::asked(const std::string& domain, std::string_view prefix,
                                          std::size_t limit) const {
  const std::string wanted = ascii_lower(prefix);
  std::vector<std::string> out;
  const std::lock_guard lock(mutex_);
  const auto at = asked_.find(domain);
  if (at == asked_.end()) return out;
  for (const std::string& text : at->second)
    if (out.size() < limit && begins_a_word(text, wanted)) out.push_back(text);
  return out;
}

}  // namespace metafuse::service
