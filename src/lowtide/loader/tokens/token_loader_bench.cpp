// Batches of 12 x 1024 tokens from a file that is all in the page cache: what the loader costs besides the disk.
#include <benchmark/benchmark.h>

#include <fstream>
#include <string>

#include "lowtide/io/test_file.h"
#include "lowtide/token_loader.h"

namespace lowtide {
namespace {

const std::string& tokens() {
  static const io::TestFolder folder;
  static const std::string path = [] {
    const std::string made = folder / "train.bin";
    std::ofstream(made, std::ios::binary) << std::string(100 << 20, 'x');
    return made;
  }();
  return path;
}

TokenLoaderOptions options() {
  TokenLoaderOptions made;
  made.paths = {tokens()};
  made.block = 1024;
  made.share.batch = 12;
  return made;
}

void next_batch(benchmark::State& state) {
  TokenLoader loader(options());
  for (auto _ : state) benchmark::DoNotOptimize(loader.next());
}
BENCHMARK(next_batch)->UseRealTime();

void sampled_batch(benchmark::State& state) {
  TokenLoader loader(options());
  for (auto _ : state) benchmark::DoNotOptimize(loader.sample());
}
BENCHMARK(sampled_batch)->UseRealTime();

}  // namespace
}  // namespace lowtide
