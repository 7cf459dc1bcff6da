// A long table of the model. Each row is made when it is read.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>

namespace dcmt::model {

/// Thread-safety: that of the function that makes the rows. The rows of the model are made of const data, so any number
/// of threads may read them.
template <class Row>
class Range {
 public:
  using value_type = Row;
  using Read = std::function<Row(std::size_t)>;

  class Iterator {
   public:
    using value_type = Row;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;

    Iterator() = default;
    Iterator(const Range* range, std::size_t at) : range_(range), at_(at) {}
    [[nodiscard]] Row operator*() const { return (*range_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    void operator++(int) { ++at_; }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Range* range_ = nullptr;
    std::size_t at_ = 0;
  };

  Range() = default;
  Range(std::size_t size, Read read) : size_(size), read_(std::move(read)) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Row operator[](std::size_t index) const { return read_(index); }
  [[nodiscard]] Row front() const { return read_(0); }
  [[nodiscard]] Row back() const { return read_(size_ - 1); }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size_}; }

 private:
  std::size_t size_ = 0;
  Read read_;
};

}  // namespace dcmt::model
