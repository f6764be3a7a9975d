"""The prompt in the browser: an override is begun, seen, compared and put away; a stale tab loses nothing."""

import re

OWN = ".config/kept/extraction-prompt.md"
CATEGORIES = '---\ncategories:\n  health: "What concerns <b>my</b> health: and nobody else\'s."\n---\nRead on.'


def test_the_first_save_makes_an_override_that_is_seen_and_can_be_taken_back_and_what_is_wrong_is_not_saved(browse, served):
    page = browse("/prompt")
    page.watched.expected.append("409")
    page.get_by_text("The built-in prompt is in use").wait_for()
    field = page.get_by_label("Text")
    own = field.input_value().replace("Find ", "Calmly find ")
    field.fill("---\ncategories:\n  a b: c\n---\nRead.")
    page.get_by_role("button", name="Save as my own").click()
    page.get_by_text("letters, digits").first.wait_for()
    assert not (served.home / OWN).exists()
    field.fill(own)
    page.get_by_role("button", name="Save as my own").click()
    page.get_by_text("Override active.").wait_for()
    assert "+Calmly find " in page.locator("pre.diff").inner_text()
    assert "Calmly" in (served.home / OWN).read_text()
    assert re.search(r'href="/settings"[^>]*>Settings <span class="tag warn">override', served.ask("GET", "/files")[2])
    page.get_by_role("button", name="Back to the built-in prompt").click()
    page.get_by_role("button", name="Go back").click()
    page.get_by_text("The built-in prompt is in use").wait_for()
    assert not (served.home / OWN).exists()


def test_a_stale_tab_keeps_what_was_typed_own_categories_are_listed_and_a_prompt_broken_on_disk_is_mended(browse, served):
    page = browse("/prompt")
    page.watched.expected += ["409", "412"]
    (served.home / OWN).parent.mkdir(parents=True, exist_ok=True)
    (served.home / OWN).write_text("Read the second.")  # as another tab does
    page.get_by_label("Text").fill(CATEGORIES)
    page.get_by_role("button", name="Save as my own").click()
    page.get_by_role("heading", name="The prompt was changed meanwhile").wait_for()
    assert "Read the second." in page.locator("#conflict pre").inner_text()
    assert page.get_by_label("Text").input_value() == CATEGORIES
    page.get_by_role("button", name="Save mine over it").click()
    page.locator("ul.listed", has_text="What concerns <b>my</b> health").wait_for()
    assert (served.home / OWN).read_text() == CATEGORIES
    with served.workspace() as workspace:
        assert workspace.kind("health")[1].belongs == "What concerns <b>my</b> health: and nobody else's."
    (served.home / OWN).write_text("---\ncategories:\n  a b: c\n---\nRead.")
    assert served.ask("GET", "/memories/none")[0] == 409
    page.reload()
    page.get_by_role("alert").get_by_text("letters, digits").wait_for()
    with_it = served.ask("GET", "/api/prompts/coding")[2]
    assert "letters, digits" in with_it["problem"]
    body = {"text": with_it["text"].replace("a b", "a_b")}
    assert served.ask("PUT", "/api/prompts/coding", body, headers={"If-Match": with_it["revision"]})[0] == 200
    assert "Override active." in served.ask("GET", "/prompt")[2]


def test_markup_in_a_prompt_is_only_words(served):
    (served.home / OWN).parent.mkdir(parents=True, exist_ok=True)
    (served.home / OWN).write_text("</textarea><script>alert(1)</script><img src=x onerror=alert(2)> Read.")
    text = served.ask("GET", "/prompt")[2]
    assert "&lt;/textarea&gt;&lt;script&gt;" in text
    assert not re.search(r"<img|<script>|<script [^s]", text)
