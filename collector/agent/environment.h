// The environment variables by which the recorder configures the agents of its child processes.
#pragma once

namespace dcmt::agent {

inline constexpr char kEnvStandby[] = "DC_MEMTRACE";              ///< "standby": record when asked to
inline constexpr char kEnvSpool[] = "DC_MEMTRACE_SPOOL";          ///< private folder for spools; unset: no recording
inline constexpr char kEnvLibraries[] = "DC_MEMTRACE_LIBRARIES";  ///< folder of the providers
inline constexpr char kEnvPrepared[] = "DC_MEMTRACE_PREPARED";    ///< folder of providers made here; unset: none
inline constexpr char kEnvDetail[] = "DC_MEMTRACE_DETAIL";        ///< oom | lifetimes | full | operators
inline constexpr char kEnvChunks[] = "DC_MEMTRACE_CHUNKS";        ///< chunks of a spool
inline constexpr char kEnvOperators[] = "DC_MEMTRACE_OPERATORS";  ///< file with the compiled table of operators
/// How many seconds a program waits at its end at most, while the recorder reads its memory; 0: it does not wait.
inline constexpr char kEnvExitWait[] = "DC_MEMTRACE_EXIT_WAIT";
inline constexpr int kDefaultExitWait = 2;
/// "0": the program is not held for readings at points of its work.
inline constexpr char kEnvHolds[] = "DC_MEMTRACE_HOLDS";
/// "1": allocations of C and C++ are sampled.
inline constexpr char kEnvNative[] = "DC_MEMTRACE_NATIVE";
/// "1": work on streams of GPUs, and what orders it, is recorded.
inline constexpr char kEnvStreams[] = "DC_MEMTRACE_STREAMS";
/// "1": each kernel, copy and fill on GPUs is recorded.
inline constexpr char kEnvGpuWork[] = "DC_MEMTRACE_GPU_WORK";
/// A file with parameters, as pairs of std::int64_t (graph and key), ascending: what their releases leave is fenced
/// (docs/decisions/proving.md). Unset: nothing is.
inline constexpr char kEnvProve[] = "DC_MEMTRACE_PROVE";
/// How: "fence"; "free"; "poison=N" with a byte; "compare": only what the program computes is recorded.
inline constexpr char kEnvProveBy[] = "DC_MEMTRACE_PROVE_BY";

/// The agent reads at most this many bytes of that table.
inline constexpr unsigned kMaxTableBytes = 32768;
inline constexpr unsigned kMaxTableFunctions = 64;

/// For tests: "closed:N" or "taken:N" kills the process inside its N-th change of chunks (see README.md).
inline constexpr char kEnvTestKill[] = "DC_MEMTRACE_TEST_KILL_AT_CHUNK";
/// For tests: set, there are no watchpoints.
inline constexpr char kEnvTestNoWatchpoints[] = "DC_MEMTRACE_TEST_NO_WATCHPOINTS";

}  // namespace dcmt::agent
