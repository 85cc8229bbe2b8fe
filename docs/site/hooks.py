"""Steps of mkdocs: pages that are made from the code, and links of pages outside ``docs``."""

import os
import posixpath
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

import notebooks
import reference

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "changes/README.md": "project/changes.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "STYLE.md": "project/style.md",
    "SECURITY.md": "project/security.md",
    "LICENSE": "project/LICENSE",
    "CITATION.cff": "project/CITATION.cff",
}
"""Files beside ``docs``, with their places on the site."""
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<path>[^)\s:#]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in ``docs``."""
    texts = {place: (ROOT / name).read_text() for name, place in PAGES.items()}
    for place, text in (texts | reference.pages() | _notebooks()).items():
        files.append(File.generated(config, place, content=text))
    return files


def _notebooks() -> dict[str, str]:
    """Give the page of every notebook, and its figures, by their places on the site."""
    texts: dict[str, str] = {}
    for path in notebooks.paths():
        with tempfile.TemporaryDirectory() as home:
            page, figures = notebooks.page(_notebook(path, Path(home)), path.stem)
        files = {f"{path.stem}.md": page, **figures}
        texts |= {f"notebooks/{name}": text for name, text in files.items()}
    return texts


def _notebook(path: Path, home: Path) -> notebooks.Notebook:
    """Execute a notebook; with ETHERWEAVE_QUICK_SITE=1, take it as it is kept, without figures."""
    is_quick = os.environ.get("ETHERWEAVE_QUICK_SITE") == "1"
    return notebooks.read(path) if is_quick else notebooks.execute(path, home)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links lead to the site's places of files beside ``docs``; of others, keep the text."""
    sources = {place: name for name, place in PAGES.items()}
    place = page.file.src_uri
    source = sources.get(place, f"docs/{place}")
    if place.startswith("notebooks/"):
        return markdown  # Has its figures and its file beside it.
    return LINK.sub(lambda link: _relative(link, source, place), markdown)


def _relative(link: re.Match[str], source: str, place: str) -> str:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["path"]))
    is_on_site = target in PAGES or target.startswith("docs/")
    if not is_on_site and (ROOT / target).exists():
        return link["text"]
    page = PAGES.get(target) or target.removeprefix("docs/").replace(".ipynb", ".md")
    path = posixpath.relpath(page, posixpath.dirname(place) or ".")
    return f"[{link['text']}]({path}{link['anchor'] or ''})"
