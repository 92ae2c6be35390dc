from pathlib import Path

from spanlore_extractor.tree import WorkingTree


def test_files_directories_and_nothing(tmp_path: Path) -> None:
    """A file has a digest of its content, a directory none; what leads out of the tree is not there."""
    (tmp_path / "tree" / "src").mkdir(parents=True)
    (tmp_path / "tree" / "src" / "a.py").write_text("one")
    (tmp_path / "secret").write_text("s")
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "secret")
    tree = WorkingTree(tmp_path / "tree")
    first = tree.digest("src/a.py")
    (tmp_path / "tree" / "src" / "a.py").write_text("two")

    assert first and first != WorkingTree(tmp_path / "tree").digest("src/a.py")
    assert tree.digest("src") == ""
    assert tree.digest("b.py") is tree.digest("../secret") is tree.digest("link") is tree.digest("\0") is None


def test_targets_and_scripts(tmp_path: Path) -> None:
    """A Makefile defines its targets, a package.json its scripts; a makefile that includes others may define any."""
    (tmp_path / "Makefile").write_text("VAR := check-all:\ncheck lint: build\n\tpytest\n")
    (tmp_path / "package.json").write_text('{"scripts": {"lint": "eslint ."}}')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "package.json").write_text("{")
    (tmp_path / "broken" / "Makefile").write_text("include ../x.mk\n")
    tree = WorkingTree(tmp_path)

    assert tree.defines("Makefile", "check") and tree.defines("Makefile", "lint")
    assert not tree.defines("Makefile", "chek") and not tree.defines("Makefile", "pytest")
    assert tree.defines("package.json", "lint") and not tree.defines("package.json", "test")
    assert tree.defines("broken/package.json", "x") and tree.defines("broken/Makefile", "x")


def test_words_of_a_file(tmp_path: Path) -> None:
    """Whole words only."""
    (tmp_path / "a.py").write_text("def test_total(): ...")
    assert WorkingTree(tmp_path).mentions("a.py", "test_total")
    assert not WorkingTree(tmp_path).mentions("a.py", "test_tot")
