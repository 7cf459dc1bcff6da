// The advice in every refusal for a torch without a matching provider.
#pragma once

namespace dcmt::agent {

inline constexpr char kPrepareProvider[] =
    "Next, with the Python of this job: dc-memtrace doctor --prepare --python PYTHON";

}  // namespace dcmt::agent
