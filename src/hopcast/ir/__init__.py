"""Plain data: topologies, clusters, collectives, groups, schedules. numpy and the standard library only."""
