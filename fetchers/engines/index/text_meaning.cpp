#include "fetchers/engines/index/text_meaning.h"

#include <algorithm>
#include <cstddef>

#include "core/text.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/vector_index.h"
#include "fetchers/engines/vector/vector_rows.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostTextBytes = 4096;
constexpr std::size_t kMostRowBytes = std::size_t{8} << 20;

}  // namespace

Result<std::vector<double>> score_meaning(const std::string& database, std::string_view query,
                                          std::span<const std::string_view> texts, const Deadline& deadline) {
  TRY(auto opened, open_index(database));
  TRY(const auto meta, read_vector_meta(opened, database));
  std::vector<double> scores(texts.size(), 0.0);
  // its documents have no words in common yet
  if (meta.source == VectorOptions::Source::none && wants_vectors(opened)) return scores;
  if (meta.source != VectorOptions::Source::lsi)
    return fail(Code::bad_config, database +
                                      ": this index has no vectors by latent semantic indexing; build it "
                                      "with metafuse index --embedding lsi");
  TRY(auto words, LsiWords::open(opened, database, meta.dimensions));
  words.keep_rows(kMostRowBytes);
  TRY(auto wanted, words.vector_of(truncate_utf8(query, kMostTextBytes)));
  if (!normalise(wanted)) return scores;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (deadline.has_passed())
      return fail(Code::try_again, "the deadline passed while texts were compared by meaning; send fewer");
    TRY(auto vector, words.vector_of(truncate_utf8(texts[i], kMostTextBytes)));
    if (normalise(vector)) scores[i] = std::max(0.0, inner_product(vector, wanted));
  }
  return scores;
}

}  // namespace metafuse::fetchers
