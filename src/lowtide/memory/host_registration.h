// Memory that a GPU copies from directly: page-locked by CUDA's driver, which is looked for at run time and need not be there.
//
//   HostRegistration registration = HostRegistration::of(data, bytes);   // until it goes out of scope; empty if refused
//   if (!registration) why = HostRegistration::refusal();                // "no CUDA driver: …", "CUDA_ERROR_OUT_OF_MEMORY"
//
// Exactly the range asked for is registered; a pool that rounds up to powers of two would break the budget's promise. The driver's
// context is that of the device which was current in the thread that asked first, or device 0's.
//
// CUDA does not survive fork(): a child registers nothing, and leaves its parent's registrations alone.
//
// Thread-safe: of() and refusal(); one owner at a time. Blocks while the driver locks pages.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace lowtide {

class HostRegistration {
 public:
  HostRegistration() = default;
  // Whole pages that stay mapped as long as the registration lives.
  static HostRegistration of(void* data, std::size_t bytes) noexcept;
  static std::string refusal();         // why the last one was refused; empty if none was
  static void forbid(std::string why);  // all that follow in this process: CUDA is not even looked for

  HostRegistration(HostRegistration&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  HostRegistration& operator=(HostRegistration&& other) noexcept;
  ~HostRegistration() { undo(); }

  explicit operator bool() const { return data_ != nullptr; }
  void undo() noexcept;

 private:
  explicit HostRegistration(void* data) : data_(data) {}
  void* data_ = nullptr;
};

}  // namespace lowtide
