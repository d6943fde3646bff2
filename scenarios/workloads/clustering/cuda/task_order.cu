// Notes who executes each task of a grid, for tests of the forms on few units.
//
// times[task] counts its executions; by[task] is the work-group of a redirected form, or the unit of an agent.
#include "clustered.h"

static __device__ __forceinline__ void note(Block block, unsigned *times, unsigned *by, unsigned who) {
    unsigned task = (block.z * block.height + block.y) * block.width + block.x;
    if (threadIdx.x == 0) {
        atomicAdd(&times[task], 1);
        by[task] = who;
    }
}

static __device__ __forceinline__ void note_group(Block block, unsigned *times, unsigned *by) {
    note(block, times, by, (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
}

static __device__ __forceinline__ void note_unit(Block block, unsigned *times, unsigned *by) {
    note(block, times, by, own_unit());
}

#define PARAMETERS (unsigned *times, unsigned *by)
#define ARGUMENTS (times, by)

REDIRECTED_FORM(task_order_rd_rows_2, 64, 2, Rows, note_group, PARAMETERS, ARGUMENTS)
REDIRECTED_FORM(task_order_rd_rows_3, 64, 3, Rows, note_group, PARAMETERS, ARGUMENTS)
REDIRECTED_FORM(task_order_rd_rows_4, 64, 4, Rows, note_group, PARAMETERS, ARGUMENTS)
REDIRECTED_FORM(task_order_rd_columns_4, 64, 4, Columns, note_group, PARAMETERS, ARGUMENTS)
REDIRECTED_FORM(task_order_rd_planes_4, 64, 4, Planes<Columns>, note_group, PARAMETERS, ARGUMENTS)

using Tiles2 = Tiles<2, 2>;
AGENT_FORMS(task_order_agents_rows, 64, Rows, false, false, note_unit, PARAMETERS, ARGUMENTS)
AGENT_FORMS(task_order_agents_columns, 64, Columns, false, false, note_unit, PARAMETERS, ARGUMENTS)
AGENT_FORMS(task_order_agents_tiles2, 64, Tiles2, false, false, note_unit, PARAMETERS, ARGUMENTS)
AGENT_FORMS(task_order_agents_planes, 64, Planes<Columns>, false, false, note_unit, PARAMETERS, ARGUMENTS)
AGENT_FORMS(task_order_agents_table, 64, Rows, false, true, note_unit, PARAMETERS, ARGUMENTS)
