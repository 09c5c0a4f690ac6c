"""Who works on what, and when do we stop: four lines, one pool of workers, one reactor."""
