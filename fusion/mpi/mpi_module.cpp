#include "fusion/mpi/mpi_module.h"

#include <algorithm>

#include <mpi.h>

namespace metafuse::fusion {
namespace {

// Numbers per MPI call, whose counts are of type int.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 24;

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;
  ~MpiCommunicator() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void sum(std::span<std::int64_t> numbers) override {
    for (; !numbers.empty(); numbers = numbers.subspan(std::min(kMostAtOnce, numbers.size())))
      MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(std::min(kMostAtOnce, numbers.size())),
                    MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  }

  std::vector<std::string> gather(const std::string& own) override {
    std::vector<std::string> parts(static_cast<std::size_t>(size_));
    for (int from = 0; from < size_; ++from) {
      std::string& part = parts[static_cast<std::size_t>(from)];
      if (from == rank_) part = own;
      std::uint64_t bytes = part.size();
      MPI_Bcast(&bytes, 1, MPI_UINT64_T, from, MPI_COMM_WORLD);
      part.resize(bytes);
      for (std::size_t begin = 0; begin < bytes; begin += kMostAtOnce)
        MPI_Bcast(part.data() + begin, static_cast<int>(std::min<std::size_t>(kMostAtOnce, bytes - begin)),
                  MPI_CHAR, from, MPI_COMM_WORLD);
    }
    return parts;
  }

 private:
  int rank_ = 0;
  int size_ = 1;
};

std::unique_ptr<Communicator> start() {
  return std::make_unique<MpiCommunicator>();
}

void abort(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
}

}  // namespace
}  // namespace metafuse::fusion

extern "C" {
extern const metafuse::fusion::MpiModule metafuse_mpi_module;
const metafuse::fusion::MpiModule metafuse_mpi_module{metafuse::fusion::start, metafuse::fusion::abort};
}
