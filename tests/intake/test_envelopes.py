"""A tool's result without what its client put around it."""

from cases import each_case
from kept.intake.envelopes import unwrap_result

RESULT = "error: cannot find module 'x'\n    at a.js:1:2"


@each_case(
    "text",
    [
        RESULT,
        f"Output: {RESULT}",
        f"Output:\n{RESULT}",
        f"<untrusted_context>\n{RESULT}\n</untrusted_context>",
        f"<untrusted_context>\nOutput: {RESULT}\n</untrusted_context>",
        (
            f"<untrusted_context source='shell'>\nCommand: npm test\nDirectory: (root)\nOutput: {RESULT}\nError: (none)\nExit "
            "Code: 1\nSignal: (none)\n</untrusted_context>"
        ),
        (
            f"Command: npm test\nDirectory: (root)\nOutput: {RESULT}\nError: (none)\nExit Code: 1\nSignal: 0\nBackground PIDs: "
            "(none)\nProcess Group PGID: 123"
        ),
        f"Chunk ID: ab12\nWall time: 0.1 seconds\nProcess exited with code 1\nOriginal token count: 12\nOutput:\n{RESULT}\n",
        f"Exit code: 1\nWall time: 0.2 seconds\nOutput:\n{RESULT}",
        f"<tool_use_error>{RESULT}</tool_use_error>",
    ],
)
def test_the_same_result_through_every_client_is_one(text):
    assert unwrap_result(text) == RESULT
    assert unwrap_result(unwrap_result(text)) == RESULT


@each_case(
    "text",
    ["<html>\n<p>x</p>\n</html>", "a\nOutput: b", "Status: 200\nok", "<output>\nx", "Error: x", "3 passed", "", "<div>x</div>"],
)
def test_what_is_part_of_a_result_stays(text):
    assert unwrap_result(text) == text


def test_an_empty_result_is_empty():
    assert unwrap_result("Command: x\nDirectory: (root)\nOutput: (empty)\nError: (none)\nExit Code: 0") == ""
