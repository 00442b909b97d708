// Vectors: the search of rows is compared with a plain scan, latent semantic indexing with a singular value
// decomposition; the embedded vector engine is tested from documents to results.

#include "fetchers/engines/index/vector_engine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <Eigen/SVD>
#include <catch2/catch.hpp>

#include "core/random.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/text_meaning.h"
#include "fetchers/engines/vector/lsi.h"
#include "fetchers/engines/vector/vector_rows.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

Deadline in_time() {
  return {machine_clock(), std::chrono::seconds(30)};
}

std::vector<float> random_unit(Random& random, std::size_t dimensions) {
  std::vector<float> vector(dimensions);
  for (float& x : vector) x = static_cast<float>(random.normal());
  normalise(vector);
  return vector;
}

std::uint16_t bits_of_half(float x) {
  const std::string bytes = half_row(std::vector<float>{x});
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[0]) |
                                    (static_cast<unsigned char>(bytes[1]) << 8));
}

/// The nearest rows by a plain scan in double precision.
std::vector<std::uint32_t> nearest(const std::vector<std::vector<float>>& rows,
                                   const std::vector<float>& query, std::size_t count) {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> scores;
  for (const auto& row : rows) scores.push_back(inner_product(row, query));
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
  order.resize(std::min(count, order.size()));
  return order;
}

/// Documents as lists of word numbers.
WordCounts counts_of(const std::vector<std::vector<int>>& documents, int words) {
  WordCounts counts;
  counts.document_count = documents.size();
  for (int word = 0; word < words; ++word) {
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const auto count = std::count(documents[i].begin(), documents[i].end(), word);
      if (count == 0) continue;
      counts.documents.push_back(static_cast<std::uint32_t>(i));
      counts.counts.push_back(static_cast<float>(count));
    }
    counts.words.push_back("w" + std::to_string(word));
    counts.begins.push_back(counts.documents.size());
  }
  return counts;
}

std::vector<std::vector<int>> random_documents(std::size_t count, int words, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<int>> documents(count);
  for (auto& document : documents) {
    const int topic = static_cast<int>(random.below(3));
    for (int i = 0; i < 20; ++i) {
      const int within = static_cast<int>(random.below(static_cast<std::uint64_t>(words / 3)));
      const bool is_off_topic = random.uniform() < 0.2;
      document.push_back(is_off_topic ? static_cast<int>(random.below(static_cast<std::uint64_t>(words)))
                                      : topic * (words / 3) + within);
    }
  }
  return documents;
}

/// The weighted matrix that the model is trained on, computed from its definition.
Eigen::MatrixXd weighted_matrix(const WordCounts& counts) {
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(counts.document_count),
                                                 static_cast<Eigen::Index>(counts.words.size()));
  for (std::size_t word = 0; word < counts.words.size(); ++word) {
    double total = 0;
    for (std::size_t i = counts.begins[word]; i < counts.begins[word + 1]; ++i) total += counts.counts[i];
    double weight = 1;
    for (std::size_t i = counts.begins[word]; i < counts.begins[word + 1]; ++i) {
      const double p = counts.counts[i] / total;
      weight += p * std::log(p) / std::log(static_cast<double>(counts.document_count + 1));
    }
    for (std::size_t i = counts.begins[word]; i < counts.begins[word + 1]; ++i)
      matrix(static_cast<Eigen::Index>(counts.documents[i]), static_cast<Eigen::Index>(word)) =
          weight * std::log(1.0 + counts.counts[i]);
  }
  return matrix;
}

const std::string kTwoTopics =
    "{\"url\":\"http://a/\",\"title\":\"car\",\"text\":\"the car has an engine and four wheels on the "
    "road\"}\n"
    "{\"url\":\"http://b/\",\"title\":\"automobile\",\"text\":\"an automobile with its engine and wheels on "
    "a "
    "road\"}\n"
    "{\"url\":\"http://c/\",\"title\":\"driving\",\"text\":\"engine wheels and the road while driving the "
    "car or "
    "automobile\"}\n"
    "{\"url\":\"http://d/\",\"title\":\"soup\",\"text\":\"cook the soup with salt and onions in a pot\"}\n"
    "{\"url\":\"http://e/\",\"title\":\"stew\",\"text\":\"a stew is cooked in a pot with onions and salt\"}\n"
    "{\"url\":\"http://f/\",\"title\":\"kitchen\",\"text\":\"soup or stew pot salt onions in the "
    "kitchen\"}\n";

struct VectorIndex {
  test::TemporaryFolder folder;
  std::string database = folder.path("pages.db");

  explicit VectorIndex(const std::string& documents, const IndexOptions& options) {
    const auto built = build_local_index(database, {folder.write("d.jsonl", documents)}, options);
    if (!built) FAIL(built.error().text);
  }
};

IndexOptions lsi_index(std::size_t dimensions) {
  IndexOptions options;
  options.vectors.source = VectorOptions::Source::lsi;
  options.vectors.dimensions = dimensions;
  return options;
}

std::vector<std::string> urls_in(const Result<RankedList>& list) {
  if (!list) FAIL(list.error().text);
  std::vector<std::string> urls;
  for (const Hit& hit : list->hits) urls.push_back(hit.url);
  return urls;
}

}  // namespace

TEST_CASE("Half precision follows IEEE 754", "[fetchers][vectors]") {
  // Sign, five bits of exponent with offset 15, ten of fraction.
  CHECK(bits_of_half(0.0F) == 0x0000);
  CHECK(bits_of_half(1.0F) == 0x3C00);
  CHECK(bits_of_half(-1.0F) == 0xBC00);
  CHECK(bits_of_half(0.5F) == 0x3800);
  CHECK(bits_of_half(-0.25F) == 0xB400);
  CHECK(bits_of_half(0x1p-14F) == 0x0400);  // the smallest normal number
  CHECK(bits_of_half(0x1p-24F) == 0x0001);  // the smallest subnormal number
  CHECK(bits_of_half(0x1p-26F) == 0x0000);
  CHECK(bits_of_half(1.0F - 0x1p-12F) == 0x3C00);      // halfway: rounded to even
  CHECK(bits_of_half(1.0F - 3 * 0x1p-12F) == 0x3BFE);  // halfway again: rounded down to even
  Random random(7);
  for (int i = 0; i < 10000; ++i) {
    const auto x = static_cast<float>(2 * random.uniform() - 1);
    std::vector<float> read(1);
    REQUIRE(read_half_row(half_row(std::vector<float>{x}), read));
    CHECK(std::fabs(read[0] - x) <= std::max(0x1p-11F * std::fabs(x), 0x1p-25F));
  }
  std::vector<float> two(2);
  CHECK_FALSE(read_half_row("abc", two));
}

TEST_CASE("The candidates include the nearest rows of a plain scan", "[fetchers][vectors]") {
  Random random(3);
  for (const std::size_t dimensions : {1, 3, 63, 64, 65, 200}) {
    for (const bool is_clustered : {false, true}) {
      std::vector<std::vector<float>> plain;
      VectorRows rows(dimensions);
      const std::vector<float> centre = random_unit(random, dimensions);
      for (int i = 0; i < 700; ++i) {
        std::vector<float> vector = random_unit(random, dimensions);
        // Rows that differ by less than eight bits can represent.
        if (is_clustered)
          for (std::size_t at = 0; at < dimensions; ++at) vector[at] = centre[at] + 1e-3F * vector[at];
        normalise(vector);
        plain.push_back(vector);
        rows.add(vector);
      }
      for (int i = 0; i < 10; ++i) {
        const auto query = random_unit(random, dimensions);
        const auto found = rows.candidates(query, 30, in_time());
        REQUIRE(found.has_value());
        for (const std::uint32_t row : nearest(plain, query, 30))
          CHECK(std::find(found->begin(), found->end(), row) != found->end());
        if (!is_clustered && dimensions == 200) CHECK(found->size() < 120);
      }
    }
  }
}

TEST_CASE("The candidates among equal rows are limited and the search keeps its deadline",
          "[fetchers][vectors]") {
  VectorRows rows(2);
  const std::vector<float> vector = {0.6F, 0.8F};
  for (int i = 0; i < 20000; ++i) rows.add(vector);
  const auto found = rows.candidates(vector, 10, in_time());
  REQUIRE(found.has_value());
  CHECK(found->size() == 10 + 4096);
  const Deadline passed(machine_clock(), Duration::zero());
  CHECK(rows.candidates(vector, 10, passed).error().code == Code::try_again);
  CHECK(VectorRows(2).candidates(vector, 10, in_time())->empty());
}

TEST_CASE("With all dimensions the cosines of vectors equal those of the weighted words", "[fetchers][lsi]") {
  const auto counts = counts_of(random_documents(12, 30, 5), 30);
  LsiOptions options;
  options.dimensions = 30;
  const auto model = train_lsi(counts, options);
  REQUIRE(model.has_value());
  CHECK(model->dimensions == 12);
  const auto vectors = document_vectors(counts, *model, 1);
  const Eigen::MatrixXd matrix = weighted_matrix(counts);
  for (std::size_t i = 0; i < 12; ++i)
    for (std::size_t j = 0; j < 12; ++j) {
      const auto a = matrix.row(static_cast<Eigen::Index>(i)).normalized();
      const auto b = matrix.row(static_cast<Eigen::Index>(j)).normalized();
      const std::span<const float> left(vectors.data() + i * 12, 12);
      const std::span<const float> right(vectors.data() + j * 12, 12);
      CHECK(inner_product(left, right) == Approx(a.dot(b)).margin(1e-4));
    }
}

TEST_CASE("Fewer dimensions agree with the singular value decomposition", "[fetchers][lsi]") {
  const auto counts = counts_of(random_documents(60, 45, 9), 45);
  LsiOptions options;
  options.dimensions = 3;  // three topics, after which the singular values drop
  options.iterations = 12;
  const auto model = train_lsi(counts, options);
  REQUIRE(model.has_value());
  REQUIRE(model->dimensions == 3);
  const auto vectors = document_vectors(counts, *model, 1);
  Eigen::MatrixXd matrix = weighted_matrix(counts);
  Eigen::MatrixXd scaled = matrix;
  for (Eigen::Index i = 0; i < scaled.rows(); ++i) scaled.row(i).normalize();
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(scaled, Eigen::ComputeThinV);
  const Eigen::MatrixXd projected = matrix * svd.matrixV().leftCols(3);
  for (std::size_t i = 0; i < 60; ++i)
    for (std::size_t j = 0; j < 60; ++j) {
      const auto a = projected.row(static_cast<Eigen::Index>(i)).normalized();
      const auto b = projected.row(static_cast<Eigen::Index>(j)).normalized();
      const std::span<const float> left(vectors.data() + i * 3, 3);
      const std::span<const float> right(vectors.data() + j * 3, 3);
      CHECK(inner_product(left, right) == Approx(a.dot(b)).margin(2e-3));
    }
}

TEST_CASE("The number of threads changes no byte and a sample can train for all documents",
          "[fetchers][lsi]") {
  const auto counts = counts_of(random_documents(900, 60, 2), 60);
  LsiOptions options;
  options.dimensions = 10;
  const auto one = train_lsi(counts, options);
  options.threads = 3;
  const auto three = train_lsi(counts, options);
  REQUIRE(one.has_value());
  CHECK(one->rows == three->rows);
  CHECK(document_vectors(counts, *one, 1) == document_vectors(counts, *three, 3));
  options.max_documents = 300;
  const auto sampled = train_lsi(counts, options);
  REQUIRE(sampled.has_value());
  CHECK(document_vectors(counts, *sampled, 1).size() == 900 * sampled->dimensions);
}

TEST_CASE("Documents without common words and interrupted training are errors", "[fetchers][lsi]") {
  CHECK(train_lsi({}, {}).error().code == Code::bad_data);
  const auto counts = counts_of(random_documents(12, 30, 5), 30);
  LsiOptions options;
  options.is_interrupted = [] { return true; };
  CHECK(train_lsi(counts, options).error().code == Code::try_again);
  test::TemporaryFolder folder;
  const auto built = build_local_index(
      folder.path("x.db"), {folder.write("x.jsonl", "{\"url\":\"http://a/\",\"title\":\"lonely\"}\n")},
      lsi_index(10));
  CHECK(built.error().code == Code::bad_data);
  CHECK_FALSE(std::filesystem::exists(folder.path("x.db")));
}

TEST_CASE("Latent semantic indexing finds documents that lack the query's word", "[fetchers][lsi]") {
  const VectorIndex index(kTwoTopics, lsi_index(2));
  VectorEngine engine({index.database, 0.5});
  const auto found = urls_in(engine.search("Automobile", {}, 30, 0, in_time()));
  CHECK(found.size() == 3);
  CHECK(std::find(found.begin(), found.end(), "http://a/") != found.end());  // contains only "car"
  CHECK(urls_in(engine.search("onions", {}, 30, 0, in_time())).size() == 3);
  CHECK(urls_in(engine.search("unheard", {}, 30, 0, in_time())).empty());
  CHECK(urls_in(engine.search("  ", {}, 30, 0, in_time())).empty());
}

TEST_CASE("Texts that are in no index are compared by what its words mean", "[fetchers][lsi]") {
  const VectorIndex index(kTwoTopics, lsi_index(2));
  const std::vector<std::string_view> texts = {"a pot of soup with onions", "the car is on the road",
                                               "unheard", ""};
  const auto scores = score_meaning(index.database, "Automobile", texts, in_time());
  REQUIRE(scores.has_value());
  REQUIRE(scores->size() == 4);
  CHECK((*scores)[1] > 0.8);  // shares no word with the query
  CHECK((*scores)[1] <= 1.0 + 1e-6);
  CHECK((*scores)[0] < 0.2);
  CHECK((*scores)[2] == 0);
  CHECK((*scores)[3] == 0);
  // as the documents of the index are: the text of http://b/ has the vector of that document
  const auto listed = VectorEngine({index.database, -1}).search("Automobile", {}, 30, 0, in_time());
  const std::vector<std::string_view> own = {"automobile an automobile with its engine and wheels on a road"};
  for (const Hit& hit : listed->hits)
    if (hit.url == "http://b/")
      CHECK(*hit.score ==
            Approx(score_meaning(index.database, "Automobile", own, in_time())->front()).margin(0.02));
  CHECK(*score_meaning(index.database, "unheard", texts, in_time()) == std::vector<double>(4, 0.0));
  const Deadline over(machine_clock(), std::chrono::seconds(-1));
  CHECK(score_meaning(index.database, "car", texts, over).error().code == Code::try_again);
  const VectorIndex plain(kTwoTopics, {});
  CHECK(score_meaning(plain.database, "car", texts, in_time()).error().code == Code::bad_config);
}

TEST_CASE("The vector engine ranks by cosine and pages and tokenizes like the index", "[fetchers][vectors]") {
  IndexOptions options = lsi_index(4);
  options.language = "en";
  const VectorIndex index(kTwoTopics, options);
  VectorEngine engine({index.database, -1});
  const auto list = engine.search("cooking a stew", {}, 30, 0, in_time());
  const auto all = urls_in(list);
  REQUIRE(all.size() == 6);
  CHECK(all.front() == "http://e/");
  for (std::size_t i = 1; i < list->hits.size(); ++i) CHECK(*list->hits[i - 1].score >= *list->hits[i].score);
  CHECK(list->hits.front().title == "stew");
  CHECK(list->hits.front().snippet.starts_with("a stew is cooked"));
  CHECK(urls_in(engine.search("cooking a stew", {}, 2, 2, in_time())) ==
        std::vector<std::string>(all.begin() + 2, all.begin() + 4));
  CHECK(urls_in(engine.search("cooks", {}, 2, 0, in_time())) ==
        urls_in(engine.search("COOKED", {}, 2, 0, in_time())));
}

TEST_CASE("Vectors of an endpoint are searched exactly", "[fetchers][vectors]") {
  Random random(11);
  std::map<std::string, std::vector<float>> vector_of;
  std::string documents;
  for (int i = 0; i < 200; ++i)
    documents +=
        "{\"url\":\"http://h/" + std::to_string(i) + "\",\"title\":\"t" + std::to_string(i) + "\"}\n";
  IndexOptions options;
  options.vectors.source = VectorOptions::Source::endpoint;
  options.vectors.model = "a-model";
  options.vectors.embed = [&](std::span<const std::string> texts) -> Result<std::vector<std::vector<float>>> {
    std::vector<std::vector<float>> out;
    for (const std::string& text : texts) {
      auto vector = random_unit(random, 24);
      vector_of["http://h/" + text.substr(1, text.find('\n') - 1)] = vector;
      for (float& x : vector) x *= 3;  // endpoints need not send unit vectors
      out.push_back(vector);
    }
    return out;
  };
  const VectorIndex index(documents, options);
  REQUIRE(vector_of.size() == 200);
  VectorEngine engine({index.database, 0});
  for (int i = 0; i < 20; ++i) {
    const auto query = random_unit(random, 24);
    const auto list = engine.search("any", query, 10, 0, in_time());
    REQUIRE(urls_in(list).size() == 10);
    std::vector<double> scores;
    for (const auto& [url, vector] : vector_of) scores.push_back(inner_product(vector, query));
    std::sort(scores.rbegin(), scores.rend());
    for (std::size_t at = 0; at < 10; ++at) {
      CHECK(*list->hits[at].score == Approx(scores[at]).margin(2e-4));
      CHECK(*list->hits[at].score ==
            Approx(inner_product(vector_of[list->hits[at].url], query)).margin(2e-4));
    }
  }
  CHECK(engine.search("any", {}, 10, 0, in_time()).error().text.find("a-model") != std::string::npos);
  CHECK(engine.search("any", std::vector<float>(5), 10, 0, in_time()).error().code == Code::bad_config);
}

TEST_CASE("Indexes without vectors and damaged ones are refused", "[fetchers][vectors]") {
  const VectorIndex plain(kTwoTopics, IndexOptions());
  const auto refused = VectorEngine({plain.database, 0}).search("car", {}, 10, 0, in_time());
  CHECK(refused.error().code == Code::bad_config);
  CHECK(refused.error().text.find("--embedding lsi") != std::string::npos);
  CHECK(VectorEngine({plain.folder.path("none.db"), 0}).search("car", {}, 10, 0, in_time()).error().code ==
        Code::no_input);
  for (const char* damage :
       {"UPDATE vectors SET row = x'00' WHERE id = 2", "UPDATE lsi_words SET row = x'0000'",
        "UPDATE meta SET value = '{\"source\":\"lsi\",\"dimensions\":99999999}' WHERE name = 'embedding'",
        "UPDATE meta SET value = '[' WHERE name = 'embedding'", "DELETE FROM pages", "DROP TABLE vectors"}) {
    INFO(damage);
    const VectorIndex index(kTwoTopics, lsi_index(2));
    {
      auto database = SqliteDatabase::open(index.database, {.mode = SqliteMode::create});
      REQUIRE(database->run(damage).has_value());
    }
    CHECK(VectorEngine({index.database, 0}).search("car", {}, 10, 0, in_time()).error().code ==
          Code::bad_data);
  }
}

TEST_CASE("An update of an index with vectors of an endpoint needs the endpoint", "[fetchers][vectors]") {
  IndexOptions options;
  options.updates = true;
  options.vectors.source = VectorOptions::Source::endpoint;
  options.vectors.embed = [](std::span<const std::string> texts) -> Result<std::vector<std::vector<float>>> {
    return std::vector<std::vector<float>>(texts.size(), {1, 2});
  };
  const VectorIndex index(kTwoTopics, options);
  const std::string more = index.folder.write("more.jsonl", "{\"url\":\"http://new/\",\"text\":\"new\"}\n");
  const auto updated = build_local_index(index.database, {more}, *options_to_update(index.database));
  REQUIRE(updated.has_error());
  CHECK(updated.error().code == Code::bad_config);
  CHECK(updated.error().text.find("name it with `embedding:`") != std::string::npos);
  CHECK(facts_of_index(index.database)->documents == 6);
}

TEST_CASE("An index that is to have vectors when its documents have words in common finds nothing until then",
          "[fetchers][vectors]") {
  IndexOptions options = lsi_index(2);
  options.vectors.is_optional = true;
  const VectorIndex index(
      "{\"url\":\"http://a/\",\"text\":\"tea\"}\n{\"url\":\"http://b/\",\"text\":\"river\"}\n", options);
  const auto found = VectorEngine({index.database, 0}).search("tea", {}, 10, 0, in_time());
  REQUIRE(found.has_value());
  CHECK(found->hits.empty());
  const std::vector<std::string_view> texts = {"tea", "river"};
  const auto scores = score_meaning(index.database, "tea", texts, in_time());
  REQUIRE(scores.has_value());
  CHECK(*scores == std::vector<double>{0, 0});
}

TEST_CASE("The dimensions that were asked for hold for later updates", "[fetchers][vectors][update]") {
  IndexOptions options = lsi_index(2);
  options.updates = true;
  const VectorIndex index(kTwoTopics, options);
  CHECK(options_to_update(index.database)->vectors.dimensions == 2);
  const std::string documents = index.folder.write("d.jsonl", kTwoTopics);
  auto other = *options_to_update(index.database);
  other.vectors.dimensions = 1;
  const auto updated = build_local_index(index.database, {documents}, other);
  REQUIRE(updated.has_value());
  CHECK(updated->is_update);
  CHECK(updated->dimensions == 1);
  CHECK(options_to_update(index.database)->vectors.dimensions == 1);
}
