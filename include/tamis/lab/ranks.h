// Communication between ranks: processes that share one run of a sweep, as started by mpirun. The
// message contents are tamis's own protocol (run.h), so any transport works: Open MPI, which tamis
// loads at run time, or queues in a test.
#pragma once

#include <optional>
#include <string>

namespace tamis::lab {

struct RankMessage {
  int from = 0;
  std::string bytes;
};

/// One rank's endpoint, used by one thread. Messages between two ranks arrive exactly once
/// and in order.
class Ranks {
 public:
  Ranks() = default;
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Sends without waiting for the message to be received.
  virtual void send(int to, std::string bytes) = 0;
  /// Returns the next message that has arrived, from any rank, or nothing if there is none.
  /// Does not wait.
  virtual std::optional<RankMessage> poll() = 0;
  /// Ends all ranks immediately, including this one.
  virtual void abort(int status) = 0;
};

}  // namespace tamis::lab
