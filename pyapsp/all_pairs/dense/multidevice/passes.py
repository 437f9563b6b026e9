"""The passes of Floyd-Warshall on several devices, one thread for each of them.

Look-ahead: in a pass, the owner of the next pivot block updates its rows first, and makes the next
row panel of them. It travels while all devices update their other rows:

    owner of k+1    | rows of k+1 | close, multiply | the other rows with panel k   | with k+1 ...
                                                    | send panel k+1 |
    other devices   | update all rows with panel k                                  | with k+1 ...
                                                         | receive panel k+1 |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait

from pyapsp.all_pairs.dense.multidevice.division import Division
from pyapsp.all_pairs.dense.multidevice.exchange import Exchange
from pyapsp.all_pairs.dense.multidevice.share import Share
from pyapsp.device import device_errors

__all__ = ["each_share", "run_passes"]

# Seconds between two checks of the progress.
_LOOK = 0.05


def each_share(
    shares: Sequence[Share],
    work: Callable[[int, Share], None],
    *,
    look: Callable[[], None] = lambda: None,
    stop: Callable[[], None] = lambda: None,
) -> None:
    """Call ``work(number, share)`` for all shares at the same time, and wait.

    `look` is called meanwhile in this thread. After an exception, also one of `look`, `stop` is
    called, and the exception is raised when all calls have ended.
    """

    def guarded(number: int, share: Share) -> None:
        with device_errors(share.device, share.bytes):
            work(number, share)

    with ThreadPoolExecutor(len(shares)) as pool:
        running: list[Future[None]] = []
        try:
            running += [pool.submit(guarded, *each) for each in enumerate(shares)]
            left: set[Future[None]] = set(running)
            while left:
                done, left = wait(left, _LOOK, FIRST_EXCEPTION)
                for future in done:
                    future.result()
                look()
        except BaseException:
            stop()
            raise


def run_passes(
    shares: Sequence[Share],
    division: Division,
    exchange: Exchange,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Run all passes.

    Parameters
    ----------
    shares : sequence of Share
        Of all devices; filled.
    division : Division
    exchange : Exchange
    progress : callable or None
        Called as ``progress(done, total)`` with passes.
    """
    total = len(division.owners)
    ended = [0] * len(shares)

    def bring(number: int, device: int, share: Share) -> None:
        """Make a panel of rows of this device known, or get that of another one."""
        if exchange.alone:
            return
        if division.owners[number] == device:
            exchange.reserve(number)
            share.send(number, exchange.memory(number)).wait()
            exchange.publish(number)
        else:
            exchange.await_panel(number)
            exchange.copying(number, share.receive(number, exchange.memory(number)))

    def work(device: int, share: Share) -> None:
        if division.owners[0] == device:
            share.make_panel(0)
        bring(0, device, share)
        for number in range(total):
            exchange.check()
            following = number + 1
            rest = [block for block in share.blocks if block != number]
            if following < total and division.owners[following] == device:
                rest.remove(following)
                share.update(number, [following])
                share.make_panel(following)
            share.update(number, rest)
            if following < total:
                bring(following, device, share)
            share.end_pass(number)
            ended[device] = following
        share.finish()

    reported = -1

    def look() -> None:
        nonlocal reported
        if progress is not None and (done := min(ended)) != reported:
            reported = done
            progress(done, total)

    each_share(shares, work, look=look, stop=exchange.stop)
