"""Every page over a thousand memories, in both themes, at a desktop's and a phone's width: what axe-core finds, and what fits."""

from importlib.resources import files

import pytest

from kept.web.pages import PAGES

# Colours depend on the theme alone, the rest on the width: each is looked at once. Rows of a list are alike, so that a few are
# enough. What is outside of a landmark is never serious, and looking for it takes a quarter of the time.
FIND = """async (options) => (await axe.run(document, {resultTypes: ["violations"], preload: false, ...options})).violations
    .filter((each) => ["serious", "critical"].includes(each.impact))
    .flatMap((each) => each.nodes.slice(0, 5).map((node) => `${each.id}: ${node.html} ${node.failureSummary}`))"""
OUTLINE = """() => ({title: document.title, headings: document.querySelectorAll("h1").length,
    here: document.querySelector("nav[aria-label=Pages] a[aria-current=page]")?.textContent.trim() || ""})"""
FITS = "document.documentElement.scrollWidth <= innerWidth"
PARTLY = {"region": {"enabled": False}}
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PATHS = (
    *(each.path for each in PAGES if each.path != "/"),
    "/?shown=5",
    "/?q=harbor&shown=5",
    "/?q=nothing+has+this+qqqq",
    "/?status=held",
    "/?project=nowhere",
    f"/memories/{1:010x}",
    "/prompt",
    "/review/lingering",
    "/review/refused",
    "/no-such-page",
)
SOME = "/?q=harbor&shown=5", "/review"


@pytest.mark.parametrize("paths", [SOME, pytest.param(PATHS, marks=pytest.mark.slow)], ids=["some", "all"])
def test_every_page_fits_both_screens_and_has_nothing_that_axe_calls_serious(chromium, crowded, paths):
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text()
    context = chromium.new_context(viewport=DESKTOP, reduced_motion="reduce")
    assert context.request.post(f"{crowded.url}/api/session", data={"key": crowded.key}).status == 204
    page, found = context.new_page(), {}
    titles = {each.path: each.title for each in PAGES}
    for path in paths:
        page.set_viewport_size(PHONE)
        page.emulate_media(color_scheme="light")
        page.goto(crowded.url + path)
        page.evaluate(axe)
        fits = [page.evaluate(FITS)]
        serious = page.evaluate(FIND, {"rules": PARTLY | {"color-contrast": {"enabled": False}}})
        page.set_viewport_size(DESKTOP)
        fits.append(page.evaluate(FITS))
        serious += page.evaluate(FIND, {"rules": PARTLY})
        page.emulate_media(color_scheme="dark")
        serious += page.evaluate(FIND, {"runOnly": ["color-contrast"]})
        outline = page.evaluate(OUTLINE)
        named = outline["headings"] == 1 and outline["title"].endswith("· kept")
        if path in titles:
            named &= outline["here"].startswith(titles[path])
        if serious or not all(fits) or not named:
            found[path] = fits, outline, serious
    context.close()
    assert found == {}
