"""The prompt in the browser: an override is begun, seen, compared and put away; a stale tab loses nothing."""

OWN = ".config/kept/extraction-prompt.md"


def test_the_first_save_makes_an_override_that_is_seen_and_can_be_taken_back(browse, served):
    page = browse("/prompt")
    page.get_by_text("The built-in prompt is in use").wait_for()
    field = page.get_by_label("Text")
    field.fill(field.input_value().replace("Find ", "Calmly find "))
    page.get_by_role("button", name="Save as my own").click()
    page.get_by_text("Override active.").wait_for()
    assert "+Calmly find " in page.locator("pre.diff").inner_text()
    assert "Calmly" in (served.home / OWN).read_text()
    page.goto(f"{served.url}/files")
    assert "override" in page.locator("nav a", has_text="Settings").inner_text()
    page.goto(f"{served.url}/prompt")
    page.get_by_role("button", name="Back to the built-in prompt").click()
    page.get_by_role("button", name="Go back").click()
    page.get_by_text("The built-in prompt is in use").wait_for()
    assert not (served.home / OWN).exists()


def test_categories_of_ones_own_in_the_front_matter_are_listed(browse, served):
    page = browse("/prompt")
    page.get_by_label("Text").fill(
        '---\ncategories:\n  health: "What concerns <b>my</b> health: and nobody else\'s."\n---\nRead on.'
    )
    page.get_by_role("button", name="Save as my own").click()
    page.get_by_text("Override active.").wait_for()
    page.locator("ul.listed", has_text="What concerns <b>my</b> health").wait_for()
    with served.workspace() as workspace:
        assert workspace.kind("health")[1].belongs == "What concerns <b>my</b> health: and nobody else's."


def test_a_stale_tab_shows_what_is_in_force_and_keeps_what_was_typed(browse, served):
    one = browse("/prompt")
    two = browse("/prompt", context=one.context)
    one.watched.expected.append("412")
    two.get_by_label("Text").fill("Read the second.")
    two.get_by_role("button", name="Save as my own").click()
    two.get_by_text("Override active.").wait_for()
    one.get_by_label("Text").fill("Read the first.")
    one.get_by_role("button", name="Save as my own").click()
    one.get_by_role("heading", name="The prompt was changed meanwhile").wait_for()
    assert "Read the second." in one.locator("#conflict pre").inner_text()
    assert one.get_by_label("Text").input_value() == "Read the first."
    one.get_by_role("button", name="Save mine over it").click()
    one.get_by_text("Override active.").wait_for()
    assert (served.home / OWN).read_text() == "Read the first."


def test_a_text_that_cannot_be_followed_is_told_and_not_saved(browse, served):
    page = browse("/prompt")
    page.watched.expected.append("409")
    page.get_by_label("Text").fill("---\ncategories:\n  a b: c\n---\nRead.")
    page.get_by_role("button", name="Save as my own").click()
    page.get_by_text("letters, digits").first.wait_for()
    assert not (served.home / OWN).exists()


def test_a_prompt_broken_on_disk_is_shown_with_what_is_wrong_and_mended_in_the_page(browse, served):
    (served.home / ".config" / "kept").mkdir(parents=True, exist_ok=True)
    (served.home / OWN).write_text("---\ncategories:\n  a b: c\n---\nRead.")
    assert served.ask("GET", "/memories/none")[0] == 409
    with_it = served.ask("GET", "/api/prompts/coding")[2]
    assert "letters, digits" in with_it["problem"]
    body = {"text": with_it["text"].replace("a b", "a_b")}
    assert served.ask("PUT", "/api/prompts/coding", body, headers={"If-Match": with_it["revision"]})[0] == 200
    page = browse("/prompt")
    page.get_by_text("Override active.").wait_for()
    (served.home / OWN).write_text("---\ncategories:\n  a b: c\n---\nRead.")
    page.watched.expected += ["409", "412"]
    page.reload()
    page.get_by_role("alert").get_by_text("letters, digits").wait_for()
    page.get_by_role("button", name="Back to the built-in prompt").click()
    page.get_by_role("button", name="Go back").click()
    page.get_by_text("The built-in prompt is in use").wait_for()


def test_markup_in_a_prompt_is_only_words(browse, served):
    (served.home / ".config" / "kept").mkdir(parents=True, exist_ok=True)
    (served.home / OWN).write_text("</textarea><script>alert(1)</script><img src=x onerror=alert(2)> Read.")
    page = browse("/prompt")
    assert page.locator("main script, main img").count() == 0
    assert page.get_by_label("Text").input_value().startswith("</textarea>")
