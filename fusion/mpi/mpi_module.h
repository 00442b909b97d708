#pragma once

#include <memory>

#include "fusion/data/communicator.h"

namespace metafuse::fusion {

/// The interface of the module metafuse_mpi.so, which contains every use of MPI in the program. It is loaded
/// only under mpirun, so that the program otherwise starts, and runs, without MPI's libraries.
struct MpiModule {
  /// Joins the MPI job until the object is destroyed. At most one object at a time.
  std::unique_ptr<Communicator> (*start)();
  /// Ends the whole job with an exit status; for a process that cannot go on.
  void (*abort)(int status);
};

/// The module's one symbol, of type MpiModule.
inline constexpr const char* kMpiModuleSymbol = "metafuse_mpi_module";

}  // namespace metafuse::fusion
