# SPDX-License-Identifier: BSD-2-Clause
"""A tensor is sent to a spawned process, which opens its memory and has some of its own."""
import torch
import torch.multiprocessing as multiprocessing

from witness import checkpoint, mib


def receiver(queue, done):
    tensor = queue.get()
    own = mib(33)
    checkpoint("child")
    done.put(tensor.numel() + own.numel())
    del tensor
    torch.cuda.ipc_collect()
    checkpoint("child, after it has let go")


def main():
    context = multiprocessing.get_context("spawn")
    queue, done = context.Queue(), context.Queue()
    shared = mib(70)
    checkpoint("parent")
    process = context.Process(target=receiver, args=(queue, done))
    process.start()
    queue.put(shared)
    done.get()
    checkpoint("parent, while it is shared")
    process.join()
    assert process.exitcode == 0
    del shared
    torch.cuda.ipc_collect()
    torch.cuda.empty_cache()
    checkpoint("parent, afterwards")


if __name__ == "__main__":
    main()
