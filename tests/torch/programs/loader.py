# SPDX-License-Identifier: BSD-2-Clause
"""Batches come from two worker processes and a thread that copies them into page-locked memory."""
import torch

from witness import checkpoint, model, step


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        return torch.full((1024,), float(index * index))


def main():
    net = model()
    optimizer = torch.optim.Adam(net.parameters())
    checkpoint("model")
    loader = torch.utils.data.DataLoader(Squares(), batch_size=64, num_workers=2, pin_memory=True)
    for number, batch in enumerate(loader):
        step(net, optimizer, len(batch.to("cuda", non_blocking=True)))
        if number == 3:
            checkpoint("in the middle of an epoch")
    checkpoint("end of the epoch")


if __name__ == "__main__":
    main()
