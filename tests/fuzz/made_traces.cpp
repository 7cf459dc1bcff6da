#include "tests/fuzz/made_traces.h"

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "analyzer/testing/test_trace.h"
#include "collector/recorder/process/process_recorder.h"
#include "tests/fuzz/spool_image.h"
#include "tests/fuzz/trace_mutations.h"

namespace dcmt::fuzz {

void write_by_hand(const std::string& path, Random& random) {
  testing::TestTrace trace;
  const auto layers = static_cast<std::int64_t>(1 + random.below(4));
  const bool fixed = random.chance(30);
  for (std::int64_t step = 1; step <= 3; ++step) {
    trace.phase("forward", [&] { testing::add_zero3_graph(trace, layers, 1 << 20, fixed); });
    trace.op("c10d::allreduce_", [&] { trace.op("aten::mul_"); });
    const auto kept = trace.allocate(4096);
    trace.gather(layers, kept);
    const std::int64_t release = trace.release(layers, kept);
    trace.op("aten::mm", [&] { trace.read(release, layers, kept, "aten::mm"); });
    trace.user_mark("here");
    trace.step(step);
  }
  if (random.chance(50)) testing::add_streams(trace);
  trace.persist(0);
  trace.diagnostic("note", "a note");
  trace.loss("no_room", 2);
  std::filesystem::rename(trace.save(), path);
}

bool write_by_recorder(const std::string& path, Random& random) {
  const std::string spool = path + ".spool";
  std::ofstream(spool, std::ios::binary) << image_of(story(random), random);
  auto recorder = recorder::ProcessRecorder::start(spool, path, {{"fuzz"}, {}});
  return recorder.ok() && (*recorder)->finish("exit 0", "finished").ok();
}

MadeTraces make_traces(const std::string& folder, Random& random) {
  MadeTraces made;
  const std::string path = folder + "/rank0.dcmt";
  if (random.chance(50)) {
    write_by_hand(path, random);
  } else if (!write_by_recorder(path, random)) {
    return made;
  }
  made.pristine = random.chance(5);
  if (!made.pristine) mutate_trace(path, random);
  made.paths.push_back(path);
  if (random.chance(20)) {
    made.paths.push_back(folder + "/rank1.dcmt");
    write_by_hand(made.paths.back(), random);
  }
  return made;
}

}  // namespace dcmt::fuzz
