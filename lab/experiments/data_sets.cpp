#include "lab/experiments/data_sets.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "core/text.h"
#include "core/text_file.h"
#include "fusion/input/input_files.h"

namespace metafuse::lab::experiments {
namespace {

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',')
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  }
  return cells;
}

}  // namespace

std::string with_packing(const std::string& path) {
  for (const char* packing : {"", ".xz", ".gz", ".zst"})
    if (std::filesystem::exists(path + packing)) return path + packing;
  return path;
}

std::string aggregation_part(const std::string& data, std::string_view set, std::size_t part) {
  return with_packing(fmt::format("{}/letor4-agg/{}/A{}.txt", data, set, part));
}

std::string collection_documents(const std::string& data, const std::string& name) {
  return with_packing(data + "/text-collections/" + name + "/docs.jsonl");
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (is_ascii_letter_or_digit(c) || static_cast<unsigned char>(c) >= 0x80)
      words.back() += ascii_lower(c);
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

Result<std::unique_ptr<WorkFolder>> WorkFolder::make(const std::string& wanted) {
  std::string path = wanted;
  if (wanted.empty()) {
    path = (std::filesystem::temp_directory_path() / "metafuse-experiment-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr)
      return fail(Code::try_again, path + ": cannot create a temporary folder");
  }
  return std::unique_ptr<WorkFolder>(new WorkFolder(std::move(path), wanted.empty()));
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (is_ours_) std::filesystem::remove_all(path_, ignored);
}

std::vector<std::size_t> shuffled(std::size_t count, Random& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  return order;
}

bool is_mixed(std::span<const double> grades) {
  return std::adjacent_find(grades.begin(), grades.end(), std::not_equal_to<>()) != grades.end();
}

std::array<std::vector<std::size_t>, 3> turn_of_fifths(const std::vector<std::size_t>& order,
                                                       std::size_t fold) {
  std::array<std::vector<std::size_t>, 3> parts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t place = (i + kFifths - fold) % kFifths;
    parts[place < 3 ? 0 : place - 2].push_back(order[i]);
  }
  for (auto& part : parts) std::sort(part.begin(), part.end());
  return parts;
}

Result<fusion::TrainingSet> read_letor(const std::vector<std::string>& paths) {
  fusion::TrainingInput input;
  for (const std::string& path : paths) input.letor.push_back(with_packing(path));
  return fusion::read_training_set(input);
}

Result<Split> read_letor_split(const std::string& folder, std::size_t fold) {
  const auto part = [&](std::size_t offset) {
    return fmt::format("{}/S{}.txt", folder, (fold + offset) % kFifths + 1);
  };
  TRY(auto train, read_letor({part(0), part(1), part(2)}));
  TRY(auto validate, read_letor({part(3)}));
  TRY(auto test, read_letor({part(4)}));
  return Split{std::move(train), std::move(validate), std::move(test)};
}

Result<fusion::TrainingSet> read_mslr_sample(const std::string& data) {
  return read_letor({data + "/mslr-web10k-sample/fold1_test_sample.txt",
                     data + "/mslr-web10k-sample/fold1_valid_sample.txt"});
}

Result<PublishedNdcg> read_published_ndcg(const std::string& path) {
  PublishedNdcg published;
  std::string sheet;
  bool is_ndcg = false;
  TRY_VOID(for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    const std::vector<std::string> cells = cells_of(line);
    if (cells[0] == "# sheet" && cells.size() > 1) {
      sheet = cells[1];
    } else if (cells[0] == "Folds") {
      is_ndcg = cells.size() > 10 && cells[1] == "NDCG@1";
    } else if (cells[0] == "average" && is_ndcg && !sheet.empty() && cells.size() > 10) {
      std::vector<double> means;
      for (std::size_t k = 1; k <= 10; ++k) {
        char* end = nullptr;
        means.push_back(std::strtod(cells[k].c_str(), &end));
        if (end == cells[k].c_str())
          return fail(Code::bad_data,
                      fmt::format("{}:{}:1: \"{}\" is not a number; use the sheet as converted", path, number,
                                  cells[k]));
      }
      published.emplace_back(std::move(sheet), std::move(means));
      sheet.clear();  // ignore the sheet's further tables: the first is for the test set
    }
    return {};
  }));
  return published;
}

// The line tags are QN (number), QU (the question, over several lines) and RD (documents, each with four
// digits); a continued line begins with blanks.
Result<std::vector<CysticQuestion>> read_cystic_questions(const std::string& data) {
  const std::string path = data + "/cystic-fibrosis/cfquery.txt";
  std::vector<CysticQuestion> questions;
  std::string tag;
  TRY_VOID(for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.size() < 3) return {};
    if (line.substr(0, 2) != "  ") tag = line.substr(0, 2);
    if (tag == "QN") questions.emplace_back();
    if (questions.empty())
      return fail(Code::bad_data, fmt::format("{}:{}: no QN before this line", path, number));
    std::istringstream words{std::string(line.substr(2))};
    CysticQuestion& question = questions.back();
    std::string word, digits;
    if (tag == "QN") words >> question.id;
    while (tag == "QU" && words >> word) question.text += (question.text.empty() ? "" : " ") + word;
    while (tag == "RD" && words >> word >> digits) {
      if (digits.size() != 4 || digits.find_first_not_of("012") != std::string::npos)
        return fail(
            Code::bad_data,
            fmt::format("{}:{}:1: \"{}\" is not four judgments of 0 to 2; use the file as distributed", path,
                        number, digits));
      question.judged.emplace_back(word, std::array<int, 4>{});
      std::transform(digits.begin(), digits.end(), question.judged.back().second.begin(),
                     [](char digit) { return digit - '0'; });
    }
    return {};
  }));
  return questions;
}

Result<std::vector<Rating>> read_movielens(const std::string& path) {
  constexpr std::size_t kMost = 1'000'000;
  std::vector<Rating> ratings;
  TRY_VOID(for_each_line(path, [&](std::string_view text, std::size_t number) -> Result<void> {
    std::istringstream words{std::string(text)};
    Rating rating;
    if (!(words >> rating.user >> rating.movie >> rating.stars >> rating.time) || rating.user == 0 ||
        rating.movie == 0 || rating.user > kMost || rating.movie > kMost ||
        !(rating.stars >= 1.0 && rating.stars <= 5.0))
      return fail(Code::bad_data,
                  fmt::format("{}:{}:1: not \"user item rating timestamp\"; use the file as distributed",
                              path, number));
    ratings.push_back(rating);
    return {};
  }));
  return ratings;
}

Result<Ratings> read_ratings(const std::string& path) {
  constexpr std::size_t kMostCells = 50'000'000;
  TRY(const auto lines, read_movielens(path));
  Ratings ratings;
  std::size_t viewers = 0;
  for (const Rating& line : lines) {
    viewers = std::max(viewers, line.user);
    ratings.movie_count = std::max(ratings.movie_count, line.movie);
  }
  if (viewers * ratings.movie_count > kMostCells)
    return fail(Code::bad_data, path + ": more viewers and movies than MovieLens 100K has; use that file");
  ratings.stars.assign(viewers, std::vector<double>(ratings.movie_count, 0.0));
  ratings.rated.resize(viewers);
  for (const Rating& line : lines) ratings.stars[line.user - 1][line.movie - 1] = line.stars;
  for (std::size_t v = 0; v < viewers; ++v)
    for (std::size_t m = 0; m < ratings.movie_count; ++m)
      if (ratings.stars[v][m] > 0.0) ratings.rated[v].push_back(m);
  return ratings;
}

fusion::FeatureMatrix matrix_of(const Ratings& ratings, std::span<const std::size_t> features,
                                std::span<const std::size_t> movies) {
  std::vector<fusion::Feature> names;
  for (const std::size_t viewer : features)
    names.push_back({"viewer " + std::to_string(viewer + 1), fusion::FeatureKind::value, 0});
  fusion::FeatureMatrix matrix(std::move(names), movies.size());
  for (std::size_t x = 0; x < movies.size(); ++x)
    for (std::size_t f = 0; f < features.size(); ++f)
      if (const double stars = ratings.stars[features[f]][movies[x]]; stars > 0.0) matrix.set(x, f, stars);
  return matrix;
}

}  // namespace metafuse::lab::experiments
