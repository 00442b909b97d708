#include <filesystem>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/definition/engine.h"
#include "fetchers/definition/engine_request.h"
#include "tests/support/data_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

struct Expected {
  std::string file;
  std::string engine;
  int results;
  std::string first_url;
};

/// Counts and first URLs of the recorded answers, so that a change of a parser shows.
const std::vector<Expected> kExpected = {
    {"brave-web/brave.json", "brave", 20, "https://www.python.org"},
    {"google-cse/google_pse.json", "google-cse", 10, "https://www.feynmanlectures.caltech.edu/"},
    {"searxng/searxng.json", "searxng", 30, "https://www.python.org/"},
    {"mediawiki/search_chess_set_10.json", "wikipedia-text", 10, "https://en.wikipedia.org/wiki/Chess_set"},
    {"mediawiki/search_chess_set_505.json", "wikipedia-text", 500, "https://en.wikipedia.org/wiki/Chess_set"},
    {"mediawiki/search_chest_set_suggestion.json", "wikipedia-text", 10,
     "https://en.wikipedia.org/wiki/The_Seekers"},
    {"mediawiki/search_no_results.json", "wikipedia-text", 0, ""},
    {"mediawiki/opensearch_newyork_10.json", "wikipedia-titles", 10,
     "https://en.wikipedia.org/wiki/New_York"},
    {"mediawiki/opensearch_newyork_10_redirects_return.json", "wikipedia-titles", 10,
     "https://en.wikipedia.org/wiki/New_york"},
    {"mediawiki/prefixsearch_ba_10.json", "wikipedia-prefix", 10, "https://en.wikipedia.org/wiki/Ba"},
    {"mediawiki/geosearch_new_york_10.json", "wikipedia-nearby", 10,
     "https://en.wikipedia.org/wiki/Central_New_York_Region"},
    {"crossref/works_field_queries-1.json", "crossref", 20, "https://doi.org/10.1111/ele.14024"},
    {"crossref/works_field_query_publisher-1.json", "crossref", 20, "https://doi.org/10.5902/2175497775344"},
    {"openalex/works.json", "openalex", 49, "https://openalex.org/W2068311567"},
    {"arxiv-atom/q_testing_s0_m10_bc5a6c384fe9.atom.xml", "arxiv", 10, "https://arxiv.org/abs/2202.12139v1"},
    {"arxiv-atom/q_testing_s10_m10_34e56e15aaac.atom.xml", "arxiv", 10, "https://arxiv.org/abs/2403.16981v2"},
    {"arxiv-atom/id_0808.05394_1707.08567_s0_m100_42e5aa0ec3af.atom.xml", "arxiv", 1,
     "https://arxiv.org/abs/1707.08567v1"},
    {"pubmed-eutils/esearch1.xml", "pubmed-ids", 20, "https://pubmed.ncbi.nlm.nih.gov/41282813/"},
    {"pubmed-eutils/esearch2.xml", "pubmed-ids", 100, "https://pubmed.ncbi.nlm.nih.gov/41297076/"},
    {"pubmed-eutils/esearch3.xml", "pubmed-ids", 6, "https://pubmed.ncbi.nlm.nih.gov/11121077/"},
    {"pubmed-eutils/esearch5.xml", "pubmed-ids", 5, "https://pubmed.ncbi.nlm.nih.gov/6540636/"},
    {"pubmed-eutils/esearch6.xml", "pubmed-ids", 20, "https://pubmed.ncbi.nlm.nih.gov/3069587804/"},
    {"pubmed-eutils/esearch7.xml", "pubmed-ids", 20, "https://pubmed.ncbi.nlm.nih.gov/3108048616/"},
    {"pubmed-eutils/esearch8.xml", "pubmed-ids", 0, ""},
    {"pubmed-eutils/ft_search_entrez-1.xml", "pubmed-ids", 200, "https://pubmed.ncbi.nlm.nih.gov/7771231/"},
    {"pubmed-eutils/esummary1.xml", "pubmed-summaries", 2, "https://pubmed.ncbi.nlm.nih.gov/11850928/"},
    {"pubmed-eutils/esummary9.xml", "pubmed-summaries", 1, "https://pubmed.ncbi.nlm.nih.gov/7488/"},
    {"pubmed-eutils/ft_search_entrez-2.json", "pmc-summaries", 200,
     "https://www.ncbi.nlm.nih.gov/pmc/articles/PMC7771231/"},
    {"stack-exchange/questions.json", "stack-overflow", 10,
     "https://stackoverflow.com/questions/11227809/"
     "why-is-it-faster-to-process-a-sorted-array-than-an-unsorted-array"},
    {"elasticsearch/search_response.json", "lexicon", 6,
     "https://lexicon.example.org/723a8b707e579087aa36c2e338ecdb4c"},
    {"html-serp/duckduckgo/search_results.html", "duckduckgo", 10, "http://test.test"},
    {"html-serp/bing/search_results.html", "bing", 10, "http://test.test"},
};

}  // namespace

TEST_CASE("every recorded answer of a real engine parses by its YAML definition alone",
          "[fetchers][parsers]") {
  const auto folder = test::data_folder("search-responses");
  if (!folder) return;
  const auto file = read_engine_file(std::string(METAFUSE_SOURCE_DIR) + "/config/engines-examples.yaml");
  REQUIRE(file.has_value());
  for (const Expected& expected : kExpected) {
    INFO(expected.file);
    const Engine* engine = find_engine(file->engines, expected.engine);
    REQUIRE(engine != nullptr);
    auto body = read_text(*folder + "/" + expected.file, 1 << 24);
    REQUIRE(body.has_value());
    const auto ready = ready_access(*engine, SecretLookup());
    REQUIRE(ready.has_value());
    const auto list = parse_answer(ready->access.answer, *body, {"https://engine.example/search", "", "en"});
    REQUIRE(list.has_value());
    CHECK(static_cast<int>(list->hits.size()) == expected.results);
    if (list->hits.empty()) continue;
    CHECK(list->hits.front().url == expected.first_url);
    if (expected.engine == "lexicon") continue;  // one of its documents has no title
    for (const Hit& hit : list->hits) CHECK_FALSE(hit.title.empty());
  }
}
