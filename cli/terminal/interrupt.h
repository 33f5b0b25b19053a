// Ctrl-C asks the running command to stop at its next safe point, so that no partial file stays behind.
#pragma once

namespace tamis::cli {

/// From here on SIGINT and SIGTERM only set a flag; a second one ends the process at once.
void watch_interrupts();
bool interrupted();
/// Throws Error(cancelled) if interrupted.
void stop_if_interrupted();
/// Ends the process by the signal that came, as shells and scripts expect of an interrupted program.
[[noreturn]] void die_of_interrupt();

}  // namespace tamis::cli
