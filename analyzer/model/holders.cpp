#include "analyzer/model/holders.h"

#include <algorithm>

#include "analyzer/storages/stacks.h"

namespace dcmt::model {
namespace {

using analyzer::FrameText;
using analyzer::Subject;

HolderPath path_of(const TraceData& data, const analyzer::HolderPath& path) {
  HolderPath result;
  result.function = text_of(data, path.function);
  result.file = text_of(data, path.file);
  result.generated = path.generated;
  result.object = path.object;
  result.tensor = given(path.tensor);
  for (const analyzer::HolderName& name : path.names) {
    result.names.push_back(
        {name.edge, name.kind, text_of(data, name.name), text_of(data, name.assignment), name.line, name.delete_line});
  }
  result.current_line = path.current_line;
  result.return_line = path.return_line;
  result.model_file = text_of(data, path.model_file);
  result.model_line = path.model_line;
  result.model_text = text_of(data, path.model_text);
  result.certain = path.certain;
  result.held_since_at_most = {path.seen_seq, path.seen_ns};
  return result;
}

std::vector<CountSum> sums_of(const std::vector<analyzer::Count>& counts) {
  std::vector<CountSum> sums;
  for (const Subject subject : {Subject::kStorage, Subject::kTensor, Subject::kObject}) {
    CountSum sum;
    sum.subject = subject;
    for (const analyzer::Count& count : counts) {
      if (count.subject != subject) continue;
      ++sum.number;
      sum.count += count.count;
      sum.explained += count.explained;
      sum.unexplained += count.unexplained;
    }
    if (sum.number > 0) sums.push_back(sum);
  }
  return sums;
}

/// True if the holder's frame returned then: it stands at its return, or it is gone and its callers stand where they
/// stood at the census.
bool goes_at_return(const TraceData& data, const analyzer::Gone& gone, const analyzer::Holders& holders) {
  const analyzer::HolderPath& path = holders.paths.front();
  const auto is_holders = [&](const FrameText& frame) {
    return frame.function == data.text(path.function) && frame.file == data.text(path.file);
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

Holders holders_of(const TraceData& data, const analyzer::Holders& holders) {
  const analyzer::Mark& census = *holders.census;
  Holders result;
  result.census = census.id;
  result.at = begin_of(census.span);
  result.trigger = text_of(data, census.trigger);
  result.unstable = census.flags.unstable;
  result.other_threads_unseen = census.flags.other_threads_unseen;
  result.sharing_lossy = census.flags.sharing_lossy;
  result.certain = holders.certain();
  for (const analyzer::HolderPath& path : holders.paths) result.paths.push_back(path_of(data, path));
  for (const analyzer::Count& count : holders.counts) {
    result.counts.push_back(
        {count.sample, count.subject, given(count.tensor), count.count, count.explained, count.unexplained});
  }
  result.sums = sums_of(holders.counts);
  result.tensors = static_cast<std::int64_t>(holders.tensors.size());
  result.at_error = holders.at_error(data);
  return result;
}

std::optional<Holders> holders_of(const TraceData& data, const analyzer::Holders* holders) {
  return holders != nullptr ? std::optional(holders_of(data, *holders)) : std::nullopt;
}

std::optional<Gone> gone_of(const TraceData& data, const analyzer::Maybe<analyzer::Gone>& gone,
                            const analyzer::Holders* holders) {
  if (!gone) return std::nullopt;
  Gone result{gone->by(), {gone->seq(), gone->ns()}, actor_of(data, gone->actor()), std::nullopt};
  if (holders != nullptr && !holders->paths.empty() && !result.by.stack.empty() &&
      goes_at_return(data, *gone, *holders)) {
    result.at_return_of = data.text(holders->paths.front().function);
  }
  return result;
}

}  // namespace dcmt::model
