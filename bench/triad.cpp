// triad: the memory bandwidth of one thread, measured as gigabytes per second of a[i] = b[i] + s c[i], the
// best of ten passes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

int main() {
  const std::size_t count = std::size_t{1} << 24;
  std::vector<double> a(count, 0.0);
  std::vector<double> b(count, 1.0);
  std::vector<double> c(count, 2.0);
  double best = 1e9;
  for (int pass = 0; pass < 10; ++pass) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + 3.0 * c[i];
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::printf("%.2f\n", a[count / 2] > 0.0 ? 3.0 * 8.0 * static_cast<double>(count) / best * 1e-9 : 0.0);
  return 0;
}
