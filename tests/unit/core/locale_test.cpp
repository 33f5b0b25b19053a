// Numbers are read and written in the same way under any locale of the program. The test makes a
// locale with a decimal comma.
#include <gtest/gtest.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <locale>
#include <sstream>
#include <string>

#include <tamis/budget.h>
#include <tamis/error.h>
#include <tamis/lab/decide.h>
#include <tamis/lab/generate.h>
#include <tamis/lab/pattern.h>
#include <tamis/lab/realise.h>
#include <tamis/lab/refutation.h>
#include <tamis/lab/tensor.h>
#include <tamis/lab/witness.h>

#include "support/io_files.h"

#ifdef TAMIS_UNDER_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace tamis {
namespace {

std::string contents(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return all.str();
}

/// Everything made from fractional numbers: texts, files, and what is read back from them.
std::string everything(const test::Folder& folder) {
  std::string all =
      to_string(parse_budget("power:1234.5,0.25")) + to_string(parse_budget("mass:0.015625"));
  try {
    (void)parse_budget("mass:1.5");
  } catch (const Error& error) {
    all += error.what();
  }
  std::ofstream(folder / "hand.mtx") << "%%MatrixMarket matrix coordinate real general\n"
                                        "2 2 3\n1 1 1.5\n1 2 1234.75\n2 2 2.5e-1\n";
  const lab::Pattern hand = lab::read_pattern(folder / "hand.mtx");
  lab::write_matrix_market(folder / "again.mtx", hand);
  all += contents(folder / "again.mtx");
  std::ofstream(folder / "some.qrels") << "1 0 a 1\n1 0 b 2\n2 0 a 1\n";
  lab::write_matrix_market(folder / "qrels.mtx", lab::read_pattern(folder / "some.qrels"));
  all += contents(folder / "qrels.mtx");

  const lab::Pattern pattern =
      lab::permutations_pattern(1500, 1, 1.5, 1);  // indices of four digits
  lab::write_matrix_market(folder / "large.mtx", pattern);
  all += contents(folder / "large.mtx");
  lab::RealiseOptions options;
  options.dim = 4;
  options.conditions.eps1 = 0.125;
  options.method = lab::Method::moment;
  const auto result = lab::realise(lab::permutations_pattern(16, 2, 1, 1), options);
  if (!result.witness) throw std::runtime_error("no witness");
  lab::write_witness(folder / "witness.safetensors", *result.witness);
  all += contents(folder / "witness.safetensors");
  lab::write_witness(folder / "again.safetensors",
                     lab::read_witness(folder / "witness.safetensors"));
  all += contents(folder / "again.safetensors");
  return all;
}

TEST(Locale, NumbersAreReadAndWrittenWithPointsInAnyLocale) {
  const test::Folder folder;
  const std::string made = folder / "de_DE.UTF-8";
  if (std::system(("localedef -i de_DE -f UTF-8 " + made + " 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "this machine cannot make a locale";
  const std::string expected = everything(folder);
#ifdef TAMIS_UNDER_ASAN
  const __lsan::ScopedDisabler glibc_keeps_the_path;
#endif
  ::setenv("LOCPATH", folder.path().c_str(), 1);
  ASSERT_NE(std::setlocale(LC_ALL, "de_DE.UTF-8"), nullptr);
  const std::locale before = std::locale::global(std::locale("de_DE.UTF-8"));
  char text[8];
  std::snprintf(text, sizeof text, "%.1f", 0.5);
  EXPECT_STREQ(text, "0,5");
  std::string found;
  EXPECT_NO_THROW(found = everything(folder));
  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
  ::unsetenv("LOCPATH");
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace tamis
