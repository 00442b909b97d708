#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "fusion/data/training_set.h"

namespace metafuse::lab::experiments {

/// The path itself or, if only a compressed file exists, its name (.xz, .gz, .zst).
std::string with_packing(const std::string& path);

/// The path of part 1 to 5 of one of LETOR's aggregation sets, as with_packing() gives it.
std::string aggregation_part(const std::string& data, std::string_view set, std::size_t part);

/// Text collections that people judged, in text-collections/NAME of the data folder.
inline constexpr std::array kTextCollections = {"cacm", "cisi", "cran", "med", "time"};
/// The path of a collection's documents, as with_packing() gives it.
std::string collection_documents(const std::string& data, const std::string& name);

/// The words of a text in lower case: letters and digits of ASCII, and everything beyond it.
std::vector<std::string> words_of(std::string_view text);
/// With blanks between them.
std::string joined(const std::vector<std::string>& words);

/// A folder for the files that an experiment makes.
class WorkFolder {
 public:
  /// in:     wanted - the user's folder; empty: a temporary one, which is removed with the object
  /// errors: try_again: no temporary folder can be made
  static Result<std::unique_ptr<WorkFolder>> make(const std::string& wanted = "");
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(const std::string& file) const { return path_ + "/" + file; }

 private:
  WorkFolder(std::string path, bool is_ours) : path_(std::move(path)), is_ours_(is_ours) {}

  std::string path_;
  bool is_ours_;
};

/// The numbers below `count` in a random order.
std::vector<std::size_t> shuffled(std::size_t count, Random& random);

/// Whether there are two different grades.
bool is_mixed(std::span<const double> grades);

/// The papers divide a data set into five parts: three to train, one to validate, one to test.
constexpr std::size_t kFifths = 5;

/// The parts to train on, to choose by, and to test on.
struct Split {
  fusion::TrainingSet train, validate, test;
};

/// Divides an order into fifths, rotated by `fold`: the numbers to train, validate and test on, each sorted.
std::array<std::vector<std::size_t>, 3> turn_of_fifths(const std::vector<std::size_t>& order,
                                                       std::size_t fold);

/// Reads LETOR files, compressed or not, as one set.
/// errors: those of the files
Result<fusion::TrainingSet> read_letor(const std::vector<std::string>& paths);

/// Reads fold 0 to 4 of a LETOR folder's parts S1.txt to S5.txt, in LETOR's division.
Result<Split> read_letor_split(const std::string& folder, std::size_t fold);

/// Reads the sample of MSLR-WEB10K in the data folder, 36 queries.
Result<fusion::TrainingSet> read_mslr_sample(const std::string& data);

/// Mean NDCG@1..10 on the test folds as LETOR 3.0 published it, one entry per method.
using PublishedNdcg = std::vector<std::pair<std::string, std::vector<double>>>;

/// Reads the sheets of one collection; a line "# sheet,METHOD" precedes each.
///
/// errors: no_input; bad_data with file and line if a mean is not a number
Result<PublishedNdcg> read_published_ndcg(const std::string& path);

/// A question of the Cystic Fibrosis collection (Shaw, Wood, Wood, Tibbo 1991), with the numbers of its
/// documents and four judges' grades (0 to 2) of each.
struct CysticQuestion {
  std::string id;
  std::string text;
  std::vector<std::pair<std::string, std::array<int, 4>>> judged;
};

/// Reads cfquery.txt in a data folder's cystic-fibrosis.
/// errors: no_input; bad_data with file and line
Result<std::vector<CysticQuestion>> read_cystic_questions(const std::string& data);

/// A line of MovieLens 100K's u.data; users and movies are numbered from 1.
struct Rating {
  std::size_t user = 0;
  long time = 0;
  std::size_t movie = 0;
  double stars = 0.0;
};

/// errors: no_input; bad_data with file and line
Result<std::vector<Rating>> read_movielens(const std::string& path);

/// Stars by viewer and movie; 0 for a movie that the viewer has not rated.
struct Ratings {
  std::size_t movie_count = 0;
  std::vector<std::vector<double>> stars;       ///< viewer x movie
  std::vector<std::vector<std::size_t>> rated;  ///< per viewer: the movies, ascending

  std::size_t viewer_count() const { return stars.size(); }
};

/// errors: as read_movielens; bad_data if there are far more viewers or movies than in MovieLens 100K
Result<Ratings> read_ratings(const std::string& path);

/// Some movies as documents, some viewers as features: stars are values, unrated movies are unranked.
fusion::FeatureMatrix matrix_of(const Ratings& ratings, std::span<const std::size_t> viewers,
                                std::span<const std::size_t> movies);

}  // namespace metafuse::lab::experiments
