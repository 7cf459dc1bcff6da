#include "analyzer/model/holders.h"

#include <algorithm>

#include "analyzer/storages/stacks.h"

namespace dcmt::model {
namespace {

using analyzer::FrameText;

/// True if the holder's frame returned then: it stands at its return, or it is gone and its callers stand where they
/// stood at the census.
bool goes_at_return(const TraceData& data, const analyzer::Gone& gone, const analyzer::Holders& holders) {
  const analyzer::HolderPath& path = holders.paths.front();
  const auto is_holders = [&path](const FrameText& frame) {
    return frame.function == path.function && frame.file == path.file;
  };
  const std::vector<FrameText> now = analyzer::frames_of(data, gone.actor().stack);
  if (const auto frame = std::find_if(now.begin(), now.end(), is_holders); frame != now.end()) {
    return frame->line == path.return_line;
  }
  const std::vector<FrameText> then = analyzer::frames_of(data, holders.census->by.stack);
  const auto frame = std::find_if(then.begin(), then.end(), is_holders);
  return frame != then.end() &&
         std::equal(frame + 1, then.end(), now.begin(), now.end(), [](const FrameText& a, const FrameText& b) {
           return a.function == b.function && a.file == b.file && a.line == b.line;
         });
}

}  // namespace

std::optional<Gone> gone_of(const TraceData& data, const analyzer::Maybe<analyzer::Gone>& gone,
                            const analyzer::Holders* holders) {
  if (!gone) return std::nullopt;
  Gone result{gone->by(), {gone->seq(), gone->ns()}, actor_of(data, gone->actor()), std::nullopt};
  if (holders != nullptr && !holders->paths.empty() && !result.by.stack.empty() &&
      goes_at_return(data, *gone, *holders)) {
    result.at_return_of = holders->paths.front().function;
  }
  return result;
}

}  // namespace dcmt::model
