// An object that is loaded and unloaded while its process is recorded.
#include "tensors.h"

extern "C" __attribute__((visibility("default"))) double extension_make(int count) { return make_tensors(count); }
