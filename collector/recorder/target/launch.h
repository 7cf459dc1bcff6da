// What started this process together with others of its kind: mpirun, srun or torchrun, each with its own variables.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace dcmt::recorder {

struct Launch {
  std::string name;    ///< the same for all that were started together; empty if nothing of the kind started this one
  std::string member;  ///< which of them: a rank, and its restart where there is one
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
};

/// By the environment. Where one launcher starts another, the inner one counts.
Launch launch_of_environment();
/// The same of another process, by the environment that it was started with; none where that cannot be read.
Launch launch_of_process(pid_t pid);

}  // namespace dcmt::recorder
