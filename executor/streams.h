// The streams of a rank's device: the current one, where the program computes, and five at its side. Who waits for whom
// is said here and nowhere else. On the CPU there is one line of work: everything here does nothing.
//
// Memory is never marked as used by a second stream if its life is the executor's own. It comes from the pool of one
// side stream, and what is written into it next is written on that stream, or after it: so it is enough that this
// stream waits for the last reader before the memory is given back. The allocator then has nothing to wait for.
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
  kCurrent,  ///< of the calling thread
  kGather,
  kReduce,
  kCopy,  ///< of gradients into buckets
  kOffload,
  kReload,
};
constexpr std::size_t kLines = 6;

/// A place in a stream's work. One that was never set has been reached.
class Point {
 private:
  friend class Streams;
  std::optional<c10::Event> event_;
};

class Streams {
 public:
  /// The side streams of a GPU are those of the process: simulated ranks share them.
  explicit Streams(c10::Device device);

  c10::Device device() const { return device_; }
  bool on_gpu() const { return !device_.is_cpu(); }

  c10::Stream get(Line line) const;

  /// What `later` is given from here on runs after all that `earlier` has been given.
  void after(Line later, Line earlier) { after(get(later), earlier); }
  void after(const c10::Stream& later, Line earlier);

  void set(Point& point, Line line) const;
  void wait(Line later, const Point& point) const;

  /// The memory is not given to others before what the stream has been given by the end of the tensor's life is done.
  void mark_used(const at::Tensor& tensor, Line line) const;

  /// The calling thread waits.
  void synchronize(Line line) const;
  /// As synchronize, of all side streams; false if they need longer. An error of the device ends it, too.
  bool drain(std::chrono::seconds longest) const noexcept;

 private:
  const c10::Device device_;
  std::array<std::optional<c10::Stream>, kLines> side_;
  std::optional<c10::Event> between_;  ///< every wait is for the version of the moment, so one event serves all
};

/// Makes a side stream the current one. What is allocated meanwhile belongs to its pool.
class On {
 public:
  On(const Streams& streams, Line line) {
    if (streams.on_gpu()) guard_.reset_stream(streams.get(line));
  }

 private:
  c10::OptionalStreamGuard guard_;
};

}  // namespace dcmt::zero3
