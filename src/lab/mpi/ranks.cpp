// Implements `Ranks` over Open MPI. No call waits inside MPI, because MPI waits by keeping a core
// busy: sends are started and completed in a later call, and receives only take what has arrived.
#include <mpi.h>

#include <chrono>
#include <list>
#include <thread>

#include <tamis/lab/ranks.h>

namespace {

class MpiRanks final : public tamis::lab::Ranks {
 public:
  MpiRanks() {
    int provided = 0;
    // Grid points run on other threads, which never call MPI. MPI's errors end the job by default.
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  ~MpiRanks() override {
    for (forget_sent(); !sending_.empty(); forget_sent())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    MPI_Finalize();
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  void send(int to, std::string bytes) override {
    forget_sent();
    Sending& sending = sending_.emplace_back(Sending{std::move(bytes), MPI_REQUEST_NULL});
    // forget_sent completes the request.
    MPI_Isend(sending.bytes.data(), static_cast<int>(sending.bytes.size()), MPI_BYTE, to, 0,
              MPI_COMM_WORLD, &sending.request);
  }  // NOLINT(clang-analyzer-optin.mpi.MPI-Checker): it sees one function at a time

  std::optional<tamis::lab::RankMessage> poll() override {
    forget_sent();
    int arrived = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &arrived, &status);
    if (arrived == 0) return {};
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    tamis::lab::RankMessage message{status.MPI_SOURCE,
                                    std::string(static_cast<std::size_t>(size), '\0')};
    MPI_Recv(message.bytes.data(), size, MPI_BYTE, status.MPI_SOURCE, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return message;
  }

  void abort(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }

 private:
  struct Sending {
    std::string bytes;
    MPI_Request request;
  };

  void forget_sent() {
    sending_.remove_if([](Sending& sending) {
      int sent = 0;
      MPI_Test(&sending.request, &sent, MPI_STATUS_IGNORE);
      return sent != 0;
    });
  }

  int rank_ = 0;
  int size_ = 1;
  std::list<Sending> sending_;  // a list, so that bytes stay in place until they are sent
};

}  // namespace

extern "C" {

/// The version of this module. The program accepts only a module of its own version.
__attribute__((visibility("default"))) const char* tamis_mpi_version() { return TAMIS_VERSION; }

/// Starts MPI. It is called once; the caller deletes the result, which ends MPI.
__attribute__((visibility("default"))) tamis::lab::Ranks* tamis_mpi_start() { return new MpiRanks; }
}
