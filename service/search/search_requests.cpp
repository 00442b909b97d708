#include "service/search/search_requests.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "core/text.h"
#include "service/http/json_fields.h"
#include "service/search/bangs.h"
#include "templates/typed_query.h"

namespace metafuse::service {
namespace {

const std::string* given(const Fields& fields, std::string_view name) {
  for (const auto& [key, value] : fields)
    if (key == name && !value.empty()) return &value;
  return nullptr;
}

bool is_set(const Fields& fields, std::string_view name) {
  const std::string* text = given(fields, name);
  return text != nullptr && *text != "0" && !equal_ignoring_case(*text, "false");
}

template <class Number>
Result<Number> read_number(const Fields& fields, std::string_view name, Number low, Number high,
                           Number fallback) {
  const std::string* text = given(fields, name);
  if (text == nullptr) return fallback;
  Number value{};
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !(value >= low) || !(value <= high))
    return fail(Code::usage, fmt::format("{} must be a number from {} to {}", name, low, high));
  return value;
}

Result<Format> read_format(const Fields& fields) {
  static constexpr std::array<std::pair<std::string_view, Format>, 4> kFormats = {
      {{"html", Format::html}, {"json", Format::json}, {"csv", Format::csv}, {"rss", Format::rss}}};
  const std::string* text = given(fields, "format");
  if (text == nullptr) return Format::html;
  for (const auto& [name, format] : kFormats)
    if (name == *text) return format;
  return fail(Code::usage, "format must be html, json, csv or rss");
}

Result<void> read_numbers(const Fields& fields, const Snapshot& snapshot, SearchParameters& out) {
  TRY(const int page, read_number<int>(fields, "pageno", 1, 1000, 1));
  TRY(out.limit, read_number<int>(fields, "limit", 1, kMaxLimit, 30));
  TRY(out.search.safe_search, read_number<int>(fields, "safesearch", 0, 2, snapshot.engines.safe_search));
  TRY(out.search.deadline_seconds, read_number<double>(fields, "timeout_limit", 0.0, 120.0, 0.0));
  TRY(out.search.min_relevance, read_number<double>(fields, "min_relevance", 0.0, 1.0, 0.0));
  out.search.set_page(page, out.limit);
  return {};
}

Result<void> time_range_parameter(const Fields& fields, SearchParameters& out) {
  const std::string* text = given(fields, "time_range");
  if (text == nullptr || *text == "None") return {};  // SearXNG's clients in Python send their None
  if (days_of_time_range(*text) == 0) return fail(Code::usage, "time_range must be day, week, month or year");
  out.search.time_range = *text;
  return {};
}

/// The language; empty for "all" and "auto", which mean any.
std::string without_any(std::string language) {
  const std::string word = ascii_lower(language);
  return word == "all" || word == "auto" ? std::string() : std::move(language);
}

/// Reads the parameters that name domain, language and engines. A category with a domain's name chooses that
/// domain, as SearXNG's tabs choose engines.
void read_names(const Fields& fields, const Snapshot& snapshot, const KeyConfig* key, SearchParameters& out) {
  if (const std::string* domain = given(fields, "domain")) out.search.domain = *domain;
  const std::string* language = given(fields, "language");
  out.search.language = language == nullptr ? snapshot.engines.language : without_any(*language);
  if (const std::string* categories = given(fields, "categories"); categories != nullptr)
    for (const std::string& name : split(*categories, ','))
      if (out.search.domain.empty() && !name.empty() && snapshot.find_domain_for(key, name) != nullptr)
        out.search.domain = name;
  if (const std::string* engines = given(fields, "engines"))
    for (std::string& name : split(*engines, ','))
      if (std::find(snapshot.engines.names.begin(), snapshot.engines.names.end(), name) !=
          snapshot.engines.names.end())
        out.search.engines.push_back(std::move(name));
  if (const std::string* lists = given(fields, "lists")) out.search.lists = split(*lists, ',');
}

/// Reads a plain query and the marks in it. What the request's other parameters name is kept.
void read_query(const std::string& q, const Snapshot& snapshot, const KeyConfig* key,
                SearchParameters& parameters) {
  SearchRequest& out = parameters.search;
  out.text = q;
  if (!snapshot.config.reads_bangs) return;
  ReadBangs read = read_bangs(q, snapshot, out.domain, key);
  if (read.text == q) return;
  out.text = read.text;
  Fields& instead = parameters.instead_of_marks;
  instead.emplace_back("q", std::move(read.text));
  if (out.domain.empty() && !read.domain.empty())
    instead.emplace_back("domain", out.domain = std::move(read.domain));
  if (out.engines.empty() && !read.engines.empty()) {
    out.engines = std::move(read.engines);
    instead.emplace_back("engines", fmt::format("{}", fmt::join(out.engines, ",")));
  }
  if (!read.language.empty()) instead.emplace_back("language", out.language = std::move(read.language));
}

}  // namespace

int days_of_time_range(std::string_view range) {
  static constexpr std::pair<std::string_view, int> kRanges[] = {
      {"day", 1}, {"week", 7}, {"month", 31}, {"year", 366}};
  for (const auto& [name, days] : kRanges)
    if (name == range) return days;
  return 0;
}

void read_min_relevance(JsonFields& fields, SearchRequest& out) {
  out.min_relevance = fields.number("min_relevance", 0, 1).value_or(0);
}

void read_queries(JsonFields& fields, const JsonObject& body, SearchRequest& out) {
  const Json* query = body.if_contains("query");
  const bool is_list = query != nullptr && query->is_array();
  std::vector<std::string> queries;
  if (!is_list) queries.push_back(fields.text("query").value_or(""));
  for (std::string& text :
       fields.texts(is_list ? "query" : "queries", kMostQueriesAtOnce, JsonFields::kUsualBytes))
    queries.push_back(std::move(text));
  std::erase(queries, "");
  for (std::string& text : queries) {
    if (out.text.empty())
      out.text = std::move(text);
    else if (text != out.text &&
             std::find(out.alternatives.begin(), out.alternatives.end(), text) == out.alternatives.end())
      out.alternatives.push_back(std::move(text));
  }
}

BaseQuery slots_in(const Fields& fields) {
  BaseQuery out;
  for (const auto& [name, value] : fields)
    if (name.starts_with("slot.") && !value.empty()) out.slots[name.substr(5)] = value;
  return out;
}

bool has_known_format(const Fields& fields) {
  return read_format(fields).has_value();
}

Result<SearchParameters> read_parameters(const Fields& fields, const Snapshot& snapshot,
                                         const KeyConfig* key) {
  SearchParameters out;
  TRY(out.format, read_format(fields));
  TRY_VOID(read_numbers(fields, snapshot, out));
  TRY_VOID(time_range_parameter(fields, out));
  read_names(fields, snapshot, key, out);
  if (const std::string* q = given(fields, "q")) {
    if (q->size() > templates::kMaxTypedBytes) return fail(Code::usage, "q is longer than 4096 bytes");
    read_query(*q, snapshot, key, out);
  }
  out.search.slots = slots_in(fields);
  out.wants_explanation = is_set(fields, "explain");
  out.is_verbatim = is_set(fields, "verbatim");
  out.search.asks_all = is_set(fields, "all_lists");
  if (const std::string* by = given(fields, "fusion")) {
    if (*by != "rrf" && *by != "model") return fail(Code::usage, "fusion must be model or rrf");
    out.is_by_rrf = *by == "rrf";
  }
  if (out.search.text.empty() && out.search.slots.slots.empty())
    return fail(Code::usage, "no query; give q, or slot.NAME for each slot of the domain");
  return out;
}

namespace {

void read_variants(JsonFields& fields, NativeSearch& out) {
  const JsonArray* variants = fields.array("variants");
  if (variants == nullptr) return;
  for (const Json& item : *variants) {
    if (!item.is_object()) return fields.set_mistake("variants: each is {\"template\", \"text\"}");
    JsonFields variant(item.as_object());
    QueryVariant read;
    read.template_id = variant.text("template").value_or("");
    read.text = variant.text("text").value_or("");
    read.is_raw = variant.flag("raw").value_or(false);
    variant.refuse_others({"template", "text", "raw"});
    if (read.template_id.empty() || read.text.empty())
      variant.set_mistake("each variant has a template and a text");
    if (variant.has_failed()) return fields.set_mistake("variants: " + variant.error().text);
    out.search.variants.push_back(std::move(read));
  }
}

void read_sites(JsonFields& fields, NativeSearch& out) {
  const JsonObject* sites = fields.object("sites");
  if (sites == nullptr) return;
  JsonFields lists(*sites);
  out.sites.raised = lists.texts("raise", kMaxSites);
  out.sites.lowered = lists.texts("lower", kMaxSites);
  out.sites.blocked = lists.texts("block", kMaxSites);
  lists.refuse_others({"raise", "lower", "block"});
  if (lists.has_failed()) fields.set_mistake("sites: " + lists.error().text);
}

void read_time_range(JsonFields& fields, NativeSearch& out) {
  out.search.time_range = fields.text("time_range").value_or("");
  const std::string& range = out.search.time_range;
  if (!range.empty() && days_of_time_range(range) == 0)
    fields.set_mistake("\"time_range\" must be day, week, month or year");
}

}  // namespace

Result<NativeSearch> read_native_search(const JsonObject& body) {
  JsonFields fields(body);
  NativeSearch out;
  out.search.text = fields.text("query").value_or("");
  out.search.domain = fields.text("domain", 64).value_or("");
  out.search.slots.slots = fields.text_map("slots");
  read_variants(fields, out);
  out.search.engines = fields.texts("engines", 64);
  out.limit = fields.integer("limit", 1, kMaxLimit).value_or(30);
  out.search.set_page(fields.integer("page", 1, 1000).value_or(1), out.limit);
  out.search.depth = fields.integer("depth", 1, 1000).value_or(0);
  out.is_explained = fields.flag("explain").value_or(false);
  out.is_verbatim = fields.flag("verbatim").value_or(false);
  out.search.asks_all = fields.flag("all_lists").value_or(false);
  out.search.deadline_seconds = fields.number("deadline_ms", 1, 120000).value_or(0) / 1e3;
  out.search.language = without_any(fields.text("language", 40).value_or(""));
  out.search.safe_search = fields.integer("safe_search", 0, 2).value_or(0);
  read_min_relevance(fields, out.search);
  read_time_range(fields, out);
  read_sites(fields, out);
  fields.refuse_others({"query", "domain", "slots", "variants", "engines", "limit", "page", "depth",
                        "explain", "verbatim", "deadline_ms", "language", "safe_search", "time_range",
                        "sites", "min_relevance", "all_lists"});
  if (out.search.text.empty() && out.search.slots.slots.empty() && out.search.variants.empty())
    fields.set_mistake("give \"query\", \"slots\" or \"variants\"");
  if (fields.has_failed()) return fields.error();
  return out;
}

}  // namespace metafuse::service
