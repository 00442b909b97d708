#include "service/requests/search_parameters.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxQueryBytes = 4096;

const std::string* find(const Fields& fields, std::string_view name) {
  for (const auto& [key, value] : fields)
    if (key == name && !value.empty()) return &value;
  return nullptr;
}

template <class Number>
Result<Number> read_number(const Fields& fields, std::string_view name, Number low, Number high,
                           Number fallback) {
  const std::string* text = find(fields, name);
  if (text == nullptr) return fallback;
  Number value{};
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !(value >= low) || !(value <= high))
    return fail(Code::usage, std::string(name) + " must be a number from " + std::to_string(low) + " to " +
                                 std::to_string(high));
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Result<void> read_format(const Fields& fields, SearchParameters& out) {
  static constexpr std::array<std::pair<std::string_view, Format>, 4> kFormats = {
      {{"html", Format::html}, {"json", Format::json}, {"csv", Format::csv}, {"rss", Format::rss}}};
  const std::string* text = find(fields, "format");
  if (text == nullptr) return {};
  for (const auto& [name, format] : kFormats) {
    if (name != *text) continue;
    out.format = format;
    return {};
  }
  return fail(Code::usage, "format must be html, json, csv or rss");
}

Result<void> read_numbers(const Fields& fields, SearchParameters& out) {
  TRY(const auto page, read_number<int>(fields, "pageno", 1, 1000, 1));
  TRY(const auto limit, read_number<int>(fields, "limit", 1, kMaxLimit, 30));
  TRY(const auto safe, read_number<int>(fields, "safesearch", 0, 2, 0));
  TRY(const auto timeout, read_number<double>(fields, "timeout_limit", 0.0, 120.0, 0.0));
  out.search.page = page;
  out.limit = limit;
  out.search.results = out.first() + static_cast<std::size_t>(out.limit);
  out.search.safe_search = safe;
  out.search.deadline_seconds = timeout;
  return {};
}

Result<void> time_range_parameter(const Fields& fields, SearchParameters& out) {
  const std::string* text = find(fields, "time_range");
  if (text == nullptr) return {};
  if (*text != "day" && *text != "week" && *text != "month" && *text != "year")
    return fail(Code::usage, "time_range must be day, week, month or year");
  out.search.time_range = *text;
  return {};
}

/// A category that is a domain's name chooses that domain, as SearXNG's tabs choose engines.
void read_names(const Fields& fields, const Snapshot& snapshot, SearchParameters& out) {
  if (const std::string* domain = find(fields, "domain")) out.search.domain = *domain;
  if (const std::string* language = find(fields, "language"))
    out.search.language = *language == "all" || *language == "auto" ? "" : *language;
  if (const std::string* categories = find(fields, "categories"); categories != nullptr)
    for (const std::string& name : split(*categories))
      if (out.search.domain.empty() && snapshot.domains.contains(name)) out.search.domain = name;
  if (const std::string* engines = find(fields, "engines"))
    for (std::string& name : split(*engines))
      if (std::find(snapshot.engines.names.begin(), snapshot.engines.names.end(), name) !=
          snapshot.engines.names.end())
        out.search.engines.push_back(std::move(name));
}

}  // namespace

bool has_known_format(const Fields& fields) {
  SearchParameters ignored;
  return read_format(fields, ignored).has_value();
}

Result<SearchParameters> read_parameters(const Fields& fields, const Snapshot& snapshot) {
  SearchParameters out;
  TRY_VOID(read_format(fields, out));
  TRY_VOID(read_numbers(fields, out));
  TRY_VOID(time_range_parameter(fields, out));
  read_names(fields, snapshot, out);
  if (const std::string* q = find(fields, "q")) out.search.text = *q;
  for (const auto& [key, value] : fields)
    if (key.starts_with("slot.") && !value.empty()) out.search.slots.slots[key.substr(5)] = value;
  const std::string* explain = find(fields, "explain");
  out.wants_explanation = explain != nullptr && *explain != "0" && *explain != "false";
  if (out.search.text.empty() && out.search.slots.slots.empty())
    return fail(Code::usage, "no query; give q, or slot.NAME for each slot of the domain");
  if (out.search.text.size() > kMaxQueryBytes) return fail(Code::usage, "q is longer than 4096 bytes");
  return out;
}

}  // namespace metafuse::service
