#include "terminal/interrupt.h"

#include <csignal>
#include <cstdlib>

#include <tamis/error.h>

namespace tamis::cli {
namespace {

volatile std::sig_atomic_t caught = 0;

void remember(int signal) {
  if (caught != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // takes effect after this handler and ends the process
  }
  caught = signal;
}

}  // namespace

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction inherited {};
    sigaction(signal, nullptr, &inherited);
    // A process that started us with a signal ignored, as nohup and background jobs of scripts do,
    // wants it ignored.
    if (inherited.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

bool interrupted() { return caught != 0; }

void stop_if_interrupted() {
  if (interrupted()) throw Error(Code::cancelled, "interrupted");
}

void die_of_interrupt() {
  const int signal = caught != 0 ? caught : SIGINT;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  std::_Exit(3);
}

}  // namespace tamis::cli
