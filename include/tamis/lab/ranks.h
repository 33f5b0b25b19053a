// Processes that share one run of a sweep, as mpirun starts them: how they talk. What they say is
// tamis's own protocol (run.h), so that any transport serves: Open MPI's, which tamis loads, or
// queues in a test.
#pragma once

#include <optional>
#include <string>

namespace tamis::lab {

struct RankMessage {
  int from = 0;
  std::string bytes;
};

/// One rank's end. Used by one thread. Messages between two ranks arrive once and in order.
class Ranks {
 public:
  Ranks() = default;
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Does not wait until it is received.
  virtual void send(int to, std::string bytes) = 0;
  /// A message that has arrived, from any rank; none if there is none now.
  virtual std::optional<RankMessage> poll() = 0;
  /// Ends all ranks at once, this one too.
  virtual void abort(int status) = 0;
};

}  // namespace tamis::lab
