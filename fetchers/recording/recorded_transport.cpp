#include "fetchers/recording/recorded_transport.h"

#include "fetchers/recording/har_entry.h"

namespace metafuse::fetchers {
namespace {

class RecordingTransport final : public Transport {
 public:
  RecordingTransport(std::unique_ptr<Transport> inner, HarWriter& writer)
      : inner_(std::move(inner)), writer_(writer) {}

  void send(HttpRequest request, Done done) override {
    auto kept = std::make_shared<const HttpRequest>(request);
    inner_->send(std::move(request), [this, kept, done = std::move(done)](HttpAnswer answer) {
      writer_.append(*kept, answer);
      done(std::move(answer));
    });
  }

 private:
  std::unique_ptr<Transport> inner_;
  HarWriter& writer_;
};

class ReplayTransport final : public Transport {
 public:
  explicit ReplayTransport(const HarArchive& archive) : archive_(archive) {}

  void send(HttpRequest request, Done done) override {
    if (const HttpAnswer* answer = archive_.find(exchange_key(request))) return done(*answer);
    HttpAnswer missing;
    missing.failure = Failure::not_recorded;
    missing.message = "the recording has no " + request.method + " " + request.record_url +
                      (request.record_body.empty() ? "" : " " + request.record_body.substr(0, 200));
    done(std::move(missing));
  }

 private:
  const HarArchive& archive_;
};

}  // namespace

std::unique_ptr<Transport> make_recording_transport(std::unique_ptr<Transport> inner, HarWriter& writer) {
  return std::make_unique<RecordingTransport>(std::move(inner), writer);
}

std::unique_ptr<Transport> make_replay_transport(const HarArchive& archive) {
  return std::make_unique<ReplayTransport>(archive);
}

}  // namespace metafuse::fetchers
