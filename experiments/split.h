#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"

namespace metafuse::experiments {

/// How many ways the papers cut a data set: three fifths to train, one to validate, one to test.
constexpr std::size_t kFifths = 5;

/// What is trained on, chosen by and tested on.
struct Split {
  fusion::TrainingSet train, validate, test;
};

/// LETOR files as one set. errors: those of the files
Result<fusion::TrainingSet> read_letor(const std::vector<std::string>& paths);

/// A fold, 0 to 4, of a LETOR folder's parts S1.txt to S5.txt, packed or not, as LETOR cuts them.
Result<Split> read_letor_split(const std::string& folder, std::size_t fold);

/// The same turn of the fifths for an order of anything: what trains, validates and tests, each ascending.
std::array<std::vector<std::size_t>, 3> turn_of_fifths(const std::vector<std::size_t>& order,
                                                       std::size_t fold);

/// The file as it stands or packed beside it (.xz, .gz, .zst).
std::string with_packing(const std::string& path);

}  // namespace metafuse::experiments
