#include <string>

#include <catch2/catch.hpp>

#include "core/deadline.h"
#include "service/access/rates.h"
#include "tests/support/redis_server.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

int admitted(RateLimiter& limiter, const Clock& clock, int tries) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += limiter.take("192.0.2.7/32", clock.now()).is_admitted ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("Processes share token buckets and quotas through Redis and count alone without it",
          "[service][limits][redis]") {
  const auto redis = test::RedisServer::start();
  if (redis == nullptr) return;
  const RedisAddress address{"127.0.0.1", redis->port(), 0, ""};
  const Clock& clock = machine_clock();
  RateLimiter here(0.001, 10);
  RateLimiter there(0.001, 10);
  SharedLimits of_here(address, clock, here);
  SharedLimits of_there(address, clock, there);
  CHECK(admitted(here, clock, 6) == 6);
  of_here.exchange();
  CHECK(admitted(there, clock, 1) == 1);
  of_there.exchange();
  CHECK(admitted(there, clock, 10) == 3);  // ten in both processes together
  of_there.exchange();
  CHECK(admitted(here, clock, 1) == 1);  // admitted before this process heard of the other's requests
  of_here.exchange();
  CHECK(admitted(here, clock, 10) == 0);
  CHECK(of_here.usage()("ann", 1, 5) == 5);
  CHECK(of_there.usage()("ann", 1, 3) == 8);
  CHECK(of_there.usage()("ann", 2, 3) == 3);
  redis->stop();
  CHECK_FALSE(of_here.usage()("ann", 1, 5).has_value());
  RateLimiter alone(0.001, 2);
  SharedLimits of_alone(address, clock, alone);
  CHECK(admitted(alone, clock, 5) == 2);
  of_alone.exchange();
  CHECK(admitted(alone, clock, 5) == 0);
}
