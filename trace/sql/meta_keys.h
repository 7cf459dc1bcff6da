// Keys of the trace's meta table. Values are text or integers as noted.
#pragma once

namespace dcmt::meta {
inline constexpr char kState[] = "state";  // 'recording' | 'finished' | 'recovered' (finished by a later report)
inline constexpr char kToolVersion[] = "tool_version";
inline constexpr char kCommand[] = "command";  // the traced program's arguments, shell-quoted
inline constexpr char kPid[] = "pid";
inline constexpr char kRank[] = "rank";             // -1 if none
inline constexpr char kWorldSize[] = "world_size";  // -1 if none
inline constexpr char kTorch[] = "torch";           // version
inline constexpr char kPython[] = "python";         // version, '' if none
inline constexpr char kStacks[] = "stacks";         // kCppStacks: of a program without Python; absent: of Python
inline constexpr char kCppStacks[] = "c++";
inline constexpr char kDetail[] = "detail";  // text_of(Detail)
inline constexpr char kStartRealNs[] = "start_real_ns";
inline constexpr char kStartNs[] = "start_ns";  // monotonic
inline constexpr char kEndNs[] = "end_ns";      // of the last record
// The largest distance of a clock reading from the line through the readings before it; and the number of readings.
inline constexpr char kClockErrorNs[] = "clock_error_ns";
inline constexpr char kClockReadings[] = "clock_readings";
inline constexpr char kRealOffsetNs[] = "real_offset_ns";  // wall clock less monotonic clock, of the latest reading
inline constexpr char kLastSeq[] = "last_seq";             // every record up to here is in the trace
inline constexpr char kRecords[] = "records";
// For an attached process: the sequence of its first record. Rows with lower sequences describe what it had before.
inline constexpr char kFirstSeq[] = "first_seq";
inline constexpr char kUnseenBirths[] = "unseen_births";  // ends without a begin; 0 in detail 'full'
inline constexpr char kLostDeaths[] = "lost_deaths";      // births at an address where an object already lived
inline constexpr char kUnseenChanges[] =
    "unseen_changes";  // of a tensor's storage or a storage's bytes, noticed at the end
inline constexpr char kExit[] =
    "exit";  // 'exit N' | 'exit unseen': exited normally, only its parent has the code | 'signal N' | 'unknown': not
             // normally | 'exec' | 'still running' (also: detached) | 'unseen': its spool was gone
inline constexpr char kOrigins[] =
    "origins";  // one row a line, in the format of collector/recorder/assemble/operator_toml.h
inline constexpr char kCgroupLimit[] =
    "cgroup_limit";  // bytes that the process's control group may use; absent: no limit
inline constexpr char kCgroupKills[] =
    "cgroup_kills";  // processes that the kernel killed in that group because of the limit, since the start
inline constexpr char kGpuMemoryUnknown[] =
    "gpu_memory_unknown";  // why the use of a GPU's memory was not sampled; absent: it was, or there is no GPU
// The variables of the process's environment that set torch's allocators, or are meant to: "NAME=VALUE;NAME=VALUE".
inline constexpr char kAllocatorVariables[] = "allocator_variables";
// Of a trace made of a memory snapshot: 'whole' | 'late' (something was allocated already when its history began) |
// 'none'.
inline constexpr char kHistory[] = "history";
// Of sampled allocations of C and C++: mean bytes between two samples at the end; sampled ones that were not followed.
inline constexpr char kNativeInterval[] = "native_interval";
inline constexpr char kNativeMissed[] = "native_missed";
inline constexpr char kHolds[] = "holds";
inline constexpr char kHeldNs[] = "held_ns";
inline constexpr char kLongestHoldNs[] = "longest_hold_ns";
inline constexpr char kRecorderCpuNs[] = "recorder_cpu_ns";
}  // namespace dcmt::meta
