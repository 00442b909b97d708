#pragma once

#include <string>

#include "core/result.h"

namespace metafuse {

/// Where a file of the program's lies: beside the program or, once installed, in the folder of its modules.
std::string module_path(const char* file);

/// Loads a part of the program that is a file of its own, because few need it and its libraries cost every
/// start time and memory. It lies beside the program or, once installed, in the folder of its modules, and
/// stays loaded.
///
/// in:     file - its name without folder; symbol - of the one variable that it exports
/// out:    the variable
/// errors: unavailable: the file or a library of it is missing, or it is of another version
Result<const void*> load_module(const char* file, const char* symbol);

}  // namespace metafuse
