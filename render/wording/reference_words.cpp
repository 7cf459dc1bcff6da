#include "render/wording/reference_words.h"

#include <fmt/format.h>

namespace dcmt::wording {
namespace {

constexpr std::size_t kLongestCode = 64;
constexpr std::size_t kLongestFunction = 60;

}  // namespace

std::string count_name(const model::CountStory& story) {
  switch (story.subject) {
    case analyzer::Subject::kStorage:
      return "storage";
    case analyzer::Subject::kTensor:
      return fmt::format("tensor {}", story.tensor.value_or(TensorId()).value);
    case analyzer::Subject::kObject:
      break;
  }
  return fmt::format("Python object of tensor {}", story.tensor.value_or(TensorId()).value);
}

std::string count_history(const model::CountStory& story) {
  std::string text = fmt::format("{} → {} in {}", story.first, story.last, counted(story.changes, "change"));
  if (story.to && story.last > 0) text += ", then watched no more";
  if (story.how != "watchpoint") text += ", read at operators: what is between two readings is not seen";
  if (story.missing == 0) return text;
  text += fmt::format(", {} missing at least", grouped(story.missing));
  if (story.missing_drops > 0) text += fmt::format(", {} of them gave a reference back", grouped(story.missing_drops));
  return text;
}

std::string reference_place(const model::ReferencePlace& place) {
  const std::string thread =
      place.by.thread.value_or(ThreadId()).valid() ? fmt::format(", thread {}", place.by.thread->value) : "";
  if (place.site.file.empty()) return "no Python frame" + thread;
  std::string text =
      fmt::format("{}:{} {}", shown_path(place.site.file), place.site.line, place.site.function) + thread;
  if (place.return_of) return fmt::format("the return of {}, to {}", *place.return_of, text);
  if (place.code) text += "   " + cut(*place.code, kLongestCode);
  return text;
}

std::string reference_function(const model::CountStory& story, const model::ReferencePlace& place) {
  if (place.function) return cut(*place.function, kLongestFunction);
  if (story.how != "watchpoint") return "an operator";
  return "the interpreter";
}

std::string reference_end(const model::CountStory& story, const model::ReferenceRow& row) {
  if (!row.given_back) return "left";
  if (row.given_back->site.file.empty()) return reference_function(story, *row.given_back);
  if (row.given_back->return_of) return fmt::format("the return of {}", *row.given_back->return_of);
  return fmt::format("{}, {}", row.given_back->code.value_or(row.given_back->by.site),
                     reference_function(story, *row.given_back));
}

bool is_within_a_line(const model::ReferenceRow& row) {
  if (!row.taken || !row.given_back || row.taken->site.file.empty()) return false;
  const analyzer::FrameText& taken = row.taken->site;
  const analyzer::FrameText& given_back = row.given_back->site;
  return taken.file == given_back.file && taken.line == given_back.line && taken.function == given_back.function;
}

std::string watched_text(const model::WatchedStorages& watched) {
  std::string text = fmt::format("Watched: {}, {} of their reference counts.", counted(watched.storages, "storage"),
                                 counted(watched.changes, "change"));
  if (watched.left > 0)
    text += fmt::format(" References to storage {} were left, or lasted to the exit.", watched.storage.value);
  return text;
}

}  // namespace dcmt::wording
