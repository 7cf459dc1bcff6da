"""A provider that was built for another CPython says so, is not registered, and leaves the interpreter as it was.

DCMT_FAKE_AGENT and DCMT_PYTHON_PROVIDER name the two libraries.
"""

import ctypes
import os
import sys
import unittest

AGENT = ctypes.PyDLL(os.environ["DCMT_FAKE_AGENT"], ctypes.RTLD_GLOBAL)
AGENT.fake_diagnostic.restype = ctypes.c_char_p
AGENT.fake_records_bytes.restype = ctypes.c_size_t


class AnotherPython(unittest.TestCase):
    def test_says_so_and_stays_off(self):
        code_type = ctypes.string_at(id(type(compile("0", "f", "eval"))), object.__sizeof__(type))
        provider = ctypes.PyDLL(os.environ["DCMT_PYTHON_PROVIDER"])
        provider.dcmt_provider_start.restype = None
        provider.dcmt_provider_start()
        self.assertEqual(AGENT.fake_diagnostic().decode().split(";")[0],
                         "Python stacks and variables are off: built for CPython 3.99, this is "
                         f"{sys.version.split()[0]}")
        self.assertEqual(AGENT.fake_registered(), 0)
        self.assertEqual(AGENT.fake_records_bytes(), 0)
        after = ctypes.string_at(id(type(compile("0", "f", "eval"))), object.__sizeof__(type))
        self.assertEqual(code_type[16:], after[16:])  # past the reference count: no method of code objects was replaced


if __name__ == "__main__":
    unittest.main(verbosity=1)
