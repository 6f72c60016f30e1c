# SPDX-License-Identifier: GPL-2.0-only
# Sphinx: `make docs` builds the pages and the manual pages from here, and takes a warning for an error.
from pathlib import Path

here = Path(__file__).resolve().parent

project = "pmukit"
author = "pmukit developers"
copyright = "pmukit developers"
release = version = (here.parent / "VERSION").read_text().strip()

extensions = []
exclude_patterns = ["ABI"]
html_theme = "alabaster"
html_theme_options = {"description": "PMUs that your distribution's kernel does not offer, as perf PMUs", "page_width": "auto"}
html_copy_source = False
html_show_copyright = False
html_show_sourcelink = False
smartquotes = False
highlight_language = "none"

# The manual pages: each source is man/<name>.rst, its first paragraph after the title "name - what it does".
def manual_page(source):
    for line in source.read_text().splitlines():
        name, dash, about = line.partition(" - ")
        if dash and name == source.stem:
            section = 3 if name == "libpmukit" else 1
            return (f"man/{source.stem}", name, about, author, section)
    raise ValueError(f"{source}: no line '{source.stem} - what it does'")


man_pages = [manual_page(source) for source in sorted((here / "man").glob("*.rst")) if source.stem != "index"]
man_show_urls = True
