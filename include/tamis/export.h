// TAMIS_API marks what the shared library exports. The rest is compiled with hidden visibility.
#pragma once

#if defined(TAMIS_STATIC)
#define TAMIS_API
#elif defined(__GNUC__)
#define TAMIS_API __attribute__((visibility("default")))
#else
#define TAMIS_API
#endif
