#pragma once

#include <memory>

#include "fusion/communicator.h"

namespace metafuse::fusion {

/// The ranks of an MPI job, from construction to destruction; one at a time.
std::unique_ptr<Communicator> start_mpi();

/// Ends the whole job with an exit status: what a rank does that cannot go on.
[[noreturn]] void abort_mpi(int status);

}  // namespace metafuse::fusion
