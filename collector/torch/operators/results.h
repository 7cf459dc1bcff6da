// Records digests of what the program computes, so that runs can be compared: of each gradient that autograd adds to a
// parameter, and of each number that the program reads out of a tensor. Only under `dc-memtrace prove`.
#pragma once

namespace dcmt::torch_provider {

void start_results();
void stop_results();

}  // namespace dcmt::torch_provider
