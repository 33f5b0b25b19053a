// Ctrl-C asks the running command to stop at its next safe point, so that no partial file stays
// behind.
#pragma once

namespace tamis::cli {

/// From here on the first SIGINT or SIGTERM only sets a flag; a second one, of either kind, ends
/// the process at once. A signal that was ignored stays ignored.
void watch_interrupts();
bool interrupted();
/// Throws Error(cancelled) if interrupted.
void stop_if_interrupted();
/// Ends the process by the signal that came, as shells and scripts expect of an interrupted
/// program.
[[noreturn]] void die_of_interrupt();

}  // namespace tamis::cli
