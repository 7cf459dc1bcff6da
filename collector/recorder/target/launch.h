// The launcher that started this process together with others: mpirun, srun, torchrun or deepspeed, each with its own
// variables.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace dcmt::recorder {

struct Launch {
  std::string name;    ///< the same for all processes that were started together; empty if no launcher started this one
  std::string member;  ///< identifies the process: a rank, and its restart if there is one
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  std::string job;      ///< the job of a batch system, which may start the same command again; empty: none
  std::string restart;  ///< how often it has done so; empty: it has not
};

/// From the environment. If one launcher starts another, the inner one counts.
Launch launch_of_environment();
/// The same for another process, from its initial environment; none if that cannot be read.
Launch launch_of_process(pid_t pid);

}  // namespace dcmt::recorder
