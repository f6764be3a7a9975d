"""The knowledge graph in the browser: listed and, where chosen, drawn, searched by key, a click away from memories and pages."""

import crowd
from kept.pipeline.run import RunOptions, run_pipeline


def test_a_node_found_by_keys_alone_leads_to_its_memories_beside_the_picture_and_markup_is_only_words(browse, served):
    served.add("Use `parser.py` for feeds.")
    served.add("Never edit `parser.py` by hand.")
    for more in ("", "twice "):
        served.add(f"Use `<img/src=x/onerror=alert(1)>` {more}with `a.py`.")
    page = browse("/graph")
    page.wait_for_selector("#graph[data-nodes]")
    listed = page.get_by_role("button", name="parser.py", exact=True).first.bounding_box()
    picture = page.locator("#graph").bounding_box()
    assert listed["x"] + listed["width"] < picture["x"]
    assert max(listed["y"], picture["y"]) < 400
    panel = page.locator("#node")
    page.get_by_role("button", name="a.py", exact=True).first.click()
    panel.get_by_role("link", name="twice").wait_for()
    assert page.locator("main img").count() == 0
    page.keyboard.press("/")
    page.keyboard.type("parser")
    page.keyboard.press("Enter")
    panel.get_by_role("heading", name="parser.py").wait_for()
    panel.get_by_role("link", name="Never edit").wait_for()
    panel.get_by_role("link", name="Memories that name it").click()
    page.wait_for_url("**/?q=parser.py")
    page.get_by_text("Use parser.py").or_(page.get_by_text("Use `parser.py`")).first.wait_for()


def test_the_project_with_the_latest_memory_is_drawn_until_another_is_chosen(browse, served):
    served.add("Always write tides in UTC.", scope="project:harbour-abc")
    served.add("Never use the `lamp.py` of last year.", scope="project:lighthouse-abc")
    page = browse("/graph")
    page.locator("#graph[data-nodes='2']").wait_for()
    page.locator("#node").get_by_role("heading", name="lighthouse").wait_for()
    page.get_by_role("button", name="harbour").first.click()
    page.locator("#node").get_by_role("link", name="Always write tides").wait_for()


def test_of_a_thousand_memories_each_thing_is_named(served):
    steps = [f"Step {number} uses `module_{number % 40}.py` with `tool_{number % 25}`." for number in range(1_100)]
    with served.workspace() as workspace:
        crowd.tell(workspace, steps, scopes=[f"project:p{number}-abc" for number in range(12)])
    text = served.ask("GET", "/graph")[2]
    assert "of less weight left out" in text
    assert all(f">module_{number}.py</button>" in text for number in range(40))


def test_a_page_of_knowledge_is_a_click_away(browse, served):
    (served.home / ".config" / "kept").mkdir(parents=True, exist_ok=True)
    (served.home / ".config" / "kept" / "config.toml").write_text('profile = "workspace"\n')
    served.add("Always check the size in `upload.py`.", "rules")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions())
    page = browse("/graph")
    page.get_by_role("button", name="You", exact=True).click()
    page.locator("#node").get_by_role("link", name="Its page").click()
    page.wait_for_url("**/files/edit?name=*you.md")
    assert "upload.py" in page.get_by_label("Text").input_value()


def test_the_graph_is_empty_and_says_so_where_nothing_is_remembered(served):
    assert "<h2>Nothing is remembered yet</h2>" in served.ask("GET", "/graph")[2]
