#pragma once

#include "core/result.h"
#include "fusion/mpi/mpi_module.h"

namespace metafuse::cli {

/// Loads MPI for the rest of the process, from the program's own folder.
///
/// errors: unavailable: the module or a library of MPI is missing
Result<fusion::MpiModule> load_mpi();

}  // namespace metafuse::cli
