#include "fetchers/embedded/embedded_list.h"

#include "fetchers/recording/embedded_exchange.h"
#include "fetchers/recording/har_entry.h"

namespace metafuse::fetchers {
namespace {

Failure failure_of(const Error& error) {
  switch (error.code) {
    case Code::try_again:
      return Failure::timeout;
    case Code::usage:
      return Failure::not_allowed;
    case Code::no_input:
    case Code::unavailable:
      return Failure::refused;
    default:
      return Failure::bad_answer;
  }
}

HttpRequest request_of(const FetchedList& fetched, const FetchOptions& options) {
  return embedded_request(fetched.query.engine, fetched.query.text, options.depth,
                          (options.page - 1) * options.depth);
}

}  // namespace

void search_embedded(EmbeddedEngine& engine, const FetchOptions& options, const Clock& clock,
                     HarWriter* writer, FetchedList& fetched) {
  const TimePoint begin = clock.now();
  auto list =
      engine.search(fetched.query.text, options.depth, (options.page - 1) * options.depth, options.deadline);
  fetched.elapsed = clock.now() - begin;
  if (!list) {
    fetched.failure = failure_of(list.error());
    fetched.message = list.error().text;
  }
  if (writer != nullptr) {
    HttpAnswer answer = embedded_answer(list, fetched.elapsed);
    answer.failure = fetched.failure;
    writer->append(request_of(fetched, options), answer);
  }
  if (list) fetched.list = std::move(*list);
}

void replay_embedded(const HarArchive& archive, const FetchOptions& options, FetchedList& fetched) {
  const HttpRequest request = request_of(fetched, options);
  const HttpAnswer* answer = archive.find(exchange_key(request));
  if (answer == nullptr) {
    fetched.failure = Failure::not_recorded;
    fetched.message = "the recording has no " + request.record_url;
    return;
  }
  fetched.elapsed = answer->elapsed;
  fetched.failure = answer->failure;
  fetched.message = answer->message;
  if (answer->failure != Failure::none) return;
  auto list = read_embedded_answer(*answer);
  if (list) {
    fetched.list = std::move(*list);
  } else {
    fetched.failure = Failure::bad_answer;
    fetched.message = list.error().text;
  }
}

}  // namespace metafuse::fetchers
