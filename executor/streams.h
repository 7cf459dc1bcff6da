// The streams of a rank's device: the current one, where the program computes, and five side streams. All waits between
// streams are made here. On the CPU there are no streams, and everything here does nothing.
//
// Memory whose lifetime the executor controls is never marked as used by a second stream. It comes from the pool of one
// side stream, and the next write to it runs on that stream, or after it. It is enough that this stream waits for the
// last reader before the memory is freed. The allocator then has nothing to wait for.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

#include <array>
#include <chrono>
#include <optional>

namespace dcmt::zero3 {

enum class Line {
  kCurrent,  ///< the calling thread's current stream
  kGather,
  kReduce,
  kCopy,  ///< copies gradients into buckets
  kOffload,
  kReload,
};
constexpr std::size_t kLines = 6;

/// A position in a stream's work. A position that was never set counts as reached.
class Point {
 private:
  friend class Streams;
  std::optional<c10::Event> event_;
};

class Streams {
 public:
  /// The side streams of a GPU belong to the process: simulated ranks share them.
  explicit Streams(c10::Device device);

  c10::Device device() const { return device_; }
  bool on_gpu() const { return !device_.is_cpu(); }

  c10::Stream get(Line line) const;

  /// Work that `later` gets from here on runs after all work that `earlier` has so far.
  void after(Line later, Line earlier) { after(get(later), earlier); }
  void after(const c10::Stream& later, Line earlier);

  void set(Point& point, Line line) const;
  void wait(Line later, const Point& point) const;

  /// The allocator does not reuse the memory until the stream's work at the end of the tensor's life is done.
  void mark_used(const at::Tensor& tensor, Line line) const;

  /// The calling thread waits for the stream's work.
  void synchronize(Line line) const;
  /// Like synchronize, for all side streams; false if they need longer. An error of the device ends the wait, too.
  bool drain(std::chrono::seconds longest) const noexcept;

 private:
  const c10::Device device_;
  std::array<std::optional<c10::Stream>, kLines> side_;
  std::optional<c10::Event> between_;  ///< a wait uses the event's latest record, so one event serves all waits
};

/// Makes a side stream the current one. Memory allocated meanwhile belongs to its pool.
class On {
 public:
  On(const Streams& streams, Line line) {
    if (streams.on_gpu()) guard_.reset_stream(streams.get(line));
  }

 private:
  c10::OptionalStreamGuard guard_;
};

}  // namespace dcmt::zero3
