// Ctrl-C asks the running command to stop at its next safe point, so that no partial file is left
// behind.
#pragma once

namespace tamis::cli {

/// After this call the first SIGINT or SIGTERM only sets a flag, and a second one of either kind
/// ends the process at once. A signal that was ignored before stays ignored.
void watch_interrupts();
bool interrupted();
/// Throws Error(cancelled) if interrupted.
void stop_if_interrupted();
/// Ends the process by the signal that it received, as shells and scripts expect of an interrupted
/// program.
[[noreturn]] void die_of_interrupt();

}  // namespace tamis::cli
