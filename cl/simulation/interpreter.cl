/* interpreter: bytecodes of a stack machine, each by one work-item.
 *
 * Purpose     One launch evaluates a phase: bytecodes that do not depend on each other. A work-item
 *             finds the begin of its bytecode in starts, and interprets words until OP_END. An
 *             assignment to a function stores it; to a state, see simulation/stages.h.
 *
 * Layout      words    OP_VARIABLE_IND 0  OP_CONSTANT 7  OP_TIMES 2  OP_ASSIGN_IND 32  OP_END  ...
 *             indices  s0 ... s31  d0 ... d31  a slot for each lane of a warp
 *             values   constants
 *             sums     terms and place in indices of the sum of each warp; 0 terms: none
 *
 *             A bytecode that is unified for a warp has one copy; the lane selects its operand. The
 *             stack is private, and its top is in a register.
 *
 * Parameters  PYAPSP_REAL   double or float          PYAPSP_DEPTH  values on the stack, at most
 *             PYAPSP_WARP   lanes of a warp          PYAPSP_GROUP  work-items of a group
 *             PYAPSP_SUM    0: the phase has no sums; see simulation/sums.h
 *             PYAPSP_EACH   bytecodes of a work-item, one after the other
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

__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void
phase(STAGE_ARGUMENTS, __global const int *words, __global const int *indices,
      __global const real *values, __global const int *starts, __global const int *sums,
      const int first, const int items, const int rounds)
{
#if PYAPSP_SUM
    __local real part[PYAPSP_GROUP], error[PYAPSP_GROUP];
#endif
    for (int turn = 0; turn < PYAPSP_EACH; turn++) {
        const int id = (get_group_id(0) * PYAPSP_EACH + turn) * PYAPSP_GROUP + get_local_id(0);
        const bool inside = id < items;
        const int item = first + (inside ? id : 0), lane = item % PYAPSP_WARP;
        real total = 0;
#if PYAPSP_SUM
        const int warp = item / PYAPSP_WARP;
        total = warp_sum(inside ? sums[2 * warp] : 0, indices + sums[2 * warp + 1], rounds, x, f,
                         states, part, error);
#endif
        int pc = inside ? starts[item] : -1;
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
}
