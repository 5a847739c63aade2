#pragma once

#include <memory>
#include <stdexcept>
#include <string>

namespace hockney {

// A call into MPI, UCX, CUDA, NCCL or the operating system failed. what() names file, line, call
// and status.
class BackendError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// This machine lacks what was asked for (memory, a permission, a library): the program exits 3.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An input file cannot be read as what it should be: the program exits 2. what() is one line that
// begins with file:line:column and holds the offending text and what would be accepted.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A wait passed its deadline, or a peer is gone: the program exits 4. what() says who waited for
// whom.
class TimeoutError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Marks exceptions that every rank throws alike, so that one of them says it for all.
struct AgreedMark {
  AgreedMark() = default;
  AgreedMark(const AgreedMark&) = default;
  AgreedMark& operator=(const AgreedMark&) = default;
  virtual ~AgreedMark() = default;
};
template <class Error>
struct Agreed : Error, AgreedMark {
  using Error::Error;
};

// Owns a C handle that is an opaque pointer. Destroy's status is ignored: destructors never throw.
template <auto Destroy>
struct Deleter {
  template <class T>
  void operator()(T* handle) const noexcept {
    static_cast<void>(Destroy(handle));
  }
};

}  // namespace hockney

// Throws BackendError when `call` fails. Each C API adds one overload: const char*
// StatusText(status), null on success.
#define HOCKNEY_CHECK(call)                                                                \
  do {                                                                                     \
    if (const char* text = StatusText(call))                                               \
      throw ::hockney::BackendError(std::string(__FILE__ ":") + std::to_string(__LINE__) + \
                                    ": " #call ": " + text);                               \
  } while (false)
