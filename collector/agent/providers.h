// Which providers have registered, and whether one has refused. provider.h has what a provider calls.
#pragma once

namespace dcmt::agent {

/// True once a provider has refused to record here (refuse() of provider.h).
bool refused() noexcept;

/// Forgets the refusal, so that a later session may begin, and returns its reason.
const char* withdraw_refusal() noexcept;

}  // namespace dcmt::agent
