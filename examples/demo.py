"""The main job on a real example: two collectives on two TPU slices, as tables, findings and pictures.

Run it with `make demo`; it writes into out/demo.
"""

from pathlib import Path

import hopcast as hc

OUT = Path("out/demo")
SIZE = "64MiB"


def main() -> None:
    """Predict, explain and draw."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name in ("v5e:4x4", "v5e:16x16"):
        cluster = hc.cluster(name)
        for collective in ("all_gather", "all_reduce"):
            result = hc.predict(collective, cluster, size=SIZE)
            print(f"\n$ hopcast predict {collective} {name} --size {SIZE}\n")
            print(result)
        stem = name.replace(":", "-")
        hc.draw(cluster).save(OUT / f"{stem}.svg")
    schedule = hc.build("all_gather", "v5e:4x4", over="x", algorithm="chain")
    hc.draw(schedule).save(OUT / "all_gather-chain.svg")
    print("\nPictures, to be opened in a browser:")
    for path in sorted(OUT.glob("*.svg")):
        print(f"  {path.resolve()}")


if __name__ == "__main__":
    main()
