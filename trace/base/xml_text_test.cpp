#include "trace/base/xml_text.h"

#include <gtest/gtest.h>

namespace dcmt {
namespace {

TEST(XmlText, NothingOfATextIsMarkup) {
  EXPECT_EQ(xml_escaped("<a b=\"c\" d='e'> & f"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt; &amp; f");
  EXPECT_EQ(xml_escaped(""), "");
}

}  // namespace
}  // namespace dcmt
