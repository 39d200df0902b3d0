import pytest

from kgb_gym.envs import splits
from kgb_gym.operators import get, names

FROZEN = {
    "softmax": "validation", "rms_norm": "train", "gemm": "test", "axpy": "train", "unary": "test", "additive": "validation", "paged_attention": "train",
    "gemv": "train", "topk": "train", "sort": "train",
}  # fmt: skip


def test_the_splits_share_out_the_operators():
    parts = [set(splits.members(s)) for s in splits.SPLITS]
    assert set.union(*parts) == set(names())
    assert sum(map(len, parts)) == len(names())


def test_families_stay_together():
    for split in splits.SPLITS:
        families = {splits.family(get(n)) for n in splits.members(split)}
        for other in splits.SPLITS:
            if other != split:
                assert not families & {splits.family(get(n)) for n in splits.members(other)}


@pytest.mark.parametrize(("family", "split"), FROZEN.items())
def test_frozen(family, split):
    assert splits.split_of(family) == split


def test_shares():
    drawn = [splits.split_of(f"family {i}") for i in range(4000)]
    assert drawn.count("train") / 4000 == pytest.approx(0.7, abs=0.03)
    assert drawn.count("test") / 4000 == pytest.approx(0.15, abs=0.03)


def test_an_unknown_split():
    with pytest.raises(ValueError, match="train, validation, test"):
        splits.members("dev")


def test_environments_of_one_split(make):
    split = splits.split_of(splits.family(get("aten/add")))
    assert "aten/add" in make("kgb/ms-v0", split=split).unwrapped.pool.names
    assert set(make("kgb/ms-v0", split=split).unwrapped.pool.names) == set(splits.members(split))
    other = next(s for s in splits.SPLITS if s != split)
    with pytest.raises(ValueError, match="no operator"):
        make("kgb/aten-add-v0", split=other)
