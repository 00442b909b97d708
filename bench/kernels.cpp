// kernels: the inner loops of a search and of a round of training, measured with Google Benchmark
//
// A search has 16 answers of 30 results, 360 bytes each, as JSON and as HTML pages. "validate" only lets
// simdjson read the same bytes. bench/README.md lists the ratios.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <simdjson.h>

#include "bench/searches.h"
#include "core/random.h"
#include "core/url.h"
#include "fetchers/answers/answer_parser.h"
#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/candidates.h"

namespace {

using namespace metafuse;

constexpr std::size_t kLists = 16;
constexpr std::size_t kResults = 30;
constexpr std::size_t kDocuments = 100000;
constexpr std::string_view kSnippet =
    "Some words that a search engine shows under the title of a result. Some words that a search engine "
    "shows under "
    "the title of a result. Some words that a search engine shows under the title of a result. Some words.";

struct Row {
  std::string url, title;
};

/// A search's results, one list per engine; the lists share about half of their documents.
std::vector<std::vector<Row>> search_rows() {
  Random random(1);
  std::vector<std::vector<Row>> lists(kLists);
  for (auto& list : lists)
    for (std::size_t i = 0; i < kResults; ++i) {
      const std::string number = std::to_string(random.below(kLists * kResults / 2 + kResults));
      list.push_back(
          {"https://site" + number + ".example/page/" + number, "Page " + number + " of the site"});
    }
  return lists;
}

std::string json_answer(const std::vector<Row>& rows) {
  std::string out = R"({"results":[)";
  for (const Row& row : rows)
    out += (out.back() == '[' ? R"({"url":")" : R"(,{"url":")") + row.url + R"(","title":")" + row.title +
           R"(","content":")" + std::string(kSnippet) + R"("})";
  return out + "]}";
}

std::string html_answer(const std::vector<Row>& rows) {
  std::string out = "<!DOCTYPE html><html><head><title>Results</title></head><body><main><ol>";
  for (const Row& row : rows)
    out += "<li class=\"result\"><h2><a href=\"" + row.url + "\">" + row.title + "</a></h2><p>" +
           std::string(kSnippet) + "</p></li>";
  return out + "</ol></main></body></html>";
}

template <class Make>
std::vector<std::string> answers(Make make) {
  std::vector<std::string> out;
  for (const auto& rows : search_rows()) {
    out.push_back(make(rows));
    out.back().reserve(out.back().size() + simdjson::SIMDJSON_PADDING);
  }
  return out;
}

fetchers::AnswerRules rules(fetchers::AnswerRules::Format format) {
  fetchers::AnswerRules out;
  out.format = format;
  const bool is_json = format == fetchers::AnswerRules::Format::json;
  out.results = is_json ? "results" : "//li[@class='result']";
  out.url = is_json ? "url" : ".//a/@href";
  out.title = is_json ? "title" : ".//h2";
  out.content = is_json ? "content" : ".//p";
  return out;
}

void per_result(benchmark::State& state) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kLists * kResults));
}

void validate(benchmark::State& state) {
  const auto texts = answers(json_answer);
  simdjson::dom::parser parser;
  for (auto _ : state)
    for (const std::string& text : texts) {
      simdjson::dom::element root;
      if (parser.parse(text.data(), text.size(), false).get(root)) state.SkipWithError("not valid");
      benchmark::DoNotOptimize(root);
    }
  per_result(state);
}
BENCHMARK(validate);

void parse_texts(benchmark::State& state, const std::vector<std::string>& texts,
                 const fetchers::AnswerRules& rules) {
  fetchers::AnswerContext context{"https://engine.example/search", "", "en"};
  context.spare_bytes = simdjson::SIMDJSON_PADDING;
  for (auto _ : state)
    for (const std::string& text : texts) {
      auto list = fetchers::parse_answer(rules, text, context);
      if (!list || list->hits.size() != kResults) state.SkipWithError("results are missing");
      benchmark::DoNotOptimize(list);
    }
  per_result(state);
}

/// Includes cleaning each hit's text; its key is made later, by keep_best_of_each().
void parse_json_answers(benchmark::State& state) {
  parse_texts(state, answers(json_answer), rules(fetchers::AnswerRules::Format::json));
}
BENCHMARK(parse_json_answers);

void parse_html_answers(benchmark::State& state) {
  parse_texts(state, answers(html_answer), rules(fetchers::AnswerRules::Format::html));
}
BENCHMARK(parse_html_answers);

void canonical_keys(benchmark::State& state) {
  const auto lists = search_rows();
  for (auto _ : state)
    for (const auto& list : lists)
      for (const Row& row : list) benchmark::DoNotOptimize(canonical_url_key(row.url));
  per_result(state);
}
BENCHMARK(canonical_keys);

/// Different searches take turns, so that the branch predictor cannot remember the previous one.
void fuse_search(benchmark::State& state) {
  const fusion::Model model = bench::step_model(kLists);
  const std::vector<bench::Search> searches = bench::make_searches(24, kLists, kResults);
  std::size_t turn = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(bench::fuse_search(model, searches[turn++ % searches.size()]));
  per_result(state);
}
BENCHMARK(fuse_search);

/// A matrix whose values have some hundred levels; a third of its cells are unranked.
fusion::FeatureMatrix matrix_of(const std::vector<fusion::Feature>& features) {
  Random random(7);
  fusion::FeatureMatrix matrix(features, kDocuments);
  for (std::size_t document = 0; document < kDocuments; ++document)
    for (std::size_t feature = 0; feature < features.size(); ++feature)
      if (random.below(3) > 0) matrix.set(document, feature, -1.0 - static_cast<double>(random.below(100)));
  return matrix;
}

void score(benchmark::State& state) {
  const fusion::Model model = bench::step_model(kLists);
  const fusion::FeatureMatrix matrix = matrix_of(model.features);
  for (auto _ : state) benchmark::DoNotOptimize(model.ranker->score(matrix));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kDocuments * kLists));
}
BENCHMARK(score);

void histogram(benchmark::State& state) {
  const fusion::FeatureMatrix matrix = matrix_of(bench::step_model(kLists).features);
  const fusion::CodedFeatures coded(matrix, {});
  fusion::rankboost::Histograms histograms(coded, {0, coded.document_count()});
  std::vector<std::size_t> features(kLists);
  for (std::size_t i = 0; i < kLists; ++i) features[i] = i;
  Random random(3);
  std::vector<std::int64_t> potentials(kDocuments);
  for (auto& potential : potentials) potential = static_cast<std::int64_t>(random.below(1 << 20)) - (1 << 19);
  for (auto _ : state) {
    histograms.fill(features, potentials, 1);
    benchmark::DoNotOptimize(histograms.of(0).data());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kDocuments * kLists));
}
BENCHMARK(histogram);

}  // namespace

BENCHMARK_MAIN();
