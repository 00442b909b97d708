#include "core/module.h"

#include <filesystem>
#include <system_error>

#include <dlfcn.h>

namespace metafuse {

std::string module_path(const char* file) {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const auto beside = folder / file;
  return (std::filesystem::exists(beside, error) ? beside : folder / METAFUSE_MODULES / file).string();
}

Result<const void*> load_module(const char* file, const char* symbol) {
  const std::string path = module_path(file);
  // RTLD_GLOBAL: Open MPI loads plugins later that look up symbols of the libraries already loaded
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) return fail(Code::unavailable, ::dlerror());
  const void* const found = ::dlsym(module, symbol);
  if (found == nullptr)
    return fail(Code::unavailable, path + " belongs to another version of metafuse; install it again");
  return found;
}

}  // namespace metafuse
