#include <algorithm>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <fmt/format.h>

#include "core/keyed_hash.h"
#include "core/text.h"
#include "core/url.h"
#include "service/api/fusing.h"
#include "service/http/json_fields.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxIdBytes = 1024;
constexpr std::size_t kMostNotices = 20;
/// Most documents for the methods below, which compare each document with every other one.
constexpr std::size_t kMaxPairwiseDocuments = 4096;
constexpr std::string_view kPairwiseMethods[] = {"copeland", "mc1", "mc2", "mc3", "mc4", "rra"};

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

/// Reads the lists of one request and numbers their documents.
class ListReader {
 public:
  ListReader(FuseRequest& request, const TrackingParameters& tracking)
      : request_(request), tracking_(tracking) {}

  Result<void> read(const JsonArray& lists) {
    if (lists.empty()) return fail(Code::usage, "lists: give at least one list");
    if (lists.size() > kMaxFuseLists)
      return fail(Code::usage,
                  fmt::format("lists: {} lists; at most {} are allowed", lists.size(), kMaxFuseLists));
    request_.lists.reserve(lists.size());
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (!lists[i].is_object())
        return fail(Code::usage, fmt::format("lists[{}] must be an object with name and results", i));
      TRY_VOID(read_list(lists[i].get_object(), i));
    }
    fill_ranks();
    return {};
  }

 private:
  Result<void> read_list(const JsonObject& object, std::size_t at) {
    JsonFields fields(object);
    CallerList list;
    list.name = fields.text("name", 200).value_or("");
    const auto weight = fields.number("weight", 0, 1e9);
    list.weight = weight.value_or(1);
    list.has_weight = weight.has_value();
    const JsonArray* results = fields.array("results");
    fields.refuse_others({"name", "weight", "results"});
    if (list.name.empty()) fields.set_mistake("give it a name");
    if (results == nullptr) fields.set_mistake("\"results\" must be a list");
    if (fields.has_failed()) return fail(Code::usage, fmt::format("lists[{}]: {}", at, fields.error().text));
    if (!names_.insert(list.name).second)
      return fail(Code::usage, fmt::format("two lists are named \"{}\"; names must be unique", list.name));
    if (results->size() > kMaxFuseResults)
      return fail(Code::usage, fmt::format("lists[{}] ({}): {} results; at most {} are allowed", at,
                                           list.name, results->size(), kMaxFuseResults));
    list.results.reserve(results->size());
    if (numbers_.empty()) numbers_.reserve(kExpectedOfFirst * results->size());
    for (std::size_t i = 0; i < results->size(); ++i)
      if (auto read = read_result((*results)[i], list); !read)
        return fail(Code::usage, fmt::format("lists[{}].results[{}]{}", at, i, read.error().text));
    request_.lists.push_back(std::move(list));
    return {};
  }

  Result<void> read_result(const Json& value, CallerList& list) {
    CallerResult result;
    std::string_view id;
    bool has_score = false;
    if (const auto* text = value.if_string()) {
      id = *text;
    } else if (const auto* members = value.if_object()) {
      TRY(id, identity_of(*members, result, has_score));
    } else {
      return fail(Code::usage, " must be an id, or an object with \"id\" or \"url\"");
    }
    if (id.empty() || id.size() > kMaxIdBytes)
      return fail(Code::usage, fmt::format(": an id must have 1 to {} bytes", kMaxIdBytes));
    list.has_scores = list.has_scores && has_score;
    add(id, result, list);
    return {};
  }

  Result<std::string_view> identity_of(const JsonObject& members, CallerResult& result, bool& has_score) {
    const Json* id = nullptr;
    const Json* url = nullptr;
    for (const auto& [name, value] : members) {
      if (name == "id") {
        id = &value;
      } else if (name == "url") {
        url = &value;
        result.members = &members;
      } else if (name == "score") {
        if (!value.is_number()) return fail(Code::usage, ": \"score\" must be a number");
        result.score = value.to_number<double>();
        has_score = true;
      } else if (name == "title" || name == "snippet") {
        if (!value.is_string())
          return fail(Code::usage, fmt::format(": \"{}\" must be a string", std::string_view(name)));
        result.members = &members;
      } else if (name == "fields") {
        result.members = &members;
      } else {
        return fail(Code::usage, fmt::format(": unknown member \"{}\"; put your own data into \"fields\"",
                                             std::string_view(name)));
      }
    }
    if (id == nullptr && url == nullptr) return fail(Code::usage, " has neither \"id\" nor \"url\"");
    if (url != nullptr && !url->is_string()) return fail(Code::usage, ": \"url\" must be a string");
    if (id != nullptr) {
      if (!id->is_string()) return fail(Code::usage, ": \"id\" must be a string");
      return std::string_view(id->get_string());
    }
    auto key = canonical_url_key(std::string_view(url->get_string()), tracking_);
    if (!key) return fail(Code::usage, ": \"url\": " + key.error().text);
    request_.keys.push_back(std::move(*key));
    return std::string_view(request_.keys.back());
  }

  void add(std::string_view id, CallerResult result, CallerList& list) {
    const auto [at, is_new] = numbers_.try_emplace(id, static_cast<std::uint32_t>(request_.documents.size()));
    result.document = at->second;
    if (is_new) {
      request_.documents.push_back(id);
      last_list_.push_back(0);
    }
    const std::size_t list_number = request_.lists.size() + 1;
    if (last_list_[result.document] == list_number) return note_twice(id, list);
    last_list_[result.document] = list_number;
    list.results.push_back(result);
  }

  void note_twice(std::string_view id, const CallerList& list) {
    if (request_.notices.size() == kMostNotices) request_.notices.emplace_back("more results occur twice");
    if (request_.notices.size() > kMostNotices) return;
    const std::uint32_t document = numbers_.at(id);
    const auto first = std::find_if(list.results.begin(), list.results.end(),
                                    [&](const CallerResult& item) { return item.document == document; });
    request_.notices.push_back(fmt::format("list {} names {} twice; its better rank, {}, counts", list.name,
                                           id, first - list.results.begin() + 1));
  }

  void fill_ranks() {
    request_.ranks.assign(request_.documents.size() * request_.lists.size(), 0);
    for (std::size_t l = 0; l < request_.lists.size(); ++l)
      for (std::size_t i = 0; i < request_.lists[l].results.size(); ++i)
        request_.ranks[request_.lists[l].results[i].document * request_.lists.size() + l] =
            static_cast<std::uint32_t>(i + 1);
  }

  /// Documents of all lists per result of the first one, about; growing a table hashes all keys again.
  static constexpr std::size_t kExpectedOfFirst = 4;

  FuseRequest& request_;
  const TrackingParameters& tracking_;
  boost::unordered_flat_map<std::string_view, std::uint32_t, KeyedHash> numbers_;
  std::vector<std::size_t> last_list_;  // by document: the last list that named it, from 1
  std::set<std::string> names_;
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

/// Checks that the lists hold what the method needs.
Result<void> check_method(FuseRequest& request) {
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
  if (compares_documents(method) && request.documents.size() > kMaxPairwiseDocuments)
    return fail(
        Code::usage,
        fmt::format("the method {} compares documents with each other and takes at most {}; there are {}",
                    method.name, kMaxPairwiseDocuments, request.documents.size()));
  return {};
}

}  // namespace

bool compares_documents(const fusion::FusionMethod& method) {
  return std::find(std::begin(kPairwiseMethods), std::end(kPairwiseMethods), method.name) !=
         std::end(kPairwiseMethods);
}

std::uint32_t FuseRequest::best_rank(std::size_t document) const {
  std::uint32_t best = 0;
  for (std::size_t l = 0; l < lists.size(); ++l)
    if (const std::uint32_t at = rank(document, l); at > 0 && (best == 0 || at < best)) best = at;
  return best;
}

Result<FuseRequest> read_fuse_request(const JsonObject& body, const TrackingParameters& tracking) {
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
  TRY_VOID(ListReader(out, tracking).read(*lists));
  if (out.method != nullptr) {
    TRY_VOID(check_method(out));
  }
  return out;
}

}  // namespace metafuse::service
