"""The class of each kind of workload."""

from appliance.plan.workloads import (
    FioPlan,
    LotteryPlan,
    MatrixPlan,
    SelftestPlan,
    SqlPlan,
    SurfacePlan,
    SweepPlan,
    VerifyPlan,
    WorkloadPlan,
)
from appliance.workloads.base import Workload
from appliance.workloads.fio.cache_modes import FioModesWorkload
from appliance.workloads.fio.workload import FioWorkload
from appliance.workloads.lottery.workload import LotteryWorkload
from appliance.workloads.matrix.workload import MatrixWorkload
from appliance.workloads.selftest.workload import SelftestWorkload
from appliance.workloads.sql.workload import SqlWorkload
from appliance.workloads.surface.workload import SurfaceWorkload
from appliance.workloads.sweep.workload import SweepWorkload
from appliance.workloads.verify.workload import VerifyWorkload


def make_workload(plan: WorkloadPlan) -> Workload:
    """The workload that a plan describes."""
    workload: Workload
    match plan:
        case FioPlan():
            workload = FioModesWorkload(plan) if plan.modes else FioWorkload(plan)
        case LotteryPlan():
            workload = LotteryWorkload(plan)
        case MatrixPlan():
            workload = MatrixWorkload(plan)
        case SweepPlan():
            workload = SweepWorkload(plan)
        case SqlPlan():
            workload = SqlWorkload(plan)
        case SurfacePlan():
            workload = SurfaceWorkload(plan)
        case SelftestPlan():
            workload = SelftestWorkload(plan)
        case VerifyPlan():
            workload = VerifyWorkload(plan)
    return workload
