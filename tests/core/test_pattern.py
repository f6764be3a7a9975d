import pickle

from kept.core.pattern import compile_late


def test_a_pattern_that_is_not_compiled_yet_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(compile_late(r"a+"))).search("baa").group() == "aa"
