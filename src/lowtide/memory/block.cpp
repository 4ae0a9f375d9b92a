#include "lowtide/memory/block.h"

#include <sys/mman.h>

#include <cassert>
#include <new>

#include "lowtide/base/fault.h"
#include "lowtide/memory/page_arena.h"

namespace lowtide {
namespace {

constexpr std::size_t huge_bytes = 2 << 20;
constexpr std::size_t arena_bytes = PageArena::largest_pages * page_bytes;

// Maps a little more and trims, so that huge pages can back the whole of it.
std::byte* map_huge_aligned(std::size_t bytes) {
  void* mapping = mmap(nullptr, bytes + huge_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* start = static_cast<std::byte*>(mapping);
  auto* aligned = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(start), huge_bytes));
  if (aligned != start) munmap(start, static_cast<std::size_t>(aligned - start));
  const std::size_t behind = static_cast<std::size_t>((start + bytes + huge_bytes) - (aligned + bytes));
  if (behind > 0) munmap(aligned + bytes, behind);
  madvise(aligned, bytes, MADV_HUGEPAGE);
  return aligned;
}

std::byte* map_plain(std::size_t bytes) {
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  if (bytes >= huge_bytes) madvise(mapping, bytes, MADV_NOHUGEPAGE);
  return static_cast<std::byte*>(mapping);
}

}  // namespace

Block Block::allocate(Lease lease, Pages pages) {
  const std::size_t bytes = lease.bytes();
  assert(bytes % page_bytes == 0);
  if (bytes == 0) return {};
  std::byte* data = nullptr;
  if (fault::at(fault::Stage::allocate) == 0) {
    data = bytes <= arena_bytes                                   ? PageArena::process().allocate(bytes)
           : bytes >= huge_bytes && pages == Pages::huge_if_large ? map_huge_aligned(bytes)
                                                                  : map_plain(bytes);
  }
  if (data == nullptr) throw std::bad_alloc();
  return Block(std::move(lease), data, bytes, bytes > arena_bytes);
}

Block::Block(Block&& other) noexcept
    : lease_(std::move(other.lease_)),
      registration_(std::move(other.registration_)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      mapped_(other.mapped_) {}

Block& Block::operator=(Block&& other) noexcept {
  if (this != &other) {
    free();
    lease_ = std::move(other.lease_);
    registration_ = std::move(other.registration_);
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
    mapped_ = other.mapped_;
  }
  return *this;
}

Block::~Block() { free(); }

void Block::free() noexcept {
  if (data_ == nullptr) return;
  registration_.undo();
  // The memory goes before the lease does: held bytes are never fewer than resident ones.
  if (mapped_) {
    munmap(data_, size_bytes_);
  } else {
    PageArena::process().free(data_, size_bytes_);
  }
  data_ = nullptr;
  size_bytes_ = 0;
  lease_.release();
}

void Block::shrink(std::uint64_t bytes) noexcept {
  assert(bytes > 0 && bytes % page_bytes == 0);
  if (!can_shrink() || bytes >= size_bytes_) return;
  munmap(data_ + bytes, size_bytes_ - bytes);
  size_bytes_ = bytes;
  lease_.shrink(bytes);
}

void Block::repurpose(Purpose purpose) noexcept { lease_ = lease_.split(lease_.bytes(), purpose); }

}  // namespace lowtide
