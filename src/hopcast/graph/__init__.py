"""Graph algorithms on the columns of a topology: searches, flows, trees."""
