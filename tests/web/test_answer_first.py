"""A change is answered before the files are written; they follow, and a failure of that is shown."""

from kept.core.errors import BusyError
from kept.web import background

FIRST = {"Prefer": "respond-async"}


def memory_file(served):
    return served.home / ".claude" / "rules" / "memory.md"


def test_a_change_is_answered_at_once_and_the_files_follow(served, monkeypatch):
    made = served.add("Releases go out on Tuesdays only.")
    began = []
    monkeypatch.setattr(served.file_writer, "write_soon", lambda *given: began.append(given))
    path = f"/api/memories/{made.id}"
    status, _, body = served.ask("PATCH", path, {"content": "Releases go out on Fridays only."}, headers=FIRST)
    assert (status, body["memories"][0]["content"], body["problems"]) == (200, "Releases go out on Fridays only.", [])
    assert not memory_file(served).exists()
    monkeypatch.undo()
    served.file_writer.write_soon(*began[0])
    assert served.file_writer.wait(60)
    assert "Fridays" in memory_file(served).read_text()


def test_the_editor_of_a_file_waits_for_a_change_that_is_being_written(served, monkeypatch):
    made = served.add("Releases go out on Tuesdays only.")
    served.ask("POST", f"/api/memories/{made.id}/pin", {})
    write_soon, wait, began = served.file_writer.write_soon, served.file_writer.wait, []

    def write_now(seconds):
        while began:
            write_soon(*began.pop())
        return wait(seconds)

    monkeypatch.setattr(served.file_writer, "write_soon", lambda *given: began.append(given))
    monkeypatch.setattr(served.file_writer, "wait", write_now)
    body = {"content": "Releases go out on Fridays only."}
    for path in ("/files/edit", "/files/entries", "/api/files/file"):
        served.ask("PATCH", f"/api/memories/{served.memory('Releases').id}", body, headers=FIRST)
        assert body["content"] in str(served.ask("GET", f"{path}?name=.claude/rules/memory.md")[2])
        body = {"content": body["content"].replace("on", "late on", 1)}


def test_an_edit_by_hand_is_taken_over_before_a_change_of_the_page(served):
    made = served.add("Releases go out on Tuesdays only.")
    other = served.add("The barn is painted red.")
    served.ask("POST", f"/api/memories/{made.id}/pin", {})
    path = memory_file(served)
    path.write_text(path.read_text().replace("painted red", "painted green"))
    served.ask("POST", f"/api/memories/{other.id}/pin", {}, headers=FIRST)
    assert served.file_writer.wait(60)
    assert "painted green" in path.read_text()
    assert served.memory("painted green").pinned


def test_what_could_not_be_written_is_shown_on_the_page(served, browse, monkeypatch):
    served.add("Releases go out on Tuesdays only.")

    def busy(*_):
        raise BusyError("another process is writing them")

    monkeypatch.setattr(background, "apply_person_change", busy)
    page = browse()
    page.keyboard.press("j")
    page.keyboard.press("p")
    page.get_by_text("Pinned.").wait_for()
    page.get_by_role("alert").get_by_text("the files are not up to date").wait_for()
    assert served.memory("Releases").pinned
