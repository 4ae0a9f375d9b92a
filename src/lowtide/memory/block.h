// Aligned anonymous memory that a lease pays for; returned to the kernel when freed, so held and resident bytes agree.
//
//   Block block = Block::allocate(Budget::process().take(1_MiB, Purpose::results, "read"));
//   std::memcpy(block.data(), source, block.size_bytes());
//
// Not thread-safe: one owner at a time. Never blocks. Throws std::bad_alloc when the kernel refuses (RLIMIT_AS).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "lowtide/memory/budget.h"
#include "lowtide/memory/host_registration.h"

namespace lowtide {

inline constexpr std::size_t page_bytes = 4096;
constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
constexpr std::uint64_t round_down(std::uint64_t n, std::uint64_t unit) { return n / unit * unit; }

class Block {
 public:
  Block() = default;
  // Small pages where memory is touched here and there: a huge page would be zeroed and resident for its first byte.
  enum class Pages : std::uint8_t { huge_if_large, small };
  // As large as the lease, which must be a whole number of pages. Zeroed. Huge pages are advised from 2 MiB up.
  static Block allocate(Lease lease, Pages pages = Pages::huge_if_large);
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  ~Block();

  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }
  explicit operator bool() const { return data_ != nullptr; }
  void repurpose(Purpose purpose) noexcept;  // the same bytes, accounted under another purpose
  // Gives back what is behind the first `bytes`, a whole number of pages; what is in them stays. Small blocks are left as they are.
  void shrink(std::uint64_t bytes) noexcept;
  bool can_shrink() const { return mapped_ && !pinned(); }
  // For a GPU to copy from directly, until the block is freed; whether CUDA did it.
  bool pin() noexcept { return static_cast<bool>(registration_ = HostRegistration::of(data_, size_bytes_)); }
  bool pinned() const { return static_cast<bool>(registration_); }

 private:
  Block(Lease lease, std::byte* data, std::size_t bytes, bool mapped)
      : lease_(std::move(lease)), data_(data), size_bytes_(bytes), mapped_(mapped) {}
  void free() noexcept;
  Lease lease_;
  HostRegistration registration_;
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  bool mapped_ = false;  // by itself, rather than a part of the arena
};

}  // namespace lowtide
