#pragma once

#include <string>

#include "core/result.h"

namespace metafuse {

/// The path of a file that belongs to the program: beside the program or, once installed, in the folder of
/// its modules.
std::string module_path(const char* file);

/// Loads an optional part of the program from a shared library of its own. Parts that few users need are
/// built this way because their libraries would cost every start time and memory. The file lies where
/// module_path() says, and stays loaded.
///
/// in:     file - its name without folder; symbol - the name of the one variable that it exports
/// out:    a pointer to that variable
/// errors: unavailable: the file or a library that it needs is missing, or the file is of another version
Result<const void*> load_module(const char* file, const char* symbol);

}  // namespace metafuse
