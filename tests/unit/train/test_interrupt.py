import os
import signal

import pytest

from facetmt.train.interrupt import Interrupt, Interrupted


@pytest.mark.parametrize("number", Interrupt.SIGNALS)
def test_a_signal_only_sets_a_flag_and_a_second_one_changes_nothing(number):
    former = signal.getsignal(number)
    with Interrupt() as interrupt:
        interrupt.check()
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
        with pytest.raises(Interrupted):
            interrupt.check()
    assert signal.getsignal(number) == former


def test_one_inside_another_knows_what_was_asked_before_and_says_what_was_asked_of_it():
    with Interrupt() as outer:
        with Interrupt() as inner:
            os.kill(os.getpid(), signal.SIGTERM)
            assert inner.asked and not outer.asked
        assert outer.asked
        with Interrupt() as later:
            assert later.asked
