#include "cli/mpi_loader.h"

#include <filesystem>
#include <string>
#include <system_error>

#include <dlfcn.h>

namespace metafuse::cli {
namespace {

constexpr const char* kFile = "metafuse_mpi.so";

Error missing(const std::string& why) {
  return fail(Code::unavailable, "mpirun started this process, and " + why +
                                     "; build where OpenMPI is found, and keep " + kFile +
                                     " beside the program, or leave out mpirun");
}

}  // namespace

Result<fusion::MpiModule> load_mpi() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = (program.parent_path() / kFile).string();
  // OpenMPI loads parts of itself later, which look for the symbols of those that are there
  void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) return missing(::dlerror());
  const void* symbol = ::dlsym(module, fusion::kMpiModuleSymbol);
  if (symbol == nullptr) return missing(path + " is of another version");
  return *static_cast<const fusion::MpiModule*>(symbol);
}

}  // namespace metafuse::cli
