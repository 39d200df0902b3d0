"""KernelGenBench as trajectory-recording Gymnasium environments."""
