#include "service/api/fusing.h"

#include <algorithm>
#include <cmath>

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "core/json_writer.h"
#include "core/keyed_hash.h"
#include "core/put_text.h"
#include "core/text.h"
#include "fusion/unsupervised/fusion_method.h"
#include "service/api/fuse_reading.h"
#include "service/search/list_fusion.h"
#include "service/search/reasons.h"
#include "service/search/relevance_cut.h"
#include "service/search/search_pipeline.h"
#include "service/search/search_plan.h"

namespace metafuse::service {
namespace {

/// One result of the answer, fused by a method or by a model.
struct FusedPlace {
  std::uint32_t document = 0;
  double score = 0;
  double relative_score = 0;
};

/// The text of an answer, or of the answers to a batch, and how long it may become.
struct FusedAnswer {
  JsonWriter out;
  std::size_t most_bytes;
};

constexpr std::size_t kMostExpectedBytes = std::size_t{64} << 10;

std::size_t most_answer_bytes(std::size_t request_bytes) {
  return kMaxFuseAnswerBytes + kMaxFuseAnswerFactor * request_bytes;
}

/// Writes the results of one request.
class FusedWriter {
 public:
  FusedWriter(const FuseRequest& request, FusedAnswer& answer)
      : request_(request), out_(answer.out), most_bytes_(answer.most_bytes) {
    std::vector<std::size_t> ends;
    JsonWriter pieces(kPieceBytes * request.lists.size());
    for (const CallerList& list : request.lists) {
      pieces.open_object();
      pieces.key("name").text(list.name);
      pieces.key("rank");
      ends.push_back(pieces.size());
    }
    pieces_ = pieces.take();
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      places_.push_back(std::string_view(pieces_).substr(begin, end - begin));
      longest_piece_ = std::max(longest_piece_, end - begin);
      begin = end;
    }
  }

  FusedWriter(const FusedWriter&) = delete;
  FusedWriter& operator=(const FusedWriter&) = delete;

  /// Whether the answer has become longer than it may.
  bool is_full() const { return out_.size() > most_bytes_; }

  /// Begins a result and writes all its members but the explanation; the caller ends it with close_object().
  /// Each member that callers sent is returned unchanged, from the best-ranking list that has it.
  void open(const FusedPlace& place, std::size_t rank) {
    const auto holders = request_.holders_of(place.document);
    const CallerMembers own = own_members(holders);
    out_.open_object();
    out_.key("rank").whole(rank);
    out_.key("id").text(request_.query.documents[place.document]);
    if (own.url) out_.key("url").text(*own.url);
    write_scores(place);
    write_lists(holders);
    if (own.title) out_.key("title").text(*own.title);
    if (own.snippet) out_.key("snippet").text(*own.snippet);
    if (own.fields != nullptr) out_.key("fields").json(*own.fields);
  }

 private:
  static constexpr std::size_t kPieceBytes = 64;

  /// Results of equal score follow each other, and finding the digits of a number takes longer than all else.
  void write_scores(const FusedPlace& place) {
    const bool is_same = scores_end_ > 0 && place.score == last_.score &&
                         place.relative_score == last_.relative_score &&
                         std::signbit(place.score) == std::signbit(last_.score);
    if (is_same) return out_.members_again(scores_begin_, scores_end_);
    scores_begin_ = out_.size();
    out_.key("score").number(place.score);
    out_.key("relative_score").number(place.relative_score);
    scores_end_ = out_.size();
    last_ = place;
  }

  /// Requires at least one holder.
  void write_lists(std::span<const Holder> holders) {
    out_.key("lists").value_by(2 + holders.size() * (longest_piece_ + kMostWholeDigits + 2), [&](char* at) {
      *at++ = '[';
      for (const auto& [rank, list] : holders) {
        at = put_whole(put_text(at, places_[list]), rank);
        *at++ = '}';
        *at++ = ',';
      }
      at[-1] = ']';
      return at;
    });
  }

  /// Each member from the best-ranking list that has it; at equal ranks from the first of them.
  CallerMembers own_members(std::span<const Holder> holders) {
    CallerMembers own;
    if (request_.members.empty()) return own;
    by_rank_.assign(holders.begin(), holders.end());
    std::sort(by_rank_.begin(), by_rank_.end());
    for (const auto& [at, list] : by_rank_) {
      const CallerMembers* const members = request_.members_of(list, at);
      if (members == nullptr) continue;
      if (!own.url) own.url = members->url;
      if (!own.title) own.title = members->title;
      if (!own.snippet) own.snippet = members->snippet;
      if (own.fields == nullptr) own.fields = members->fields;
    }
    return own;
  }

  const FuseRequest& request_;
  JsonWriter& out_;
  std::size_t most_bytes_;
  std::string pieces_;                    ///< of JSON
  std::vector<std::string_view> places_;  ///< by list: its piece of a result's placements, up to the rank
  std::size_t longest_piece_ = 0;
  std::vector<Holder> by_rank_;
  FusedPlace last_;                                ///< whose scores stand between the next two
  std::size_t scores_begin_ = 0, scores_end_ = 0;  ///< in the answer; 0 if there are none yet
};

/// What each list adds to each score, [list][document]; empty if the method is not a sum over lists.
std::vector<std::vector<double>> shares_of(const FuseRequest& request) {
  const fusion::QueryLists& query = request.query;
  if (!request.method->is_sum) return {};
  std::vector<std::vector<double>> shares;
  for (std::size_t l = 0; l < query.lists.size(); ++l) {
    fusion::QueryLists alone{query.documents,
                             std::vector<std::vector<fusion::ListEntry>>(query.lists.size())};
    alone.lists[l] = query.lists[l];
    shares.push_back(fuse_scores(*request.method, alone, request.options));
  }
  return shares;
}

JsonArray shares_json(const FuseRequest& request, const std::vector<std::vector<double>>& shares,
                      std::uint32_t document) {
  JsonArray out;
  const auto holders = request.holders_of(document);
  auto holder = holders.begin();
  for (std::size_t l = 0; l < request.lists.size(); ++l) {
    const bool is_held = holder != holders.end() && holder->list == l;
    Reason reason{request.lists[l].name, is_held ? static_cast<int>((holder++)->rank) : 0, {}};
    if (!shares.empty()) reason.weight = shares[l][document];
    if (reason.rank > 0 || reason.weight.value_or(0.0) != 0) out.push_back(reason_json(reason));
  }
  return out;
}

std::size_t shown_count(const FuseRequest& request) {
  return request.limit == 0 ? request.query.size() : std::min(request.limit, request.query.size());
}

void write_notices(const FuseRequest& request, JsonWriter& out) {
  if (request.notices.empty()) return;
  out.key("notices").open_array();
  for (const std::string& text : request.notices) out.text(text);
  out.close_array();
}

JsonObject options_json(const FuseRequest& request) {
  JsonObject out;
  if (!request.method->parameter.empty()) out["k"] = request.options.k.value_or(request.method->default_k);
  if (request.method->uses_scores)
    out["normalise"] = fusion::name_of(request.options.normalise.value_or(request.method->default_normalise));
  return out;
}

AccessRefusal too_long() {
  return refusal(422, "the answer would become too long; give a smaller \"limit\" or fewer lists");
}

OrRefusal<void> fuse_by_method(const FuseRequest& request, FusedAnswer& answer) {
  const auto scores = fuse_scores(*request.method, request.query, request.options);
  const auto order = callers_order(request.query, scores);
  const auto shares = request.is_explained ? shares_of(request) : std::vector<std::vector<double>>();
  const double high = order.empty() ? 0 : scores[order.front()];
  const double low = order.empty() ? 0 : scores[order.back()];
  JsonWriter& out = answer.out;
  FusedWriter writer(request, answer);
  out.open_object();
  out.key("results").open_array();
  for (std::size_t i = 0; i < shown_count(request); ++i) {
    if (writer.is_full()) return too_long();
    const double score = scores[order[i]];
    const double relative = high > low ? (score - low) / (high - low) : 1.0;
    writer.open({order[i], score, relative}, i + 1);
    if (request.is_explained) out.key("explanation").json(shares_json(request, shares, order[i]));
    out.close_object();
  }
  out.close_array();
  out.key("total").whole(order.size());
  out.key("fusion").json(JsonObject{{"method", request.method->name}, {"options", options_json(request)}});
  write_notices(request, out);
  out.close_object();
  return {};
}

/// The domain of a request, if its key may use it.
OrRefusal<const LoadedDomain*> domain_of(const FuseRequest& request, const FusingPlace& place) {
  if (place.snapshot != nullptr) return domain_for(*place.snapshot, request.domain, place.key);
  return refusal(400,
                 fmt::format("no domain \"{}\": there is no configuration; give --config", request.domain));
}

/// errors: usage: the domain lacks a list or a slot of the request, or its model cannot do what it asks
Result<void> check_domain(const FuseRequest& request, const LoadedDomain& domain) {
  std::vector<std::string> known;
  for (const fusion::Feature& feature : features_of(domain.domain)) known.push_back(feature.name);
  for (const CallerList& list : request.lists) {
    if (std::find(known.begin(), known.end(), list.name) == known.end())
      return fail(Code::usage, fmt::format("the domain {} has no list \"{}\"{}", request.domain, list.name,
                                           did_you_mean(list.name, known)));
    if (list.has_weight)
      return fail(
          Code::usage,
          fmt::format("lists: remove the weight of {}; the domain's model weights its lists", list.name));
  }
  TRY_VOID(check_min_relevance(domain, request.min_relevance));
  for (const auto& [slot, value] : request.slots.slots)
    if (domain.domain.find_slot(slot) == nullptr)
      return fail(Code::usage, fmt::format("the domain {} has no slot \"{}\"", request.domain, slot));
  return {};
}

/// The caller's lists as if engines had delivered them, with the documents' identities as keys.
std::vector<fetchers::FetchedList> as_fetched(const FuseRequest& request) {
  std::vector<fetchers::FetchedList> out;
  for (std::size_t l = 0; l < request.lists.size(); ++l) {
    const CallerList& list = request.lists[l];
    fetchers::FetchedList& fetched = out.emplace_back();
    const std::size_t at = list.name.find('@');
    fetched.query.template_id = list.name.substr(0, at);
    if (at != std::string::npos) fetched.query.engine = list.name.substr(at + 1);
    fetched.query.text = request.text;
    for (const fusion::ListEntry& entry : request.query.lists[l]) {
      Hit& hit = fetched.list.hits.emplace_back();
      hit.key = request.query.documents[entry.document];
      hit.url = hit.key;
    }
  }
  return out;
}

/// The document number of each result.
std::vector<std::uint32_t> numbers_of(const FuseRequest& request, const SearchAnswer& answer) {
  TextViewMap<std::uint32_t> numbers;
  for (std::size_t i = 0; i < request.query.size(); ++i)
    numbers.emplace(request.query.documents[i], static_cast<std::uint32_t>(i));
  std::vector<std::uint32_t> out;
  for (const FusedResult& result : answer.results) out.push_back(numbers.at(result.hit.key));
  return out;
}

/// Puts results of equal score into the callers' order. Results that every list ranks below the domain's
/// depth stay behind the rest.
void order_equal_scores(const FuseRequest& request, int depth, SearchAnswer& answer) {
  const auto numbers = numbers_of(request, answer);
  struct Keyed {
    std::uint32_t window, best, document;
    FusedResult result;
  };
  std::vector<Keyed> keyed;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint32_t best = request.best_rank(numbers[i]);
    keyed.push_back(
        {(best - 1) / static_cast<std::uint32_t>(depth), best, numbers[i], std::move(answer.results[i])});
  }
  std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
    if (a.window != b.window) return a.window < b.window;
    if (a.result.score != b.result.score) return a.result.score > b.result.score;
    return a.best != b.best ? a.best < b.best : a.document < b.document;
  });
  for (std::size_t i = 0; i < keyed.size(); ++i) answer.results[i] = std::move(keyed[i].result);
}

OrRefusal<void> fuse_for_domain(const FuseRequest& request, const LoadedDomain* domain,
                                const FusingPlace& place, FusedAnswer& text) {
  auto made = std::make_shared<SearchAnswer>();
  made->domain = domain->domain.name;
  made->slots = request.slots;
  made->query = query_text(request.text, request.slots);
  fuse_lists(*domain, as_fetched(request), *made);
  order_equal_scores(request, domain->domain.depth, *made);
  if (request.min_relevance > 0) made->cut = RelevanceCut{request.min_relevance};
  SharedAnswer answer = std::move(made);
  const std::size_t limit = shown_count(request);
  ShownResults shown;
  if (place.serve)
    answer = place.serve(std::move(answer), limit, shown);
  else
    shown = shown_results(*(answer = with_min_relevance(std::move(answer), request.min_relevance)), 1,
                          static_cast<int>(limit), {});
  const auto numbers = numbers_of(request, *answer);
  JsonWriter& out = text.out;
  FusedWriter writer(request, text);
  out.open_object();
  out.key("results").open_array();
  std::size_t rank = 0;
  for (const std::size_t at : shown.positions) {
    if (writer.is_full()) return too_long();
    const FusedResult& result = answer->results[at];
    writer.open({numbers[at], result.score, result.relative_score}, ++rank);
    if (result.relevance) out.key("relevance").number(*result.relevance);
    if (result.moved_from > 0) {
      out.key("moved_from").whole(result.moved_from);
      out.key("online_score").number(result.online_score);
    }
    if (request.is_explained) out.key("explanation").json(explanation_json(*domain, *answer, result));
    out.close_object();
  }
  out.close_array();
  out.key("total").whole(answer->results.size() - answer->hidden);
  if (answer->cut) {
    out.key("no_good_answer").json(Json(answer->has_no_good_answer()));
    out.key("below_min_relevance").whole(answer->cut->left_out);
  }
  out.key("fusion").json(fusion_json(*answer));
  write_notices(request, out);
  if (!shown.search_id.empty()) out.key("search_id").text(shown.search_id);
  out.close_object();
  return {};
}

/// What a request costs in tokens. Measured: 64,000 results take about 0.1 s, 1,000 documents that a method
/// compares with each other 0.24 s, and 100,000 explained cells 0.1 s.
double price_of(const FuseRequest& request) {
  constexpr double kLeast = 0.1;
  double tokens = kLeast;
  for (const auto& list : request.query.lists) tokens += static_cast<double>(list.size()) / 16'000;
  const auto documents = static_cast<double>(request.query.size());
  if (request.method != nullptr && request.method->compares_documents) tokens += documents * documents / 1e5;
  if (request.is_explained)
    tokens += static_cast<double>(shown_count(request) * request.lists.size()) / 25'000;
  return tokens;
}

const TrackingParameters& tracking_of(const FusingPlace& place) {
  return place.snapshot == nullptr ? default_tracking_parameters() : place.snapshot->config.tracking;
}

OrRefusal<void> try_to_fuse(const FuseRequest& request, const FusingPlace& place, FusedAnswer& answer) {
  const LoadedDomain* domain = nullptr;
  if (request.method == nullptr) {
    TRY(domain, domain_of(request, place));
    if (const auto fits = check_domain(request, *domain); !fits) return refusal(400, fits.error().text);
  }
  const std::size_t cells = shown_count(request) * request.lists.size();
  if (request.is_explained && cells > kMaxExplainedCells)
    return refusal(422, fmt::format("explain: {} results of {} lists; at most {} of results times lists are "
                                    "explained, so give a smaller \"limit\"",
                                    shown_count(request), request.lists.size(), kMaxExplainedCells));
  if (place.admit)
    if (auto refused = place.admit(price_of(request))) return std::move(*refused);
  return domain == nullptr ? fuse_by_method(request, answer)
                           : fuse_for_domain(request, domain, place, answer);
}

/// Writes the answer to a request, or nothing if it is refused.
OrRefusal<void> fuse_one(const JsonObject& body, const FusingPlace& place, FusedAnswer& answer) {
  const auto request = read_fuse_request(body, tracking_of(place));
  if (!request) return refusal(400, request.error().text);
  const JsonWriter::Place begin = answer.out.place();
  auto done = try_to_fuse(*request, place, answer);
  if (!done) answer.out.return_to(begin);
  return done;
}

JsonObject refused_json(const AccessRefusal& refused) {
  return JsonObject{{"status", refused.status}, {"detail", refused.text}};
}

OrRefusal<void> fuse_batch(const JsonObject& body, const FusingPlace& place, FusedAnswer& answer) {
  const Json& requests = body.at("requests");
  if (body.size() > 1)
    return refusal(400, "\"requests\" must be the only member; move the others into the requests");
  if (!requests.is_array()) return refusal(400, "\"requests\" must be a list of requests");
  if (requests.get_array().size() > kMaxFuseRequests)
    return refusal(400, fmt::format("more than {} requests in a batch", kMaxFuseRequests));
  answer.out.open_object();
  answer.out.key("answers").open_array();
  for (const Json& item : requests.get_array()) {
    const auto done = item.is_object() ? fuse_one(item.get_object(), place, answer)
                                       : OrRefusal<void>(refusal(400, "a request must be a JSON object"));
    if (!done) answer.out.json(refused_json(done.error()));
  }
  answer.out.close_array();
  answer.out.close_object();
  return {};
}

/// About the bytes of an answer: rather too many, so that the text need not move.
std::size_t expected_bytes(const FuseRequest& request) {
  constexpr std::size_t kPerResult = 100;
  constexpr std::size_t kPerPlacement = 24;
  std::size_t bytes = 256;
  for (const std::string_view id : request.query.documents) bytes += id.size() + kPerResult;
  for (std::size_t l = 0; l < request.lists.size(); ++l)
    bytes += request.query.lists[l].size() * (request.lists[l].name.size() + kPerPlacement);
  return std::min(bytes, kMostExpectedBytes);
}

/// in: most_bytes - longest answer
OrRefusal<std::string> fused_text(const FuseRequest& request, const FusingPlace& place,
                                  std::size_t most_bytes) {
  FusedAnswer answer{JsonWriter(expected_bytes(request)), most_bytes};
  if (auto done = try_to_fuse(request, place, answer); !done) return std::move(done).error();
  return answer.out.take();
}

/// in: first_line - of the text in the caller's body, for errors
OrRefusal<std::string> fused_text(std::string_view text, const FusingPlace& place, std::size_t most_bytes,
                                  std::size_t first_line) {
  if (text.size() > kMaxFuseBytes) return refusal(400, "a request may have at most 4 MiB");
  if (const PlainFuseText plain(text, tracking_of(place)); plain.request() != nullptr)
    return fused_text(*plain.request(), place, most_bytes);
  boost::json::monotonic_resource memory(2 * text.size() + 1024);
  const auto document =
      parse_json(text, "body", Code::usage, {.max_depth = 32, .first_line = first_line, .memory = &memory});
  if (!document) return refusal(400, document.error().text);
  const JsonObject* body = document->if_object();
  if (body == nullptr) return refusal(400, "the body must be a JSON object");
  FusedAnswer answer{JsonWriter(std::min(4 * text.size(), kMostExpectedBytes)), most_bytes};
  if (auto done =
          body->contains("requests") ? fuse_batch(*body, place, answer) : fuse_one(*body, place, answer);
      !done)
    return std::move(done).error();
  return answer.out.take();
}

constexpr std::size_t kMostSmallResults = 640;

bool is_small(const FuseRequest& request) {
  if (request.method == nullptr || !request.method->is_sum || request.is_explained) return false;
  std::size_t results = 0;
  for (const auto& list : request.query.lists) results += list.size();
  return results <= kMostSmallResults;
}

}  // namespace

std::optional<std::string> small_fuse_text(std::string_view text, const FusingPlace& place) {
  const PlainFuseText plain(text, tracking_of(place));
  if (plain.request() == nullptr || !is_small(*plain.request())) return std::nullopt;
  auto answer = fused_text(*plain.request(), place, most_answer_bytes(text.size()));
  if (!answer) return std::nullopt;
  return std::move(*answer);
}

OrRefusal<std::string> fuse_text(std::string_view text, const FusingPlace& place) {
  return fused_text(text, place, most_answer_bytes(text.size()), 1);
}

std::string fuse_lines(std::string_view text, const FusingPlace& place,
                       const std::function<void()>& on_refusal) {
  const std::size_t most = most_answer_bytes(text.size());
  std::string out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_until(text, '\n');
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto answer = fused_text(line, place, most - std::min(most, out.size()), number);
    if (!answer && on_refusal) on_refusal();
    out += (answer ? *answer : to_text(refused_json(answer.error()))) + '\n';
  }
  return out;
}

}  // namespace metafuse::service
