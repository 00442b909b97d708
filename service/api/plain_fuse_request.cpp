#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <simdjson.h>

#include "core/url.h"
#include "service/api/fuse_reading.h"

// Reads requests to fuse lists from simdjson's tape. Every text that this reader takes, read_fuse_request()
// must read to the same request (tests/service/api/plain_fuse_test.cpp), except that a number whose exponent
// is beyond any use, as in 1e-99999999999, is 0 here and an error there.

namespace metafuse::service {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

constexpr std::size_t kMostPlainBytes = std::size_t{256} << 10;
constexpr std::size_t kMostKeptBytes = std::size_t{32} << 10;
constexpr std::size_t kMostPlainDepth = 16;
/// Members are compared one by one to find two of the same name.
constexpr std::size_t kMostPlainMembers = 16;

simdjson::dom::parser& plain_parser() {
  static thread_local simdjson::dom::parser parser;
  return parser;
}

/// Copies a value. False if an object has many members, or two of one name.
bool copy_plain_value(element from, Json& to) {
  switch (from.type()) {
    case element_type::STRING:
      to = std::string_view(from);
      return true;
    case element_type::INT64:
      to = std::int64_t(from);
      return true;
    case element_type::UINT64:
      to = std::uint64_t(from);
      return true;
    case element_type::DOUBLE:
      to = double(from);
      return true;
    case element_type::BOOL:
      to = bool(from);
      return true;
    case element_type::NULL_VALUE:
      to = nullptr;
      return true;
    case element_type::ARRAY: {
      JsonArray& items = to.emplace_array();
      for (const element item : array(from))
        if (!copy_plain_value(item, items.emplace_back(nullptr))) return false;
      return true;
    }
    case element_type::OBJECT: {
      const object members(from);
      if (members.size() > kMostPlainMembers) return false;
      JsonObject& copy = to.emplace_object();
      for (const auto field : members) {
        const auto [at, is_new] = copy.emplace(field.key, nullptr);
        if (!is_new || !copy_plain_value(field.value, at->value())) return false;
      }
      return true;
    }
  }
  return false;
}

/// Sets a member that may occur once and must be of the target's type.
template <class Value>
bool take_once(element from, std::optional<Value>& to) {
  Value value{};
  if (to.has_value() || from.get(value) != simdjson::SUCCESS) return false;
  to = value;
  return true;
}

/// Each function returns false for what the other reader has to judge.
class PlainReader {
 public:
  PlainReader(FuseRequest& request, const TrackingParameters& tracking)
      : request_(request), tracking_(tracking), lists_(request) {}

  bool read_lists(array lists) {
    if (lists.size() == 0 || lists.size() > kMaxFuseLists) return false;
    request_.lists.reserve(lists.size());
    request_.query.lists.reserve(lists.size());
    for (const element list : lists)
      if (!read_list(list)) return false;
    lists_.finish();
    return check_fused_lists(request_).has_value();
  }

 private:
  bool read_list(element value) {
    object members;
    if (value.get(members) != simdjson::SUCCESS) return false;
    std::optional<std::string_view> name;
    std::optional<double> weight;
    std::optional<array> results;
    for (const auto [key, member] : members) {
      const bool is_taken = key == "name"      ? take_once(member, name)
                            : key == "weight"  ? take_once(member, weight)
                            : key == "results" ? take_once(member, results)
                                               : false;
      if (!is_taken) return false;
    }
    if (!name || name->empty() || name->size() > kMaxListNameBytes || lists_.has_list(*name)) return false;
    if (weight && !(*weight >= 0 && *weight <= kMaxListWeight)) return false;
    if (!results || results->size() > kMaxFuseResults) return false;
    lists_.begin({.name = std::string(*name), .weight = weight.value_or(1), .has_weight = weight.has_value()},
                 results->size());
    for (const element result : *results)
      if (!read_result(result)) return false;
    return true;
  }

  bool read_result(element value) {
    std::string_view id;
    if (value.get(id) != simdjson::SUCCESS) return read_members(value);
    request_.lists.back().has_scores = false;
    return add(id, 0, 0);
  }

  bool read_members(element value) {
    object members;
    if (value.get(members) != simdjson::SUCCESS) return false;
    std::optional<std::string_view> id;
    std::optional<double> score;
    CallerMembers own;
    for (const auto [key, member] : members) {
      const bool is_taken = key == "id"        ? take_once(member, id)
                            : key == "score"   ? take_once(member, score)
                            : key == "title"   ? take_once(member, own.title)
                            : key == "url"     ? take_once(member, own.url)
                            : key == "snippet" ? take_once(member, own.snippet)
                            : key == "fields"  ? take_fields(member, own.fields)
                                               : false;
      if (!is_taken) return false;
    }
    if (!score) request_.lists.back().has_scores = false;
    if (!id && own.url) {
      auto key = canonical_url_key(*own.url, tracking_);
      if (!key) return false;
      id = request_.keys.emplace_back(std::move(*key));
    }
    if (!id) return false;
    const bool has_own = !own.is_empty();
    if (has_own) request_.members.push_back(own);
    return add(*id, score.value_or(0), has_own ? static_cast<std::uint32_t>(request_.members.size()) : 0);
  }

  bool take_fields(element from, const Json*& to) {
    if (to != nullptr) return false;
    Json& copy = request_.fields.emplace_back(nullptr);
    to = &copy;
    return copy_plain_value(from, copy);
  }

  bool add(std::string_view id, double score, std::uint32_t members) {
    if (id.empty() || id.size() > kMaxFusedIdBytes) return false;
    lists_.add(id, score, members);
    return true;
  }

  FuseRequest& request_;
  const TrackingParameters& tracking_;
  ListCollector lists_;
};

std::optional<FuseRequest> read_plain(element root, const TrackingParameters& tracking) {
  object members;
  if (root.get(members) != simdjson::SUCCESS || members.size() > kMostPlainMembers) return std::nullopt;
  JsonObject others;
  std::optional<array> lists;
  for (const auto [key, value] : members) {
    const auto [at, is_new] = others.emplace(key, JsonArray());
    const bool is_taken =
        is_new && (key == "lists" ? take_once(value, lists) : copy_plain_value(value, at->value()));
    if (!is_taken) return std::nullopt;
  }
  auto request = read_fuse_head(others);
  if (!lists || !request || !PlainReader(*request, tracking).read_lists(*lists)) return std::nullopt;
  return std::move(*request);
}

}  // namespace

PlainFuseText::PlainFuseText(std::string_view text, const TrackingParameters& tracking) {
  if (text.empty() || text.size() > kMostPlainBytes) return;
  simdjson::dom::parser& parser = plain_parser();
  if (parser.capacity() < text.size() &&
      parser.allocate(std::max(text.size(), kMostKeptBytes), kMostPlainDepth) != simdjson::SUCCESS)
    return;
  element root;
  if (parser.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS)
    request_ = read_plain(root, tracking);
}

PlainFuseText::~PlainFuseText() {
  if (plain_parser().capacity() > kMostKeptBytes) plain_parser() = simdjson::dom::parser();
}

}  // namespace metafuse::service
