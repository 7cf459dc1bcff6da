// Helper processes of the recorder are not found by its name.
#pragma once

namespace dcmt::recorder {

/// A signal by a name or by words of the command line is meant for the recorder: this process, a fork of it, gets
/// another name and no command line. Safe after a fork.
void become_nameless(const char* name);

}  // namespace dcmt::recorder
