// A user's program in C++ that uses the lab: it finds and verifies a witness, and catches an error
// thrown in one library by the type of the other.
#include <cstdio>
#include <string>

#include <tamis/error.h>
#include <tamis/lab/generate.h>
#include <tamis/lab/realise.h>
#include <tamis/lab/tensor.h>
#include <tamis/lab/verify.h>

int main() {
  const tamis::lab::Pattern pattern = tamis::lab::banded_pattern(16, 1, false);
  tamis::lab::RealiseOptions options;
  options.dim = 4;
  const tamis::lab::Realisation found = tamis::lab::realise(pattern, options);
  if (!found.witness || !tamis::lab::verify(pattern, *found.witness, {}).holds()) {
    std::puts("no witness of a band in four columns");
    return 1;
  }
  try {
    tamis::lab::read_npy("no/such/file.npy");
    std::puts("a file that does not exist was read");
    return 1;
  } catch (const tamis::Error& error) {
    if (std::string(error.what()).find("no/such/file.npy") == std::string::npos) {
      std::printf("the message does not name the file: %s\n", error.what());
      return 1;
    }
  }
  std::puts("C++ program of the lab: a witness was found and verified");
}
