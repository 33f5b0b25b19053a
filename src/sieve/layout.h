// Where things lie in the records of a block: the coarse one, which every scan reads from end to end,
// and the middle one, of which single keys are read. Sizes depend on the head sizes alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <tamis/index.h>

namespace tamis {

inline constexpr std::int64_t block_keys = page_tokens;
/// Low end, step and residual norm of a 4-bit value.
inline constexpr std::int64_t value_scale_bytes = 5;
/// A residual code that stands for "always read exactly": sinks, and keys no code can hold.
inline constexpr std::uint8_t pinned_code = 255;

/// The numbers of a block that its coarse record begins with. Norms and radii are upper bounds.
struct BlockHead {
  float unit;                ///< a power of 2: centre and step are unit·f16
  float centre_norm;         ///< ‖centre‖₂
  float radius;              ///< ‖v − centroid‖₂ over keys that are not pinned
  float residual_unit;       ///< value residuals are at most residual_unit·code
  float key_norm;            ///< ‖k‖₂
  float value_norm;          ///< ‖v‖₂
  std::uint8_t coarse_most;  ///< the largest residual codes of keys that are not pinned
  std::uint8_t middle_most;
  std::uint8_t pinned;  ///< how many keys are
  std::uint8_t zero;
  std::uint32_t unused;
};
static_assert(sizeof(BlockHead) == 32);

struct Layout {
  explicit Layout(const IndexShape& shape);

  std::int64_t d, d32, value_d, value_d32;
  bool values;
  // Offsets in a coarse record.
  std::size_t centre, step, norms, centroid, high;
  std::size_t coarse_bytes;
  // Offsets in a middle record, which begins with the low plane: d32/2 bytes a key. Value codes take
  // value_d32/2 bytes each.
  std::size_t value_codes, middle_norms, value_norms, value_low, value_step;
  std::size_t middle_bytes;
  /// The residual norm of a key is at most unit·code, in steps of its block's channels.
  double coarse_unit, middle_unit;

  [[nodiscard]] std::int64_t low_stride() const { return d32 / 2; }
  [[nodiscard]] std::int64_t value_stride() const { return value_d32 / 2; }
  [[nodiscard]] std::size_t low_bytes() const {
    return static_cast<std::size_t>(block_keys * low_stride());
  }
  /// Bytes that one key costs at each mesh beyond the ones before.
  [[nodiscard]] std::int64_t middle_key_bytes() const { return d32 / 2 + 1; }
  [[nodiscard]] std::int64_t middle_value_bytes() const { return value_d32 / 2 + value_scale_bytes; }
};

/// The arrays of a coarse record.
template <class Byte>
struct CoarseBlock {
  const Layout& layout;
  Byte* at;

  template <class T>
  using As = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  [[nodiscard]] As<BlockHead>& head() const { return *reinterpret_cast<As<BlockHead>*>(at); }
  [[nodiscard]] auto* centre() const { return reinterpret_cast<As<std::uint16_t>*>(at + layout.centre); }
  [[nodiscard]] auto* step() const { return reinterpret_cast<As<std::uint16_t>*>(at + layout.step); }
  [[nodiscard]] auto* norms() const { return reinterpret_cast<As<std::uint8_t>*>(at + layout.norms); }
  [[nodiscard]] auto* centroid() const { return reinterpret_cast<As<bf16>*>(at + layout.centroid); }
  [[nodiscard]] auto* high() const { return reinterpret_cast<As<std::uint8_t>*>(at + layout.high); }
};

/// The arrays of a middle record.
template <class Byte>
struct MiddleBlock {
  const Layout& layout;
  Byte* at;

  template <class T>
  using As = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  [[nodiscard]] auto* low() const { return reinterpret_cast<As<std::uint8_t>*>(at); }
  [[nodiscard]] auto* value_codes() const {
    return reinterpret_cast<As<std::uint8_t>*>(at + layout.value_codes);
  }
  [[nodiscard]] auto* norms() const {
    return reinterpret_cast<As<std::uint8_t>*>(at + layout.middle_norms);
  }
  [[nodiscard]] auto* value_norms() const {
    return reinterpret_cast<As<std::uint8_t>*>(at + layout.value_norms);
  }
  [[nodiscard]] auto* value_low() const { return reinterpret_cast<As<bf16>*>(at + layout.value_low); }
  [[nodiscard]] auto* value_step() const { return reinterpret_cast<As<bf16>*>(at + layout.value_step); }
};

}  // namespace tamis
