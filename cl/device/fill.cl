/* fill: values of a buffer that a command of the driver does not reach.
 *
 * Purpose   Drivers have a command that fills a buffer. One counts values as int: beyond 2^31 of them
 *           it fails, and with it the context.
 *
 * Layout    buffer[first] .. buffer[first + count - 1] are set; a word is a value of any type.
 *
 * Parameters  PYAPSP_WORD  uint  an unsigned integer as wide as a value
 *
 * Cost      One write for each value.
 *
 * Source    ours.
 */
#ifndef PYAPSP_WORD
#define PYAPSP_WORD uint
#endif

__kernel void fill(__global PYAPSP_WORD *buffer, const long first, const long count,
                   const PYAPSP_WORD value)
{
    for (long i = get_global_id(0); i < count; i += get_global_size(0))
        buffer[first + i] = value;
}
