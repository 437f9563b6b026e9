/* x to the power of y for vectors: type `numbers`, of NUMBERS lanes, is defined before.
 *
 * Four lanes at a time, because the pow of one CPU runtime for 8 doubles gives wrong numbers in all
 * lanes if some of them are 0.
 */
#ifndef SIMULATION_POWER_H
#define SIMULATION_POWER_H

#ifndef NUMBERS
#define NUMBERS 1
typedef float numbers;
#endif

static inline numbers power(const numbers a, const numbers b)
{
#if NUMBERS == 16
    return (numbers)(pow(a.lo.lo, b.lo.lo), pow(a.lo.hi, b.lo.hi), pow(a.hi.lo, b.hi.lo),
                     pow(a.hi.hi, b.hi.hi));
#elif NUMBERS == 8
    return (numbers)(pow(a.lo, b.lo), pow(a.hi, b.hi));
#else
    return pow(a, b);
#endif
}

#endif /* SIMULATION_POWER_H */
