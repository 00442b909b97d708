#include "service/requests/native_request.h"

#include <algorithm>

#include "service/requests/json_fields.h"
#include "service/requests/search_parameters.h"

namespace metafuse::service {
namespace {

void read_slots(JsonFields& fields, NativeSearch& out) {
  const JsonObject* slots = fields.object("slots");
  if (slots == nullptr) return;
  JsonFields values(*slots);
  for (const auto& member : *slots)
    if (auto text = values.text(member.key())) out.search.slots.slots[std::string(member.key())] = *text;
  if (values.has_failed()) fields.set_mistake("slots: " + values.error().text);
}

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
  if (!range.empty() && range != "day" && range != "week" && range != "month" && range != "year")
    fields.set_mistake("\"time_range\" must be day, week, month or year");
}

}  // namespace

bool NativeSearch::is_raw() const {
  return std::any_of(search.variants.begin(), search.variants.end(),
                     [](const QueryVariant& variant) { return variant.is_raw; });
}

Result<NativeSearch> read_native_search(const JsonObject& body) {
  JsonFields fields(body);
  NativeSearch out;
  out.search.text = fields.text("query").value_or("");
  out.search.domain = fields.text("domain", 64).value_or("");
  read_slots(fields, out);
  read_variants(fields, out);
  out.search.engines = fields.texts("engines", 64);
  out.limit = fields.integer("limit", 1, kMaxLimit).value_or(30);
  out.search.page = fields.integer("page", 1, 1000).value_or(1);
  out.search.results = out.first() + static_cast<std::size_t>(out.limit);
  out.search.depth = fields.integer("depth", 1, 1000).value_or(0);
  out.is_explained = fields.flag("explain").value_or(false);
  out.search.deadline_seconds = fields.number("deadline_ms", 1, 120000).value_or(0) / 1e3;
  out.search.language = fields.text("language", 40).value_or("");
  out.search.safe_search = fields.integer("safe_search", 0, 2).value_or(0);
  read_time_range(fields, out);
  read_sites(fields, out);
  fields.refuse_others({"query", "domain", "slots", "variants", "engines", "limit", "page", "depth",
                        "explain", "deadline_ms", "language", "safe_search", "time_range", "sites"});
  if (out.search.text.empty() && out.search.slots.slots.empty() && out.search.variants.empty())
    fields.set_mistake("give \"query\", \"slots\" or \"variants\"");
  if (fields.has_failed()) return fields.error();
  return out;
}

}  // namespace metafuse::service
