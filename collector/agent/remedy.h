// What to do where no torch provider fits, as every refusal says it.
#pragma once

namespace dcmt::agent {

inline constexpr char kPrepareProvider[] =
    "Next, with the Python of this job: dc-memtrace doctor --prepare --python PYTHON";

}  // namespace dcmt::agent
