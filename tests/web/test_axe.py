"""axe-core finds nothing serious on any page over a thousand memories, in both themes, at a desktop's and a phone's width."""

from importlib.resources import files

from kept.web.pages import PAGES

# Colours depend on the theme alone, the rest on the width: each is looked at once.
FIND = """async (options) => (await axe.run(document, {resultTypes: ["violations"], ...options})).violations
    .filter((each) => ["serious", "critical"].includes(each.impact))
    .flatMap((each) => each.nodes.slice(0, 5).map((node) => `${each.id}: ${node.html} ${node.failureSummary}`))"""
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PATHS = (
    *(each.path for each in PAGES if each.path != "/"),
    "/?shown=25",
    "/?q=harbor&shown=25",
    "/?q=nothing+has+this+qqqq",
    "/?status=held",
    "/?project=nowhere",
    f"/memories/{1:010x}",
    "/prompt",
    "/review/lingering",
    "/review/refused",
    "/no-such-page",
)


def test_axe_finds_nothing_serious_on_any_page(chromium, crowded):
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text()
    context = chromium.new_context(viewport=DESKTOP, reduced_motion="reduce")
    assert context.request.post(f"{crowded.url}/api/session", data={"key": crowded.key}).status == 204
    page, found = context.new_page(), {}
    for path in PATHS:
        page.set_viewport_size(DESKTOP)
        page.emulate_media(color_scheme="light")
        page.goto(crowded.url + path)
        page.evaluate(axe)
        serious = page.evaluate(FIND, {})
        page.set_viewport_size(PHONE)
        serious += page.evaluate(FIND, {"rules": {"color-contrast": {"enabled": False}}})
        page.emulate_media(color_scheme="dark")
        serious += page.evaluate(FIND, {"runOnly": ["color-contrast"]})
        if serious:
            found[path] = serious
    context.close()
    assert found == {}
