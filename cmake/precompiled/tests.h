// What the tests include beside it.
#include <catch2/catch.hpp>

#include "cmake/precompiled/core.h"
