"""Makes the tree that a crash of the machine would have left, from what drop_unsynced.c remembered."""
import os
import pathlib
import shutil


def rebuild(tree, shadow, target):
    """tree: the folder as the living saw it (its own entry counts as durable); target: made anew."""
    shutil.rmtree(target, ignore_errors=True)
    shadow = pathlib.Path(shadow)

    def directory(inode, to):
        os.mkdir(to)
        listing = shadow / f"dir.{inode}"
        if not listing.exists():
            return
        for line in listing.read_text().splitlines():
            number, kind, name = line.split(" ", 2)
            if kind == "d":
                directory(number, os.path.join(to, name))
            else:
                content = shadow / f"inode.{number}"
                with open(os.path.join(to, name), "wb") as out:
                    out.write(content.read_bytes() if content.exists() else b"")

    directory(os.stat(tree).st_ino, target)


def adopt(tree, shadow):
    """Everything in tree becomes durable: fills an empty shadow."""
    shutil.rmtree(shadow, ignore_errors=True)
    os.makedirs(shadow)
    for folder, folders, files in os.walk(tree):
        rows = [f"{os.stat(os.path.join(folder, n)).st_ino} d {n}" for n in folders]
        rows += [f"{os.stat(os.path.join(folder, n)).st_ino} f {n}" for n in files]
        inode = os.stat(folder).st_ino
        pathlib.Path(shadow, f"dir.{inode}").write_text("".join(r + "\n" for r in rows))
        for name in files:
            path = os.path.join(folder, name)
            shutil.copyfile(path, os.path.join(shadow, f"inode.{os.stat(path).st_ino}"))
