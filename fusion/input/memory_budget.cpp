#include "fusion/input/memory_budget.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace metafuse::fusion {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
constexpr std::size_t kProgram = 32 * kMebibyte;  // of the process before any document is read
// Columns of parts may take the limit divided by this.
constexpr std::size_t kPartShare = 4;
constexpr std::size_t kLeastPart = kMebibyte / 4;
// Per document of a training set: its grade, the end of its id, a flag.
constexpr std::size_t kRowBytes = 13;
// Per query with five grades: its pairs have 25 weights, kept twice.
constexpr std::size_t kQueryBytes = 1000;
constexpr std::size_t kUsualWeights = 25;
// Per further weight: kept twice, once with room to grow, and once more while the ranking loss is computed.
constexpr std::size_t kWeightBytes = 32;
// Per pair that is given: itself and where it was found, with room to grow. Later it is there twice, with a
// weight of its own, and a third time while all are sorted.
constexpr std::size_t kPairBytes = 96;
// Per document, while a set is being sorted.
constexpr std::size_t kOrderBytes = 4;
// Per document in a column whose values are all distinct: value and code in its part (12), its entry while
// parts are joined (20), value and code in the final column (12).
constexpr std::size_t kColumnBytes = 12 + 20 + 12;

/// How many weights the pairs of a query have that follow from grades: one per two grades, in either order.
std::size_t weights_of(const TrainingSet& set, const QueryRange& query) {
  if (set.feedback.is_bipartite) return 4;
  std::vector<double> grades(set.grades.begin() + static_cast<std::ptrdiff_t>(query.begin),
                             set.grades.begin() + static_cast<std::ptrdiff_t>(query.end));
  std::ranges::sort(grades);
  const auto distinct = static_cast<std::size_t>(std::unique(grades.begin(), grades.end()) - grades.begin());
  return distinct * distinct;
}

}  // namespace

Result<std::size_t> most_pairs_within(const MemoryLimit& limit, const TrainingSet& set) {
  std::size_t needed = kProgram + set.queries.size() * kQueryBytes +
                       set.grades.size() * limit.bytes_per_document + set.documents.bytes();
  for (const QueryRange& query : set.queries)
    if (const std::size_t weights = weights_of(set, query); weights > kUsualWeights)
      needed += (weights - kUsualWeights) * kWeightBytes;
  if (needed <= limit.bytes) return (limit.bytes - needed) / kPairBytes;
  return fail(
      Code::usage,
      fmt::format("--memory-limit: training on {} documents and all pairs of their grades needs {} MiB "
                  "besides their columns, more than {} MiB; raise it, or round the grades",
                  set.grades.size(), (needed + kMebibyte - 1) / kMebibyte, limit.bytes / kMebibyte));
}

Result<std::shared_ptr<MemoryBudget>> MemoryBudget::open(const MemoryLimit& limit, unsigned readers) {
  TRY(auto parts, ColumnFile::open(limit.folder));
  TRY(auto columns, ColumnFile::open(limit.folder));
  return std::shared_ptr<MemoryBudget>(
      new MemoryBudget(limit, readers, std::move(parts), std::move(columns)));
}

MemoryBudget::MemoryBudget(const MemoryLimit& limit, unsigned readers, std::shared_ptr<ColumnFile> parts,
                           std::shared_ptr<ColumnFile> columns)
    : limit_(limit),
      part_bytes_(limit.part_bytes > 0
                      ? limit.part_bytes
                      : std::max(limit.bytes / kPartShare / std::max(readers, 1U), kLeastPart)),
      parts_(std::move(parts)),
      columns_(std::move(columns)) {}

Result<void> MemoryBudget::add(const RowCounts& read) {
  const std::size_t documents = documents_ += read.documents;
  const std::size_t characters = characters_ += read.characters;
  const std::size_t queries = queries_ += read.queries;
  // Sorting rows needs them twice; only after that does the learner allocate its own memory.
  const std::size_t ordering = 2 * (documents * kRowBytes + characters) + documents * kOrderBytes;
  const std::size_t learning = documents * limit_.bytes_per_document + characters;
  const std::size_t needed = kProgram + queries * kQueryBytes + std::max(ordering, learning);
  if (needed <= limit_.bytes) return {};
  return fail(
      Code::usage,
      fmt::format("--memory-limit: training on {} documents needs {} MiB besides their columns, "
                  "more than {} MiB; raise it, or distribute the training over several machines with mpirun",
                  documents, (needed + kMebibyte - 1) / kMebibyte, limit_.bytes / kMebibyte));
}

unsigned MemoryBudget::columns_at_once(unsigned threads) const {
  const std::size_t documents = documents_;
  const std::size_t held =
      kProgram + queries_ * kQueryBytes + documents * (kRowBytes + kOrderBytes) + characters_;
  const std::size_t left = limit_.bytes > held ? limit_.bytes - held : 0;
  const std::size_t most = left / std::max<std::size_t>(documents * kColumnBytes, 1);
  return static_cast<unsigned>(std::clamp<std::size_t>(most, 1, std::max(threads, 1U)));
}

}  // namespace metafuse::fusion
