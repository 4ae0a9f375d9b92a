#include "lowtide/loader/order/sampler.h"

#include <algorithm>

#include "lowtide/base/checked.h"
#include "lowtide/permutation.h"

namespace lowtide {
namespace {

// SplitMix64's finaliser: every bit of the result depends on every bit of x.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Two rounds, the seed between them: position and seed are both counters, and neither may show. Streams of nearly the same size have
// nothing in common but the seed.
std::uint64_t random_below(std::uint64_t count, std::uint64_t seed, std::uint64_t position) {
  const std::uint64_t key = mix(mix(seed ^ 0xD6E8FEB86659FD93u) + count * 0x9E3779B97F4A7C15u);
  const std::uint64_t bits = mix(mix(position + 0x9E3779B97F4A7C15u) ^ key);
  return multiply_high(bits, count);
}

}  // namespace

void Sampler::fill(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& samples) const {
  if (windows_) return windows_->rows(begin, end, samples);
  samples.clear();
  samples.reserve(end - begin);
  if (kind_ == Kind::sampled) {
    for (std::uint64_t position = begin; position < end; ++position)
      samples.push_back(random_below(count_, seed_, position));
    return;
  }
  for (std::uint64_t position = begin; position < end;) {
    const std::uint64_t epoch = position / count_;
    const std::uint64_t epoch_end = std::min(end, (epoch + 1) * count_);
    const Permutation permutation(count_, seed_, epoch);
    for (; position < epoch_end; ++position) {
      const std::uint64_t place = position - epoch * count_;
      samples.push_back(kind_ == Kind::shuffled ? permutation(place) : place);
    }
  }
}

}  // namespace lowtide
