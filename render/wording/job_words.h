// The memory of the whole job, in words.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/model/job_view.h"
#include "render/wording/words.h"

namespace dcmt::wording {

/// What a part of the job's memory is: "page_cache" → "page cache of files that no process has mapped: …".
[[nodiscard]] std::string_view job_part_text(std::string_view name);

/// "rank 0 (pid 4711)", "4 forked children of rank 0 (pt_data_worker)", "bash (pid 4700)".
[[nodiscard]] std::string job_processes_text(const model::JobProcessGroup& processes);

/// "rank 0 (pid 4711)", "pid 4711".
[[nodiscard]] std::string job_member_text(std::int64_t rank, std::int64_t pid);

/// "tensors of rank 0, as torch_4711_3_0", "left behind: psm_12".
[[nodiscard]] std::string job_shared_text(const model::JobShared& shared);

/// What all of it is: "of its control group, in which nothing else runs".
[[nodiscard]] std::string_view job_basis_text(const model::JobMoment& moment);

/// "3.2 GiB at its peak, in 6 processes: 2.1 GiB memory of its processes · 0.8 GiB shared memory · …".
[[nodiscard]] std::string job_line(const model::JobMoment& peak, const Form& form);

}  // namespace dcmt::wording
