// Whether the records of a block hold what encode_block may have written. A file whose checksum is right
// can still lie about its bounds, and no reader could tell; but it cannot make attention misbehave.
#include <algorithm>
#include <cmath>

#include <tamis/dtype.h>
#include "core/fail.h"
#include "sieve/index.h"
#include "sieve/index_file.h"

namespace tamis {
namespace {

class Records {
 public:
  Records(const std::string& file, const Index::Impl& index, std::int64_t head, std::int64_t block)
      : file_(file),
        layout_(index.layout),
        head_(head),
        block_(block),
        sinks_(block == 0 ? index.shape.sinks : 0),
        coarse_(index.coarse_block(head, block)),
        middle_(index.middle_block(head, block)) {}

  void check() const {
    check_head();
    check_channels();
    check_norms();
    if (layout_.values) check_values();
  }

 private:
  void expect(bool right, std::string_view what) const {
    if (!right)
      fail(Code::input, "{}: is damaged: in block {} of KV head {}, {}", file_, block_, head_, what);
  }

  static bool is_size(float x) { return std::isfinite(x) && x >= 0; }

  void check_head() const {
    const BlockHead& head = coarse_.head();
    int exponent = 0;
    expect(std::isfinite(head.unit) && std::frexp(head.unit, &exponent) == 0.5F && exponent >= -99 &&
               exponent <= 101,
           "the unit is not a power of 2 from 2^-100 to 2^100");
    expect(is_size(head.key_norm) && is_size(head.centre_norm) && is_size(head.radius) &&
               is_size(head.value_norm) && is_size(head.residual_unit),
           "a norm is negative or not finite");
    expect(head.zero == 0 && head.unused == 0, "unused bytes are not zero");
  }

  void check_channels() const {
    for (std::int64_t c = 0; c < layout_.d32; ++c) {
      const float centre = to_float(f16{coarse_.centre()[c]});
      const float step = to_float(f16{coarse_.step()[c]});
      const bool used = c < layout_.d;
      expect(used ? std::isfinite(centre) : centre == 0, "a channel's centre is not finite");
      expect(used ? std::isfinite(step) && step >= 0x1p-14F : step == 0,
             "a channel's step is not positive and finite");
    }
    for (std::int64_t c = 0; c < layout_.value_d32; ++c)
      expect(std::isfinite(to_float(coarse_.centroid()[c])), "the centroid of the values is not finite");
  }

  void check_norms() const {
    int pinned = 0;
    int coarse_most = 0;
    int middle_most = 0;
    for (std::int64_t j = 0; j < block_keys; ++j) {
      const int coarse = coarse_.norms()[j];
      const int middle = middle_.norms()[j];
      expect(coarse == pinned_code || j >= sinks_, "a sink is not marked as one");
      expect(middle < pinned_code, "a residual norm is out of range");
      if (coarse == pinned_code) {
        ++pinned;
      } else {
        coarse_most = std::max(coarse_most, coarse);
        middle_most = std::max(middle_most, middle);
      }
    }
    const BlockHead& head = coarse_.head();
    expect(head.pinned == pinned && head.coarse_most == coarse_most && head.middle_most == middle_most,
           "the residual norms and their summary disagree");
  }

  void check_values() const {
    expect(coarse_.head().residual_unit > 0, "the unit of the value residuals is zero");
    for (std::int64_t j = 0; j < block_keys; ++j) {
      const float step = to_float(middle_.value_step()[j]);
      expect(std::isfinite(to_float(middle_.value_low()[j])) && is_size(step),
             "the range of a value is not finite");
    }
  }

  const std::string& file_;
  const Layout& layout_;
  std::int64_t head_;
  std::int64_t block_;
  std::int64_t sinks_;
  CoarseBlock<const std::byte> coarse_;
  MiddleBlock<const std::byte> middle_;
};

}  // namespace

void check_records(const std::string& file, const Index::Impl& index, std::int64_t head,
                   std::int64_t block) {
  Records(file, index, head, block).check();
}

}  // namespace tamis
