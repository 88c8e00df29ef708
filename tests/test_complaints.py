"""The table of complaints is honest: what it names as a proof is there, and nothing was written in vain."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

from tests.complaint import Complaint
from tests.complaints import COMPLAINTS

ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def written_in(path: Path) -> frozenset[str]:
    """The test functions of a file, which is read and not run."""
    body = ast.parse(path.read_text()).body
    return frozenset(
        node.name for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize("complaint", COMPLAINTS, ids=lambda one: one.text)
def test_what_is_named_as_a_proof_exists(complaint: Complaint) -> None:
    """Every proof is a file and a test in it, named once."""
    assert len(set(complaint.proofs)) == len(complaint.proofs)
    for proof in complaint.proofs:
        path, separator, name = proof.partition("::")
        assert separator, proof
        assert (ROOT / path).is_file(), proof
        assert name in written_in(ROOT / path), proof


@pytest.mark.parametrize("complaint", COMPLAINTS, ids=lambda one: one.text)
def test_no_complaint_is_left_unanswered(complaint: Complaint) -> None:
    """Each one is a sentence, and has a proof or a reason, which is a sentence too."""
    assert complaint.text.endswith(".")
    assert complaint.proofs or complaint.reason
    assert not complaint.reason or complaint.reason.endswith(".")


def test_no_complaint_is_there_twice() -> None:
    """Each is said once."""
    texts = [complaint.text for complaint in COMPLAINTS]
    assert sorted(set(texts)) == sorted(texts)


def test_every_test_that_was_written_for_a_complaint_is_named() -> None:
    """What stands in a file about complaints proves one of them."""
    named = {proof for complaint in COMPLAINTS for proof in complaint.proofs}
    written = {
        f"{path.relative_to(ROOT)}::{name}"
        for path in ROOT.glob("tests/*/test_complaints*.py")
        for name in written_in(path)
    }
    assert written
    assert written - named == set()
