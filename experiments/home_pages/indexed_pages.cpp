#include "experiments/home_pages/indexed_pages.h"

#include <cstdlib>
#include <filesystem>

#include "core/atomic_file.h"
#include "templates/template_file.h"

namespace metafuse::experiments::home_pages {
namespace {

constexpr const char* kTemplates = "config/templates/free-software.yaml";

}  // namespace

Result<std::unique_ptr<IndexedPages>> IndexedPages::open(const std::string& data) {
  auto pages = read_package_index(data + "/packages.txt");
  if (!pages)
    return fail(pages.error().code, pages.error().text + "; make it with apt-cache dumpavail > packages.txt");
  auto file = templates::read_domain_file(kTemplates);
  if (!file) return fail(file.error().code, file.error().text + "; run it in the folder of the sources");
  std::string pattern = (std::filesystem::temp_directory_path() / "metafuse-home-pages-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return fail(Code::try_again, pattern + ": no temporary folder");
  std::unique_ptr<IndexedPages> indexed(new IndexedPages(pattern));
  const std::string documents = pattern + "/documents.jsonl";
  const std::string database = pattern + "/index.db";
  TRY_VOID(write_file(documents, to_documents(*pages)));
  if (auto built = fetchers::build_local_index(database, {documents}); !built) return built.error();
  indexed->pages_ = std::move(*pages);
  indexed->domain_ = std::move(file->domain);
  indexed->engine_ = std::make_unique<fetchers::LocalEngine>(fetchers::LocalAccess{database, {}});
  return indexed;
}

IndexedPages::~IndexedPages() {
  engine_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Result<fusion::TrainingSet> IndexedPages::record(const SampleOptions& sampling, unsigned threads) {
  TRY(auto recorded, record_lists(domain_, *engine_, sample_base_queries(pages_, sampling), threads));
  return to_training_set(domain_, recorded);
}

}  // namespace metafuse::experiments::home_pages
