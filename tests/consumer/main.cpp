// Reads argv[1], writes its transpose to argv[2], prints the sum, adds its rows up once more in a loader's order: with nothing but the
// public headers.
#include <lowtide/lowtide.h>

#include <cstdio>

int main(int, char** argv) {
  lowtide::set_budget("16MiB");
  const lowtide::Array a = lowtide::open(argv[1]);
  double sum = 0;
  for (const lowtide::RowBlock& block : a.blocks()) {
    for (const float value : block.buffer.as<float>()) sum += value;
  }
  lowtide::RowLoader loader({{a}}, {.share = {.batch = 64, .epochs = 1}});
  double shuffled = 0;
  while (const auto batch = loader.next()) {
    for (const float value : batch->columns[0].as<float>()) shuffled += value;
  }
  if (shuffled != sum) return 1;
  lowtide::save(argv[2], a.transpose(), {.overwrite = true});
  try {
    lowtide::open("absent.npy");
  } catch (const lowtide::IoError&) {
    std::printf("%.1f\n", sum);
    return 0;
  }
  return 1;
}
