/* interpreter: bytecodes of a stack machine, each by one work-item.
 *
 * Purpose     A launch of `phase` evaluates a phase: bytecodes that do not depend on each other. One
 *             of `steps` takes many steps. A work-item finds the begin of its bytecode in starts, and
 *             interprets words until OP_END. An assignment to a function stores it; to a state, see
 *             simulation/stages.h.
 *
 * Layout      words    OP_VARIABLE_IND 0  OP_CONSTANT 7  OP_TIMES 2  OP_ASSIGN_IND 32  OP_END  ...
 *             indices  s0 ... s31  d0 ... d31  a slot for each lane of a warp
 *             values   constants
 *             sums     terms and place in indices of the sum of each warp; 0 terms: none
 *             phases   first bytecode, bytecodes, and rounds of sums, of each phase
 *
 *             A bytecode that is unified for a warp has one copy; the lane selects its operand. The
 *             stack is private, and its top is in a register.
 *
 * Parameters  PYAPSP_REAL   double or float          PYAPSP_DEPTH  values on the stack, at most
 *             PYAPSP_WARP   lanes of a warp          PYAPSP_GROUP  work-items of a group
 *             PYAPSP_SUM    0: the phase has no sums; see simulation/sums.h
 *             PYAPSP_EACH   bytecodes of a work-item, one after the other
 *             PYAPSP_PHASES 0: the kernel is `phase`; else phases of a stage, and it is `steps`: see
 *                           simulation/steps.h
 *
 * Cost        One read of a word for each opcode and operand, one branch for each opcode.
 *
 * Source      F. Okuyama's thesis, 2013, section 5.5.1, figures 5.6 and 5.7.
 */
#ifndef PYAPSP_DEPTH
#define PYAPSP_DEPTH 16
#endif
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 32
#endif
#ifndef PYAPSP_EACH
#define PYAPSP_EACH 1
#endif
#ifndef PYAPSP_PHASES
#define PYAPSP_PHASES 0
#endif
#include "simulation/sums.h"

/* As pyapsp/simulation/bytecode.py numbers them. */
enum {
    OP_END, OP_CONSTANT, OP_VARIABLE, OP_ASSIGN, OP_CONSTANT_IND, OP_VARIABLE_IND, OP_ASSIGN_IND,
    OP_SUM, OP_TIME, OP_JUMP, OP_JUMP_UNLESS, OP_PLUS, OP_TIMES, OP_MAX, OP_MIN, OP_AND, OP_OR,
    OP_XOR, OP_POWN, OP_MINUS, OP_DIVIDE, OP_POWER, OP_REM, OP_QUOTIENT, OP_EQ, OP_NEQ, OP_GT,
    OP_LT, OP_GEQ, OP_LEQ, OP_NEGATE, OP_NOT, OP_SQRT, OP_EXP, OP_LN, OP_LOG10, OP_ABS, OP_FLOOR,
    OP_CEILING, OP_FACTORIAL, OP_SIN, OP_COS, OP_TAN, OP_ASIN, OP_ACOS, OP_ATAN, OP_SINH, OP_COSH,
    OP_TANH, OP_ASINH, OP_ACOSH, OP_ATANH
};

#define PUSH(value)                                                                                \
    do {                                                                                           \
        const real pushed = (value);                                                               \
        stack[depth++] = top;                                                                      \
        top = pushed;                                                                              \
    } while (0)

#define TABLE_ARGUMENTS                                                                            \
    __global const int *restrict words, __global const int *restrict indices,                      \
        __global const real *restrict values, __global const int *restrict starts,                 \
        __global const int *restrict sums, __global const int *restrict phases
#define TABLES words, indices, values, starts, sums, phases
#if PYAPSP_SUM
#define SUM_MEMORY __local real part[PYAPSP_GROUP], error[PYAPSP_GROUP];
#else
#define SUM_MEMORY
#endif

/* Interpret the bytecode of an item; `total` is the sum that its warp has added. */
static void interpret(const int item, const real total, STAGE_ARGUMENTS, TABLE_ARGUMENTS)
{
    const int lane = item % PYAPSP_WARP;
    int pc = starts[item];
    real stack[PYAPSP_DEPTH + 1], top = 0;
    int depth = 0;
    while (pc >= 0) {
        const int op = words[pc++];
        if (op == OP_END)
            break;
        switch (op) {
        case OP_CONSTANT: PUSH(values[words[pc++]]); break;
        case OP_CONSTANT_IND: PUSH(values[words[pc++] + lane]); break;
        case OP_VARIABLE: {
            const int slot = words[pc++];
            PUSH(VARIABLE_AT(slot));
            break;
        }
        case OP_VARIABLE_IND: {
            const int slot = indices[words[pc++] + lane];
            PUSH(VARIABLE_AT(slot));
            break;
        }
        case OP_ASSIGN:
        case OP_ASSIGN_IND: {
            int slot = words[pc++];
            if (op == OP_ASSIGN_IND)
                slot = indices[slot + lane];
            if (slot < states)
                ASSIGN_STATE(slot, top);
            else
                ASSIGN_FUNCTION(slot - states, top);
            top = stack[--depth];
            break;
        }
        case OP_SUM:
            pc += 2;
            PUSH(total);
            break;
        case OP_TIME: PUSH(t); break;
        case OP_JUMP: pc += words[pc] + 1; break;
        case OP_JUMP_UNLESS:
            pc += top != 0 ? 1 : words[pc] + 1;
            top = stack[--depth];
            break;
        case OP_POWN: {
            const int power = words[pc++];
            const real square = top * top;
            top = power == 2 ? square : power == 3 ? square * top : square * square;
            break;
        }
        case OP_PLUS:
        case OP_TIMES:
        case OP_MAX:
        case OP_MIN: {
            const int count = words[pc++];
            stack[depth] = top;
            depth -= count - 1;
            top = stack[depth];
            for (int i = 1; i < count; i++) {
                const real other = stack[depth + i];
                top = op == OP_PLUS    ? top + other
                      : op == OP_TIMES ? top * other
                      : op == OP_MAX   ? fmax(top, other)
                                       : fmin(top, other);
            }
            break;
        }
        case OP_AND:
        case OP_OR:
        case OP_XOR: {
            const int count = words[pc++];
            stack[depth] = top;
            depth -= count - 1;
            int ones = 0;
            for (int i = 0; i < count; i++)
                ones += stack[depth + i] != 0;
            top = op == OP_AND ? ones == count : op == OP_OR ? ones > 0 : ones % 2;
            break;
        }
#define TWO(op, value)                                                                             \
    case op: {                                                                                     \
        const real a = stack[--depth];                                                             \
        top = (value);                                                                             \
        break;                                                                                     \
    }
#define ONE(op, value)                                                                             \
    case op: top = (value); break;
        TWO(OP_MINUS, a - top)
        TWO(OP_DIVIDE, a / top)
        TWO(OP_POWER, pow(a, top))
        TWO(OP_REM, fmod(a, top))
        TWO(OP_QUOTIENT, trunc(a / top))
        TWO(OP_EQ, a == top)
        TWO(OP_NEQ, a != top)
        TWO(OP_GT, a > top)
        TWO(OP_LT, a < top)
        TWO(OP_GEQ, a >= top)
        TWO(OP_LEQ, a <= top)
        ONE(OP_NEGATE, -top)
        ONE(OP_NOT, top == 0)
        ONE(OP_SQRT, sqrt(top))
        ONE(OP_EXP, exp(top))
        ONE(OP_LN, log(top))
        ONE(OP_LOG10, log10(top))
        ONE(OP_ABS, fabs(top))
        ONE(OP_FLOOR, floor(top))
        ONE(OP_CEILING, ceil(top))
        ONE(OP_FACTORIAL, tgamma(top + 1))
        ONE(OP_SIN, sin(top))
        ONE(OP_COS, cos(top))
        ONE(OP_TAN, tan(top))
        ONE(OP_ASIN, asin(top))
        ONE(OP_ACOS, acos(top))
        ONE(OP_ATAN, atan(top))
        ONE(OP_SINH, sinh(top))
        ONE(OP_COSH, cosh(top))
        ONE(OP_TANH, tanh(top))
        ONE(OP_ASINH, asinh(top))
        ONE(OP_ACOSH, acosh(top))
        ONE(OP_ATANH, atanh(top))
        }
    }
}

/* The bytecode of work-item `id` of a phase, and the sum of its warp. */
#if PYAPSP_SUM
#define PHASE_SUM(begin, items, rounds)                                                            \
    warp_sum(id < (items) ? sums[2 * (((begin) + id) / PYAPSP_WARP)] : 0,                          \
             indices + (id < (items) ? sums[2 * (((begin) + id) / PYAPSP_WARP) + 1] : 0), rounds,  \
             x, f, states, part, error)
#else
#define PHASE_SUM(begin, items, rounds) 0
#endif
#define PHASE_ITEM(begin, items, rounds)                                                           \
    {                                                                                              \
        const real total = PHASE_SUM(begin, items, rounds);                                        \
        if (id < (items))                                                                          \
            interpret((begin) + id, total, STAGE_PASSED, TABLES);                                  \
    }

#if PYAPSP_PHASES
#define PYAPSP_STEPS PYAPSP_GROUP
#define MODEL_STAGE                                                                                \
    for (int phase = 0; phase < PYAPSP_PHASES; phase++) {                                          \
        const int last = phase == PYAPSP_PHASES - 1;                                               \
        __global const int *const where = phases + 3 * (phase + (last & resets));                    \
        const int begin = where[0], bytecodes = where[1], rounds = where[2];                     \
        if (last) {                                                                                \
            SAMPLE                                                                                 \
        }                                                                                          \
        for (int base = mine * PYAPSP_GROUP; base < bytecodes; base += items) {                    \
            const int id = base + get_local_id(0);                                                 \
            PHASE_ITEM(begin, bytecodes, rounds)                                                   \
        }                                                                                          \
        MEET;                                                                                      \
    }
#include "simulation/steps.h"
#else
__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void
phase(STAGE_ARGUMENTS, TABLE_ARGUMENTS, const int number)
{
    SUM_MEMORY
    const int begin = phases[3 * number], bytecodes = phases[3 * number + 1];
    const int rounds = phases[3 * number + 2];
    for (int turn = 0; turn < PYAPSP_EACH; turn++) {
        const int id = (get_group_id(0) * PYAPSP_EACH + turn) * PYAPSP_GROUP + get_local_id(0);
        PHASE_ITEM(begin, bytecodes, rounds)
    }
}
#endif
