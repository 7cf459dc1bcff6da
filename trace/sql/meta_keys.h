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
inline constexpr char kDetail[] = "detail";         // text_of(Detail)
inline constexpr char kStartRealNs[] = "start_real_ns";
inline constexpr char kStartNs[] = "start_ns";  // monotonic
inline constexpr char kEndNs[] = "end_ns";      // of the last record
// How far a reading of the clocks was off the line through those before it, at most; and how many were taken.
inline constexpr char kClockErrorNs[] = "clock_error_ns";
inline constexpr char kClockReadings[] = "clock_readings";
inline constexpr char kRealOffsetNs[] = "real_offset_ns";  // wall clock less monotonic clock, of the latest reading
inline constexpr char kLastSeq[] = "last_seq";             // every record up to here is in the trace
inline constexpr char kRecords[] = "records";
// Of a process that was attached to: the sequence of the first record. Rows with lower ones are of what it had before.
inline constexpr char kFirstSeq[] = "first_seq";
inline constexpr char kUnseenBirths[] = "unseen_births";  // ends without a begin; in detail 'full' there is none
inline constexpr char kLostDeaths[] = "lost_deaths";      // births at an address where something lived
inline constexpr char kUnseenChanges[] =
    "unseen_changes";  // of a tensor's storage or a storage's bytes, seen at the end
inline constexpr char kExit[] =
    "exit";  // 'exit N' | 'exit unseen': in order, its parent knows | 'signal N' | 'unknown': not in order | 'exec' |
             // 'still running' (also: detached) | 'unseen': its spool was gone
inline constexpr char kOrigins[] =
    "origins";  // a row a line, as collector/recorder/assemble/operator_toml.h writes them
inline constexpr char kCgroupLimit[] =
    "cgroup_limit";  // bytes that the process's control group may use; absent: no limit
inline constexpr char kCgroupKills[] =
    "cgroup_kills";  // processes that the kernel killed there for it, since the start
inline constexpr char kRecorderCpuNs[] = "recorder_cpu_ns";
}  // namespace dcmt::meta
