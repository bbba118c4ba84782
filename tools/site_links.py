"""Hook of MkDocs: links of a page to files of the repository that lie outside docs/ have no page on
the site. They become the file's name, so that a reader with the sources finds it."""

import pathlib
import re

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")
ROOT = pathlib.Path(__file__).resolve().parents[1]


def on_page_markdown(markdown, page, config, **_):
    docs = pathlib.Path(config["docs_dir"]).resolve()
    folder = (docs / page.file.src_path).parent

    def replace(match):
        text, target = match[1], match[2]
        if "://" in target or target.startswith(("mailto:", "/")):
            return match[0]
        path = (folder / target).resolve()
        if path.is_relative_to(docs):
            return match[0]
        if not path.exists():
            raise FileNotFoundError(f"{page.file.src_path}: {target} is linked to and does not exist")
        name = path.relative_to(ROOT).as_posix()
        return f"`{name}`" if text.strip("`") in (name, path.name) else f"{text} (`{name}`)"

    return LINK.sub(replace, markdown)
