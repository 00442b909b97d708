#pragma once

// Trains models with `metafuse train` on the file `judged`, for tests that compare the models' bytes.

#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "tests/support/command.h"
#include "tests/support/skip.h"

namespace metafuse::test {

inline std::string content(const std::string& path) {
  const auto text = read_text(path, std::size_t{1} << 24);
  return text ? *text : "cannot be read: " + path;
}

/// Trains RankBoost and returns the model's bytes. `before` precedes the program on the command line, such as
/// an environment or mpirun.
inline std::string trained_bytes(const TemporaryFolder& folder, const std::string& before,
                                 const std::string& options) {
  const std::string model = folder.path("model.json");
  const auto done = run_command({"/bin/sh", "-c",
                                 before + " " METAFUSE_EXECUTABLE " train --letor " + folder.path("judged") +
                                     " --learner rankboost --model " + model + " " + options});
  INFO(before << " " << options << ": " << done.err);
  REQUIRE(done.status == 0);
  return content(model);
}

/// The command prefix that runs a program as several MPI processes. OpenMPI keeps memory until the process
/// ends, which a leak sanitizer would report as our leak.
inline std::string mpi_processes(int count) {
  return "ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
         "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 "
         "OMPI_MCA_btl_vader_single_copy_mechanism=none mpirun -np " +
         std::to_string(count);
}

inline bool has_mpi() {
  const bool has = std::system("command -v mpirun >/dev/null 2>&1") == 0;
  if (!has) skip("install the Debian package openmpi-bin");
  return has;
}

}  // namespace metafuse::test
