#pragma once

#include <memory>

#include "fusion/data/communicator.h"

namespace metafuse::fusion {

/// What the module metafuse_mpi.so holds: all of MPI that the program calls. It is loaded only under mpirun,
/// so that everything else starts without MPI's libraries, and runs where there are none.
struct MpiModule {
  /// The processes of the MPI job, from construction to destruction; one at a time.
  std::unique_ptr<Communicator> (*start)();
  /// Ends the whole job with an exit status: what a process does that cannot go on.
  void (*abort)(int status);
};

/// The module's one symbol, of type MpiModule.
inline constexpr const char* kMpiModuleSymbol = "metafuse_mpi_module";

}  // namespace metafuse::fusion
