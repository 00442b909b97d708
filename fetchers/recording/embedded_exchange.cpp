#include "fetchers/recording/embedded_exchange.h"

#include "core/json.h"
#include "core/url_text.h"
#include "fetchers/recording/json_members.h"

namespace metafuse::fetchers {

HttpRequest embedded_request(std::string_view engine, std::string_view query, int depth, int offset) {
  HttpRequest request;
  request.url = "metafuse://" + percent_encoded(engine) + "/?query=" + percent_encoded(query) +
                "&depth=" + std::to_string(depth) + "&offset=" + std::to_string(offset);
  request.record_url = request.url;
  return request;
}

HttpAnswer embedded_answer(const Result<RankedList>& list, Duration elapsed) {
  HttpAnswer answer;
  answer.elapsed = elapsed;
  answer.status = 200;
  answer.headers = {{"content-type", "application/json"}};
  if (!list) {
    answer.failure = list.error().code == Code::try_again ? Failure::timeout : Failure::bad_answer;
    answer.message = list.error().text;
    return answer;
  }
  JsonArray hits;
  for (const Hit& hit : list->hits) {
    JsonObject object{{"url", hit.url}, {"title", hit.title}, {"snippet", hit.snippet}};
    if (!hit.published.empty()) object["published"] = hit.published;
    if (hit.score) object["score"] = *hit.score;
    hits.push_back(std::move(object));
  }
  answer.body = to_text(JsonObject{{"hits", std::move(hits)}});
  return answer;
}

Result<RankedList> read_embedded_answer(const HttpAnswer& answer) {
  if (answer.failure != Failure::none)
    return fail(answer.failure == Failure::timeout ? Code::try_again : Code::bad_data, answer.message);
  TRY(auto json, parse_json(answer.body, "recording"));
  const JsonObject* root = json.if_object();
  const Json* hits = root == nullptr ? nullptr : root->if_contains("hits");
  if (hits == nullptr || !hits->is_array()) return fail(Code::bad_data, "a recording without hits");
  RankedList list;
  for (const Json& item : hits->as_array()) {
    const JsonObject* object = item.if_object();
    if (object == nullptr) continue;
    Hit hit{text_in(*object, "url"),
            text_in(*object, "title"),
            text_in(*object, "snippet"),
            text_in(*object, "published"),
            {},
            {}};
    if (object->contains("score")) hit.score = number_in(*object, "score");
    list.hits.push_back(std::move(hit));
  }
  return list;
}

}  // namespace metafuse::fetchers
