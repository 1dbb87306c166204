"""Download a task's corpora from their publishers, check and unpack them, lay them out as recipes expect."""

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from facetmt.errors import UserError
from facetmt.fetch.sources import TASKS, Source, Task
from facetmt.fetch.unpack import is_archive, unpack
from facetmt.fetch.wmt import assemble
from facetmt.files import move_whole, sha256, write_whole

DOWNLOADS, MARKER = "downloads", "fetched.json"
ATTEMPTS = 5  # long downloads break off now and then; each attempt continues where the last one stopped
TIMEOUT = 60.0  # seconds without a byte
BLOCK = 1 << 20

Progress = Callable[[str, int, int], None]  # file name, bytes so far, bytes in all (0: not known)


class Unreachable(Exception):
    """The server did not deliver."""


def get(
    task: str, directory: Path, progress: Progress | None = None, table: Mapping[str, Task] = TASKS
) -> dict[str, str]:
    """Fetch a task's text into a folder that its recipes can use; return the sha256 of every fetched file."""
    if task not in table:
        raise UserError(f"there is no task {task}; choose one of {', '.join(table)}")
    marker = directory / MARKER
    if marker.is_file():
        done = json.loads(marker.read_text("utf-8"))
        if done["task"] != task:
            raise UserError(f"{directory}: holds the data of {done['task']}; give another folder for {task}")
        names = {source.name for source in table[task].sources}
        if missing := ", ".join(sorted(names - set(done["sha256"]))):
            raise UserError(
                f"{directory}: fetched by another version of facetmt, without {missing}; give another folder,"
                f" and move files from {directory / DOWNLOADS} to its {DOWNLOADS} to save fetching them"
            )
        return {name: str(value) for name, value in done["sha256"].items()}
    try:
        return _get(task, table[task], directory, progress or (lambda name, done, total: None))
    except OSError as error:
        raise UserError(
            f"{directory}: cannot be written ({error.strerror or error}); make room or give another folder,"
            " then run the same command again"
        ) from error


def _get(name: str, task: Task, directory: Path, progress: Progress) -> dict[str, str]:
    files = fetch_all(task.sources, directory / DOWNLOADS, progress)
    sums = {source.name: check(source, files[source.name]) for source in task.sources}
    work = Path(tempfile.mkdtemp(prefix=".unpacked-", dir=directory))
    try:
        for source in task.sources:
            if is_archive(source.name):
                unpack(files[source.name], work, source.unpacked, source.only)
            elif task.anchor is not None:
                shutil.copyfile(files[source.name], work / source.name)
        if task.anchor is None:
            out = work / "out"
            assemble(files, work, out)
        else:
            out = layout_root(work, task.anchor, files)
        publish(out, directory)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    write_whole(directory / MARKER, json.dumps({"task": name, "sha256": sums}, indent=1))
    return sums


def fetch_all(sources: Sequence[Source], folder: Path, progress: Progress) -> dict[str, Path]:
    """Every file, downloaded unless it is there; an error says what to do if one cannot be fetched."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in sources:
        if (folder / source.name).is_file():
            continue
        try:
            download(source, folder / source.name, progress)
        except Unreachable as error:
            missing = [one for one in sources if not (folder / one.name).is_file()]
            addresses = "; ".join(f"{one.name} from {one.url or one.page}" for one in missing)
            raise UserError(
                f"{source.name}: cannot be fetched ({error}); download {addresses} into {folder} by other"
                " means, then run the same command again"
            ) from None
    return {source.name: folder / source.name for source in sources}


def check(source: Source, path: Path) -> str:
    """The file's sha256; an error where it is not the published one."""
    found = sha256(path)
    if source.sha256 is not None and found != source.sha256:
        raise UserError(
            f"{path}: not the file that was published (sha256 {found} instead of {source.sha256});"
            " delete it and fetch it again"
        )
    return found


def download(source: Source, path: Path, progress: Progress) -> None:
    """Download to NAME.part, then give it its name; a part left by an earlier call is continued."""
    if source.url is None:
        raise Unreachable("its publisher offers it only through a web page")
    part = path.with_name(f"{path.name}.part")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _continue(source.url, source, part, progress)
            break
        except Unreachable:
            # if nothing came at all, trying again will not help
            if attempt == ATTEMPTS or not part.is_file():
                raise
        except UserError:
            part.unlink(missing_ok=True)
            raise
    move_whole(part, path)
    _validator(part).unlink(missing_ok=True)


def _validator(part: Path) -> Path:
    """The file that holds the ETag or date of the version that the part belongs to."""
    return part.with_name(f"{part.name}.version")


def _continue(url: str, source: Source, part: Path, progress: Progress) -> None:
    """Ask for what is missing of the part; another version of the file restarts it."""
    have = part.stat().st_size if part.is_file() and _validator(part).is_file() else 0
    headers = {"User-Agent": "facetmt"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": _validator(part).read_text("utf-8")}
    with _open(Request(url, headers=headers), part) as response:
        continued = str(response.headers.get("Content-Range")).startswith(f"bytes {have}-")
        have = have if have and response.status == 206 and continued else 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length and length.isdigit() else 0
        if total > source.limit:
            raise _too_large(source, total)
        tag = response.headers.get("ETag") or ""
        version = response.headers.get("Last-Modified") if not tag or tag.startswith("W/") else tag
        if version:
            _validator(part).write_text(version, "utf-8")
        else:
            _validator(part).unlink(missing_ok=True)
        _receive(response, part, have, total, source, progress)


def _open(request: Request, part: Path) -> HTTPResponse:
    if urlsplit(request.full_url).scheme not in ("http", "https"):
        raise Unreachable(f"{request.full_url} is not a web address")
    try:
        response: HTTPResponse = urlopen(request, timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        if error.code == 416:  # the part is longer than the file: it belongs to another version
            _validator(part).unlink(missing_ok=True)
        raise Unreachable(
            f"{urlsplit(request.full_url).netloc} answers {error.code} {error.reason}"
        ) from None
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise Unreachable(f"{urlsplit(request.full_url).netloc} cannot be reached: {reason}") from None
    return response


def _receive(
    response: HTTPResponse, part: Path, have: int, total: int, source: Source, progress: Progress
) -> None:
    with open(part, "ab" if have else "wb") as file:
        while True:
            try:
                block = response.read(BLOCK)
            except (OSError, HTTPException) as error:
                raise Unreachable(f"the connection broke after {have:,} bytes: {error}") from None
            if not block:
                break
            have += len(block)
            if have > source.limit:
                raise _too_large(source, have)
            file.write(block)
            progress(source.name, have, total)
    if total and have < total:
        raise Unreachable(f"the connection ended after {have:,} of {total:,} bytes")


def _too_large(source: Source, size: int) -> UserError:
    return UserError(
        f"{source.url}: offers {size:,} bytes or more, but at most {source.limit:,} were expected;"
        f" look at {source.page} for what has changed"
    )


def layout_root(work: Path, anchor: str, files: Mapping[str, Path]) -> Path:
    """The unpacked folder below which the anchor lies; some archives wrap their content in folders."""
    last = anchor.rsplit("/", 1)[-1]
    found = sorted((path for path in work.rglob(last) if path.as_posix().endswith(f"/{anchor}")), key=_depth)
    if not found:
        names = ", ".join(str(path) for path in files.values())
        raise UserError(f"{names}: does not hold {anchor}; delete it and fetch the right file")
    return found[0].parents[anchor.count("/")]


def _depth(path: Path) -> int:
    return len(path.parts)


def publish(out: Path, directory: Path) -> None:
    """Move the finished layout into place; nothing is overwritten."""
    parts = sorted(out.iterdir())
    for part in parts:
        if (directory / part.name).exists():
            raise UserError(f"{directory / part.name}: already there; move it away or give another folder")
    for part in parts:
        move_whole(part, directory / part.name)
