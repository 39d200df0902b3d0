"""One element read back: through a list, which takes no operator."""


def item(self):
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return self.view(1).tolist()[0]
