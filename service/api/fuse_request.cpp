#include <algorithm>
#include <numeric>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "core/text.h"
#include "core/url.h"
#include "service/api/fuse_reading.h"
#include "service/http/json_fields.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostNotices = 20;
/// Most documents for a method that compares each document with every other one.
constexpr std::size_t kMaxPairwiseDocuments = 4096;

Result<const fusion::FusionMethod*> method_named(const std::string& name) {
  const fusion::FusionMethod* method = fusion::find_fusion_method(name);
  if (method == nullptr) {
    std::vector<std::string> names;
    for (const fusion::FusionMethod& row : fusion::fusion_methods())
      if (!row.is_supervised) names.push_back(row.name);
    return fail(Code::usage, fmt::format("no method \"{}\"{}", name, did_you_mean(name, names)));
  }
  if (method->is_supervised)
    return fail(Code::usage,
                fmt::format("the method {} learns from judgments and cannot be used here; name a "
                            "domain whose model fuses, or another method",
                            name));
  return method;
}

/// Reads the lists of one request.
class ListReader {
 public:
  ListReader(FuseRequest& request, const TrackingParameters& tracking)
      : request_(request), tracking_(tracking), lists_(request) {}

  Result<void> read(const JsonArray& lists) {
    if (lists.empty()) return fail(Code::usage, "lists: give at least one list");
    if (lists.size() > kMaxFuseLists)
      return fail(Code::usage,
                  fmt::format("lists: {} lists; at most {} are allowed", lists.size(), kMaxFuseLists));
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (!lists[i].is_object())
        return fail(Code::usage, fmt::format("lists[{}] must be an object with name and results", i));
      TRY_VOID(read_list(lists[i].get_object(), i));
    }
    lists_.finish();
    return {};
  }

 private:
  Result<void> read_list(const JsonObject& object, std::size_t at) {
    JsonFields fields(object);
    CallerList list;
    list.name = fields.text("name", kMaxListNameBytes).value_or("");
    const auto weight = fields.number("weight", 0, kMaxListWeight);
    list.weight = weight.value_or(1);
    list.has_weight = weight.has_value();
    const JsonArray* results = fields.array("results");
    fields.refuse_others({"name", "weight", "results"});
    if (list.name.empty()) fields.set_mistake("give it a name");
    if (results == nullptr) fields.set_mistake("\"results\" must be a list");
    if (fields.has_failed()) return fail(Code::usage, fmt::format("lists[{}]: {}", at, fields.error().text));
    if (lists_.has_list(list.name))
      return fail(Code::usage, fmt::format("two lists are named \"{}\"; names must be unique", list.name));
    if (results->size() > kMaxFuseResults)
      return fail(Code::usage, fmt::format("lists[{}] ({}): {} results; at most {} are allowed", at,
                                           list.name, results->size(), kMaxFuseResults));
    lists_.begin(std::move(list), results->size());
    for (std::size_t i = 0; i < results->size(); ++i)
      if (auto read = read_result((*results)[i]); !read)
        return fail(Code::usage, fmt::format("lists[{}].results[{}]{}", at, i, read.error().text));
    return {};
  }

  Result<void> read_result(const Json& value) {
    std::string_view id;
    std::optional<double> score;
    CallerMembers own;
    if (const auto* text = value.if_string()) {
      id = *text;
    } else if (const auto* members = value.if_object()) {
      TRY(id, identity_of(*members, own, score));
    } else {
      return fail(Code::usage, " must be an id, or an object with \"id\" or \"url\"");
    }
    if (id.empty() || id.size() > kMaxFusedIdBytes)
      return fail(Code::usage, fmt::format(": an id must have 1 to {} bytes", kMaxFusedIdBytes));
    if (!score) request_.lists.back().has_scores = false;
    if (!own.is_empty()) request_.members.push_back(own);
    lists_.add(id, score.value_or(0),
               own.is_empty() ? 0 : static_cast<std::uint32_t>(request_.members.size()));
    return {};
  }

  Result<std::string_view> identity_of(const JsonObject& members, CallerMembers& own,
                                       std::optional<double>& score) {
    const Json* id = nullptr;
    const Json* url = nullptr;
    for (const auto& [name, value] : members) {
      if (name == "id") {
        id = &value;
      } else if (name == "url") {
        url = &value;
      } else if (name == "score") {
        if (!value.is_number()) return fail(Code::usage, ": \"score\" must be a number");
        score = value.to_number<double>();
      } else if (name == "title" || name == "snippet") {
        if (!value.is_string())
          return fail(Code::usage, fmt::format(": \"{}\" must be a string", std::string_view(name)));
        (name == "title" ? own.title : own.snippet) = std::string_view(value.get_string());
      } else if (name == "fields") {
        own.fields = &value;
      } else {
        return fail(Code::usage, fmt::format(": unknown member \"{}\"; put your own data into \"fields\"",
                                             std::string_view(name)));
      }
    }
    if (id == nullptr && url == nullptr) return fail(Code::usage, " has neither \"id\" nor \"url\"");
    if (url != nullptr && !url->is_string()) return fail(Code::usage, ": \"url\" must be a string");
    if (url != nullptr) own.url = std::string_view(url->get_string());
    if (id != nullptr) {
      if (!id->is_string()) return fail(Code::usage, ": \"id\" must be a string");
      return std::string_view(id->get_string());
    }
    auto key = canonical_url_key(*own.url, tracking_);
    if (!key) return fail(Code::usage, ": \"url\": " + key.error().text);
    request_.keys.push_back(std::move(*key));
    return std::string_view(request_.keys.back());
  }

  FuseRequest& request_;
  const TrackingParameters& tracking_;
  ListCollector lists_;
};

/// Reads a method's options {"k", "normalise"}.
Result<void> read_options(const JsonObject* object, FuseRequest& out) {
  if (object == nullptr) return {};
  JsonFields fields(*object);
  out.options.k = fields.number("k", 0, 1e9);
  if (const auto name = fields.text("normalise", 20)) {
    out.options.normalise = fusion::normalisation_of(*name);
    if (!out.options.normalise)
      fields.set_mistake(
          fmt::format("unknown normalisation \"{}\"; there are {}", *name, fusion::normalisation_names()));
  }
  fields.refuse_others({"k", "normalise"});
  if (fields.has_failed()) return fail(Code::usage, "options: " + fields.error().text);
  return {};
}

}  // namespace

std::uint32_t FuseRequest::best_rank(std::size_t document) const {
  return std::ranges::min(holders_of(document)).rank;
}

bool ListCollector::has_list(std::string_view name) const {
  return std::any_of(request_.lists.begin(), request_.lists.end(),
                     [&](const CallerList& list) { return list.name == name; });
}

void ListCollector::begin(CallerList list, std::size_t results) {
  if (request_.lists.empty()) numbers_.reserve(kExpectedOfFirst * results);
  request_.lists.push_back(std::move(list));
  request_.query.lists.emplace_back().reserve(results);
}

void ListCollector::add(std::string_view id, double score, std::uint32_t members) {
  bool is_new = false;
  const std::uint32_t document = numbers_.insert(id, is_new);
  if (is_new) last_list_.push_back(0);
  const auto list_number = static_cast<std::uint32_t>(request_.lists.size());
  if (last_list_[document] == list_number) return note_twice(document);
  last_list_[document] = list_number;
  auto& entries = request_.query.lists.back();
  entries.push_back({document, score});
  if (members == 0) return;
  auto& places = request_.lists.back().members;
  places.resize(entries.size());
  places.back() = members;
}

void ListCollector::note_twice(std::uint32_t document) {
  if (request_.notices.size() == kMostNotices) request_.notices.emplace_back("more results occur twice");
  if (request_.notices.size() > kMostNotices) return;
  const auto& entries = request_.query.lists.back();
  const auto first = std::find_if(entries.begin(), entries.end(),
                                  [&](const fusion::ListEntry& entry) { return entry.document == document; });
  request_.notices.push_back(fmt::format("list {} names {} twice; its better rank, {}, counts",
                                         request_.lists.back().name, numbers_.ids()[document],
                                         first - entries.begin() + 1));
}

void ListCollector::finish() {
  const auto& lists = request_.query.lists;
  request_.query.documents = numbers_.ids();
  auto& begins = request_.holder_begins;
  begins.assign(request_.query.size() + 2, 0);  // the last one is for the sums alone
  for (const auto& list : lists)
    for (const fusion::ListEntry& entry : list) ++begins[entry.document + 2];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  request_.holders.resize(begins.back());
  // begins[d + 1] is where the next holder of document d belongs
  for (std::uint32_t l = 0; l < lists.size(); ++l)
    for (std::uint32_t i = 0; i < lists[l].size(); ++i)
      request_.holders[begins[lists[l][i].document + 1]++] = {i + 1, l};
  begins.pop_back();
}

Result<void> check_fused_lists(FuseRequest& request) {
  if (request.method == nullptr) return {};
  const fusion::FusionMethod& method = *request.method;
  const bool has_weights = std::any_of(request.lists.begin(), request.lists.end(),
                                       [](const CallerList& list) { return list.has_weight; });
  if (has_weights && !method.takes_weights)
    return fail(Code::usage, fmt::format("the method {} takes no weights; leave them out", method.name));
  if (method.needs_weights && !has_weights)
    return fail(Code::usage, fmt::format("the method {} needs a weight for its lists", method.name));
  if (request.options.normalise && !method.uses_scores)
    return fail(Code::usage,
                fmt::format("options: the method {} uses only ranks; leave normalise out", method.name));
  if (has_weights)
    for (const CallerList& list : request.lists) request.options.weights.push_back(list.weight);
  TRY_VOID(fusion::check_fusion_options(method, request.options, request.lists.size()));
  using fusion::Normalisation;
  const Normalisation normalise = request.options.normalise.value_or(method.default_normalise);
  const bool reads_scores =
      method.uses_scores && normalise != Normalisation::rank && normalise != Normalisation::borda;
  for (const CallerList& list : request.lists)
    if (reads_scores && !list.has_scores)
      return fail(Code::usage,
                  fmt::format("the method {} adds up scores, and list {} has results without one; give "
                              "every result a score, or name a method that uses ranks",
                              method.name, list.name));
  if (method.compares_documents && request.query.size() > kMaxPairwiseDocuments)
    return fail(
        Code::usage,
        fmt::format("the method {} compares documents with each other and takes at most {}; there are {}",
                    method.name, kMaxPairwiseDocuments, request.query.size()));
  return {};
}

Result<FuseRequest> read_fuse_head(const JsonObject& body) {
  JsonFields fields(body);
  FuseRequest out;
  out.domain = fields.text("domain", 64).value_or("");
  const auto method = fields.text("method", 64);
  const JsonObject* options = fields.object("options");
  out.text = fields.text("query").value_or("");
  out.slots.slots = fields.text_map("slots");
  const JsonArray* lists = fields.array("lists");
  out.limit = static_cast<std::size_t>(
      fields.integer("limit", 1, static_cast<int>(kMaxFuseLists * kMaxFuseResults)).value_or(0));
  out.is_explained = fields.flag("explain").value_or(false);
  out.min_relevance = fields.number("min_relevance", 0, 1).value_or(0);
  fields.refuse_others(
      {"domain", "method", "options", "query", "slots", "lists", "limit", "explain", "min_relevance"});
  if (out.min_relevance > 0 && out.domain.empty())
    fields.set_mistake("min_relevance needs a domain, because a method's scores have no such meaning");
  if (lists == nullptr) fields.set_mistake("\"lists\" must be a list of lists");
  if (!out.domain.empty() && (method || options != nullptr))
    fields.set_mistake("give either a domain, whose model fuses, or a method with its options");
  if (fields.has_failed()) return fields.error();
  TRY_VOID(read_options(options, out));
  if (out.domain.empty()) {
    TRY(out.method, method_named(method.value_or("rrf")));
  }
  return out;
}

Result<FuseRequest> read_fuse_request(const JsonObject& body, const TrackingParameters& tracking) {
  TRY(auto out, read_fuse_head(body));
  TRY_VOID(ListReader(out, tracking).read(body.at("lists").get_array()));
  TRY_VOID(check_fused_lists(out));
  return out;
}

}  // namespace metafuse::service
