#pragma once
// A value, or the one clear sentence that says why there is none. Errors travel up as Result<T> to the nearest
// shell, which turns them into an event or logs them, never both.
#include <cassert>
#include <cstring>
#include <string>
#include <utility>
#include <variant>
namespace moult {
struct [[nodiscard]] Error {
  std::string message;  // names what and where, for a person: "cannot bind 127.0.0.1:80: Permission denied"
  int code = 0;         // errno where one is behind it, else 0
};

// `what: strerror(code)`.
inline Error errno_error(const std::string& what, int code) { return {what + ": " + std::strerror(code), code}; }

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}
  Result(Error error) : content_(std::move(error)) {}
  explicit operator bool() const { return content_.index() == 0; }
  T& operator*() & { return std::get<0>(content_); }
  const T& operator*() const& { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }
  const Error& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}
  explicit operator bool() const { return !failed_; }
  const Error& error() const {
    assert(failed_);
    return error_;
  }

 private:
  Error error_;
  bool failed_ = false;
};
}  // namespace moult
