# SPDX-License-Identifier: BSD-2-Clause
"""Workers of a DataLoader put what they read on the device, and so each of them has a context; with
`host`, they do not."""
import sys
import time

import torch

from witness import checkpoint, model

HOST = sys.argv[1:] == ["host"]


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        if HOST:
            return torch.full((1024,), float(index))
        return torch.full((1024,), float(index), device="cuda").cpu()


def main():
    net = model()
    loader = torch.utils.data.DataLoader(Squares(), batch_size=4, num_workers=2,
                                         multiprocessing_context="spawn", persistent_workers=True)
    for batch in loader:
        net(batch.cuda())
    for _ in range(100):
        net(batch.cuda())
        time.sleep(0.1)
    checkpoint("end")


if __name__ == "__main__":
    main()
