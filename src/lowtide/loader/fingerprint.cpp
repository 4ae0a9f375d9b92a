#include "lowtide/loader/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>

#include "lowtide/error.h"
#include "lowtide/kernels/crc32c.h"
#include "lowtide/loader/sample_pages.h"
#include "lowtide/memory/block.h"

namespace lowtide {
namespace {

constexpr std::uint64_t sampled_pages = 256;  // of all files together
constexpr std::uint64_t pages_at_once = 16;   // a state can be had when nearly all of the budget is held
constexpr std::uint64_t least_pages = 4;      // of each
constexpr std::size_t most_marks = 64;
constexpr std::size_t most_long_marks = 16;  // few files: 16 digits each, else 4

std::uint64_t stir(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

std::uint64_t hash_of(const Buffer& buffer) { return crc32c(buffer.data(), buffer.size_bytes()); }

std::uint64_t mark_of(const std::shared_ptr<io::File>& file, std::uint64_t most_pages) {
  const std::uint64_t bytes = file->size_bytes();
  std::uint64_t hash = stir(0x6C6F777469646521u, bytes);
  const SamplePages pages(file, std::max(most_pages, least_pages));
  for (std::uint64_t first = 0; first < pages.count(); first += pages_at_once)
    hash = stir(hash, hash_of(pages.read(first, std::min(first + pages_at_once, pages.count()))));
  return bytes % page_bytes > 0 ? stir(hash, hash_of(pages.rest())) : hash;
}

// Neighbouring files share a mark where there are many.
std::size_t files_per_mark(std::size_t file_count) { return (file_count + most_marks - 1) / most_marks; }
std::size_t digits_of(std::size_t file_count) { return file_count <= most_long_marks ? 16 : 4; }

}  // namespace

DataFingerprint fingerprint(std::span<const std::shared_ptr<io::File>> files) {
  DataFingerprint print;
  print.file_count = files.size();
  if (files.empty()) return print;
  const std::size_t together = files_per_mark(files.size());
  for (std::size_t first = 0; first < files.size(); first += together) {
    std::uint64_t mark = 0;
    for (std::size_t i = first; i < std::min(files.size(), first + together); ++i) {
      print.bytes += files[i]->size_bytes();
      mark = stir(mark, mark_of(files[i], sampled_pages / files.size()));
    }
    print.marks += fmt::format("{:016x}", mark).substr(0, digits_of(files.size()));
  }
  return print;
}

void check_same(const DataFingerprint& saved, const DataFingerprint& now,
                std::span<const std::shared_ptr<io::File>> files) {
  if (saved == now) return;
  if (saved.file_count != now.file_count) {
    throw DataChangedError(fmt::format("the state is of {} file{}, and there {} {} now, from {} on", saved.file_count,
                                       saved.file_count == 1 ? "" : "s", now.file_count == 1 ? "is" : "are",
                                       now.file_count, files.front()->path()));
  }
  const std::size_t digits = digits_of(files.size());
  const std::size_t together = files_per_mark(files.size());
  std::size_t mark = 0;
  while (saved.marks.size() == now.marks.size() && mark * digits < now.marks.size() &&
         saved.marks.compare(mark * digits, digits, now.marks, mark * digits, digits) == 0)
    ++mark;
  const std::size_t first = std::min(mark * together, files.size() - 1);
  const std::size_t last = std::min(first + together, files.size()) - 1;
  const std::string which =
      first == last ? files[first]->path() : fmt::format("one of {} to {}", files[first]->path(), files[last]->path());
  throw DataChangedError(fmt::format("{}: not the data that the state was saved with ({} bytes in all then, {} now)",
                                     which, saved.bytes, now.bytes));
}

}  // namespace lowtide
