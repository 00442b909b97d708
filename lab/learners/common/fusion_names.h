#pragma once

// The laboratory's learners speak of training sets, models and options in the words of fusion/, as the
// product's learners do.

namespace metafuse::fusion::online {}
namespace metafuse::fusion::votes {}

namespace metafuse::lab {

using namespace fusion;

namespace adaboost_mh {
using namespace fusion::votes;
}
namespace online {
using namespace fusion::online;
}

}  // namespace metafuse::lab
