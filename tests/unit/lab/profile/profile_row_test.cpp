// The figures of one row from its logits equal the f64 reference on every target, for rows chosen
// to be difficult.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>

#include "lab/profile/row.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

struct NamedRow {
  std::string name;
  std::vector<float> s;
};

std::vector<float> draw_row(std::int64_t n, auto f) {
  std::vector<float> s(static_cast<std::size_t>(n));
  for (std::size_t j = 0; j < s.size(); ++j) s[j] = static_cast<float>(f(j));
  return s;
}

std::vector<NamedRow> rows() {
  std::mt19937_64 random(20260501);
  std::normal_distribution<double> normal;
  std::vector<NamedRow> all;
  const auto add = [&](std::string name, std::vector<float> s) {
    all.push_back({std::move(name), std::move(s)});
  };
  for (const std::int64_t n : {1, 2, 3, 7, 8, 31, 32, 33, 64, 100, 127, 1000, 4097, 20000})
    for (const double sigma : {0.0, 1e-3, 0.5, 3.0, 8.0, 40.0})
      add("normal n " + std::to_string(n) + " sigma " + std::to_string(sigma),
          draw_row(n, [&](std::size_t) { return 3 + sigma * normal(random); }));
  for (const std::int64_t n : {1, 10, 100, 1000, 131072}) {
    add("equal " + std::to_string(n), draw_row(n, [](std::size_t) { return -7.3; }));
    add("one heavy " + std::to_string(n), draw_row(n, [&](std::size_t j) {
          return j == 3 % static_cast<std::size_t>(n) ? 200.0 : 0.0;
        }));
    add("one heavier " + std::to_string(n),
        draw_row(n, [](std::size_t j) { return j == 0 ? 12.0 : 0.0; }));
    add("one lighter " + std::to_string(n),
        draw_row(n, [](std::size_t j) { return j == 0 ? -1e9 : 1e-3; }));
    add("few values " + std::to_string(n),
        draw_row(n, [&](std::size_t) { return std::floor(3 * normal(random)); }));
    add("two clusters " + std::to_string(n), draw_row(n, [&](std::size_t j) {
          return (j % 2 == 0 ? 0.0 : -6.0) + 1e-4 * normal(random);
        }));
    add("last digits " + std::to_string(n),
        draw_row(n, [&](std::size_t j) { return 1000 + 0x1p-14 * static_cast<double>(j % 5); }));
    add("huge spread " + std::to_string(n),
        draw_row(n, [&](std::size_t) { return 1e30 * normal(random); }));
    add("wide " + std::to_string(n),
        draw_row(n, [&](std::size_t) { return 1e3 * normal(random); }));
    add("denormal " + std::to_string(n),
        draw_row(n, [&](std::size_t) { return 1e-42 * normal(random); }));
    add("sink and rest " + std::to_string(n),
        draw_row(n, [&](std::size_t j) { return j == 0 ? 0.0 : -60 + 5 * normal(random); }));
    add("ramp " + std::to_string(n),
        draw_row(n, [](std::size_t j) { return -0.01 * static_cast<double>(j); }));
  }
  // Weights 1, ½, ¼, …, so that the dropped mass is a power of two.
  add("geometric", draw_row(200, [](std::size_t j) { return -static_cast<double>(j); }));
  add("geometric, shuffled",
      draw_row(101, [](std::size_t j) { return -static_cast<double>(j * 37 % 101); }));
  return all;
}

/// The figures of one row, and the buffers that they are stored in.
struct Figures {
  lab::RowFigures table;
  Figures(const lab::RowOptions& options, std::int64_t n)
      : table(lab::profiling::empty_figures(1, options, n)) {}
  [[nodiscard]] lab::profiling::RowResult result() { return lab::profiling::result_of(table, 0); }
};

/// A row padded to a multiple of 32, as far as kernels may read; the padding is NaN.
std::vector<float> padded(const std::vector<float>& s) {
  std::vector<float> out((s.size() + 31) / 32 * 32, std::nanf(""));
  std::copy(s.begin(), s.end(), out.begin());
  return out;
}

Figures measure(const lab::kernels::RowKernels& kernels, const std::vector<float>& s,
                const lab::RowOptions& options) {
  const auto n = static_cast<std::int64_t>(s.size());
  Figures figures(options, n);
  std::vector<double> memory(
      static_cast<std::size_t>(lab::profiling::RowScratch::floats(n) / 2 + 1));
  const std::vector<float> row = padded(s);
  EXPECT_TRUE(lab::profiling::measure_row(
      kernels, row.data(), n, options, figures.table.grid,
      lab::profiling::RowScratch::in(reinterpret_cast<float*>(memory.data()), n),
      figures.result()));
  return figures;
}

Figures refer(const std::vector<float>& s, const lab::RowOptions& options) {
  Figures figures(options, static_cast<std::int64_t>(s.size()));
  lab::profiling::reference_row(s, options, figures.table.grid, figures.result());
  return figures;
}

/// Ordinary values of eps, and values that fall on, just above and just below the dropped mass
/// of some k.
std::vector<double> epsilons(const std::vector<float>& s) {
  std::vector<double> eps{0.01, 0.05, 0.1,  0.2,   0.3,  0.5,    0.7,
                          0.99, 1e-3, 1e-6, 1e-12, 0.25, 0x1p-20};
  std::vector<double> w(s.begin(), s.end());
  std::sort(w.begin(), w.end(), std::greater<>());
  const double top = w.front();
  double total = 0;
  for (double& x : w) total += x = std::exp2(x - top);
  for (const std::size_t k : {std::size_t{1}, w.size() / 3, w.size() / 2, w.size() - 1}) {
    double dropped = 0;
    for (std::size_t j = w.size(); j > k; --j) dropped += w[j - 1];
    for (const double factor : {1.0, 1 - 1e-6, 1 + 1e-6, 1 - 1e-7, 1 - 1e-9})
      if (const double e = dropped / total * factor; e > 0 && e < 1) eps.push_back(e);
  }
  return eps;
}

TEST(ProfileRow, KEpsEqualsTheReferenceOnEveryTarget) {
  for (const NamedRow& row : rows()) {
    lab::RowOptions options;
    options.eps = epsilons(row.s);
    const Figures exact = refer(row.s, options);
    for_each_target([&](const char* target) {
      const Figures found = measure(lab::kernels::lab_kernels().rows, row.s, options);
      for (std::size_t e = 0; e < options.eps.size(); ++e)
        ASSERT_EQ(found.table.k_eps[e], exact.table.k_eps[e])
            << row.name << " on " << target << ", eps " << options.eps[e];
    });
  }
}

TEST(ProfileRow, OtherFiguresAreWithinTheirRounding) {
  lab::RowOptions options;
  options.sinks = 4;
  options.windows = {1, 5, 64, 100000};
  for (const NamedRow& row : rows()) {
    const auto n = static_cast<double>(row.s.size());
    const auto [low, high] = std::minmax_element(row.s.begin(), row.s.end());
    const double range = static_cast<double>(*high) - *low;
    const double largest = std::max(std::abs(*high), std::abs(*low));
    // The error of a weight is the rounding of its exponent plus that of exp2, masses have twice
    // this error, and weights below 2^-126 are 0.
    const double tau = 2.001 * (0x1p-24 * std::numbers::ln2 * std::min(range, 126.0) +
                                kernels::exp2_relative_error) +
                       n * 0x1p-125;
    const double binary =
        -tau * std::log(tau) - (1 - tau) * std::log1p(-tau);  // the Fannes–Audenaert inequality
    const double f64 = (n + 10) * 0x1p-52;
    const Figures exact = refer(row.s, options);
    for_each_target([&](const char* target) {
      const Figures found = measure(lab::kernels::lab_kernels().rows, row.s, options);
      const lab::RowFigures& a = found.table;
      const lab::RowFigures& b = exact.table;
      const auto expect = [&](const char* what, double x, double y, double tolerance) {
        EXPECT_LE(std::abs(x - y), tolerance) << what << " of " << row.name << " on " << target;
      };
      EXPECT_EQ(a.n, b.n);
      expect("top1", a.top1[0], b.top1[0], tau);
      expect("entropy", a.entropy[0], b.entropy[0], tau * std::log(n) + binary + f64);
      expect("sink", a.sink[0], b.sink[0], tau + f64);
      for (std::size_t i = 0; i < options.windows.size(); ++i)
        expect("window", a.window[i], b.window[i], tau + f64);
      for (std::size_t g = 0; g < a.grid.size(); ++g)
        expect("curve", a.curve[g], b.curve[g], tau + f64);
      expect("mean", a.mean[0], b.mean[0], f64 * largest);
      expect("sigma", a.sigma[0], b.sigma[0], (0x1p-24 + f64) * range + f64 * largest);
    });
  }
}

TEST(ProfileRow, WindowsAreThoseOfANearbyEps) {
  lab::RowOptions options;
  options.sinks = 2;
  options.eps = {0.01, 0.05, 0.3, 0.9};
  lab::RowOptions more = options;
  lab::RowOptions less = options;
  // Masses have twice the error of a weight, as above.
  const double error = 2.001 * (0x1p-24 * std::numbers::ln2 * 126 + kernels::exp2_relative_error);
  for (double& eps : more.eps) eps *= 1 + 2 * error;
  for (double& eps : less.eps) eps *= 1 - 2 * error;
  for (const NamedRow& row : rows()) {
    const Figures low = refer(row.s, more);
    const Figures high = refer(row.s, less);
    for_each_target([&](const char* target) {
      const Figures found = measure(lab::kernels::lab_kernels().rows, row.s, options);
      for (std::size_t e = 0; e < options.eps.size(); ++e) {
        EXPECT_GE(found.table.w_eps[e], low.table.w_eps[e]) << row.name << " on " << target;
        EXPECT_LE(found.table.w_eps[e], high.table.w_eps[e]) << row.name << " on " << target;
      }
    });
  }
}

TEST(ProfileRow, TheCurveRisesToOneThroughKEps) {
  lab::RowOptions options;
  for (const NamedRow& row : rows()) {
    const Figures found = measure(lab::kernels::lab_kernels().rows, row.s, options);
    const lab::RowFigures& figures = found.table;
    EXPECT_TRUE(std::is_sorted(figures.curve.begin(), figures.curve.end())) << row.name;
    EXPECT_EQ(figures.curve.front(), row.s.size() == 1 ? 1 : figures.top1[0]) << row.name;
    for (std::size_t e = 0; e < options.eps.size(); ++e)
      for (std::size_t g = 0; g < figures.grid.size(); ++g) {
        const double missing = 1 - figures.curve[g] - options.eps[e];
        if (missing > 1e-4) {
          EXPECT_GT(figures.k_eps[e], figures.grid[g]) << row.name;
        } else if (missing < -1e-4) {
          EXPECT_LE(figures.k_eps[e], figures.grid[g]) << row.name;
        }
      }
  }
}

TEST(ProfileRow, EqualWeightsNeedTheMathematicalNumberOfKeys) {
  // eps·n is an integer. As doubles, some values of eps lie below their decimals, which must not
  // cost a key.
  struct Case {
    int n;
    double eps;
    int k;
  };
  for (const Case& of : {Case{100, 0.01, 99},
                         {100, 0.05, 95},
                         {10, 0.3, 7},
                         {10, 0.7, 3},
                         {1000, 0.7, 300},
                         {20, 0.15, 17},
                         {131072, 0.25, 98304}}) {
    lab::RowOptions options;
    options.eps = {of.eps};
    for_each_target([&](const char* target) {
      const Figures found =
          measure(lab::kernels::lab_kernels().rows,
                  std::vector<float>(static_cast<std::size_t>(of.n), 2.5F), options);
      EXPECT_EQ(found.table.k_eps[0], of.k) << of.n << " keys, eps " << of.eps << " on " << target;
    });
  }
}

TEST(ProfileRow, NonFiniteLogitsAreRefused) {
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY})
    for (const std::size_t place : {0U, 17U, 99U})
      for_each_target([&](const char* target) {
        std::vector<float> s(100, 0.5F);
        s[place] = bad;
        const lab::RowOptions options;
        Figures figures(options, 100);
        std::vector<double> memory(
            static_cast<std::size_t>(lab::profiling::RowScratch::floats(100) / 2 + 1));
        const std::vector<float> row = padded(s);
        EXPECT_FALSE(lab::profiling::measure_row(
            lab::kernels::lab_kernels().rows, row.data(), 100, options, figures.table.grid,
            lab::profiling::RowScratch::in(reinterpret_cast<float*>(memory.data()), 100),
            figures.result()))
            << bad << " at " << place << " on " << target;
      });
}

TEST(ProfileRow, TheGridHasTwoPlacesPerOctave) {
  EXPECT_EQ(lab::profiling::mass_grid(0), (std::vector<std::int64_t>{}));
  EXPECT_EQ(lab::profiling::mass_grid(1), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(lab::profiling::mass_grid(24),
            (std::vector<std::int64_t>{1, 2, 3, 4, 6, 8, 12, 16, 24}));
}

TEST(ProfileRow, WeightsInF64AreThoseOfTheCLibrary) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> uniform(-1100.0F, 0.0F);
  std::vector<float> s(1003);
  for (float& x : s) x = uniform(random);
  s[17] = 0;
  for_each_target([&](const char* target) {
    std::vector<double> w(s.size());
    const std::vector<float> row = padded(s);
    lab::kernels::lab_kernels().rows.weigh_f64(row.data(), static_cast<std::int64_t>(s.size()),
                                               0.0F, w.data());
    for (std::size_t j = 0; j < s.size(); ++j) {
      const double exact = std::exp2(std::max(-1000.0, static_cast<double>(s[j])));
      EXPECT_LE(std::abs(w[j] - exact), exact * 0x1p-50) << s[j] << " on " << target;
    }
  });
}

}  // namespace
}  // namespace tamis::test
