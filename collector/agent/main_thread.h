// Runs work that needs Python's GIL, when the recording starts on a thread of ours.
#pragma once

namespace dcmt::agent {

/// Lets Python's main thread call `start` between two of its instructions, with the GIL, with its frames, and inside
/// our guard. Waits at most half a second. If the call has not begun by then, the main thread still makes it later,
/// unless drop_main_thread_work() is called first. One call at a time.
void start_on_main_thread(void (*start)()) noexcept;

/// Cancels work that has not begun.
void drop_main_thread_work() noexcept;

}  // namespace dcmt::agent
