"""Joint accelerations of the chain of bench_chain by Pinocchio, in an interpreter that has it; JSON in and out."""

import json
import sys
import time

import numpy as np
import pinocchio as pin


def chain(segments):
    """The chain of bench_chain.chain."""
    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    joint = 0
    for k in range(segments):
        kind = pin.JointModelRY() if k % 2 == 0 else pin.JointModelRZ()
        place = pin.SE3(np.eye(3), np.array([1.0 if k else 0.0, 0.0, 0.0]))
        joint = model.addJoint(joint, kind, place, f"s{k}")
        inertia = pin.Inertia(1.0, np.array([0.5, 0.0, 0.0]), np.diag([1e-3, 1 / 12, 1 / 12]))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return model


def main():
    answers = []
    for case in json.load(sys.stdin):
        q, v = np.array(case["q"]), np.array(case["rate"])
        model = chain(len(q))
        data, tau = model.createData(), np.zeros(len(q))
        a = pin.aba(model, data, q, v, tau).copy()
        count = max(1, int(0.05 / (1e-6 * len(q))))
        times = []
        for _ in range(7):
            start = time.process_time()
            for _ in range(count):
                pin.aba(model, data, q, v, tau)
            times.append((time.process_time() - start) / count)
        answers.append({"acceleration": a.tolist(), "time": min(times)})
    json.dump({"version": pin.__version__, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
