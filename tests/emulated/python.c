/* An interpreter with the library and the emulated GPU inside, for tests of the Python module: what emulates
 * shared memory works in a program alone, not in a shared library. */
#include <Python.h>

int main(int count, char **words) {
    return Py_BytesMain(count, words);
}
