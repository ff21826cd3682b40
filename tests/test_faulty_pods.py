"""What is left of a large machine where one cable or NIC is slow or dead: `best` finds it."""

import pytest

import hopcast

CASES = [
    ("all_gather", "v5e:8x16", {"slow": ["0,0:0,1=.5"]}, 0.97),
    ("all_gather", "v5p:4x4x8", {"slow": ["0,0,0:0,0,1=.5"]}, 0.97),
    ("all_gather", "dgx-h100:16", {"dead": ["0,0:rail 0 leaf"]}, 0.95),
    ("reduce_scatter", "dgx-h100:16", {"dead": ["0,0:rail 0 leaf"]}, 0.93),
    ("reduce_scatter", "dgx-h100:12", {"slow": ["0,0:rail 0 leaf=.5"]}, 0.9),
]


@pytest.mark.parametrize(("collective", "name", "fault", "least"), CASES)
def test_a_fault_costs_a_large_machine_what_it_must(collective, name, fault, least):
    row = hopcast.predict(collective, name, algorithm="best", size="1GiB", price="flows", **fault).rows[0]
    assert least < row["efficiency"] <= 1 + 1e-9
