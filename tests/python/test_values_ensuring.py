"""Questions whose other answer raises have the answer with which the script goes on."""

import pytest

HEAD = """
import torch
torch.manual_seed(0)
net = torch.nn.LSTM(8, 8).cuda()
x = net(torch.randn(4, 2, 8).cuda())[0]
"""
HELD = {
    "an assertion": "assert (x >= x.flip(0)).all()",
    "the negation of one": "assert not (x < x.flip(0)).any(), 'message'",
    "several at once": "assert x.dim() == 3 and (x > 0).all() and not (x > 5).all().item()",
    "a branch that raises": "if (x < 0).any():\n    print('negative')\n    raise ValueError(x)",
    "a branch that raises otherwise": "if bool((x > 0).all()):\n    y = x.log()\nelse:\n    raise ValueError(x)",
    "a function's": "def check(mask):\n    assert mask.all()\ncheck(x > 1); check(x < 1)",
}
OTHERS = {
    "a branch that does something": "if (x < 0).any():\n    y = x.abs()\n    if y is None: raise ValueError(x)",
    "a number": "if (x < 0).any().item() + 1 > 5: raise ValueError(x)",
}


@pytest.mark.parametrize("text", HELD.values(), ids=HELD.keys())
def test_the_script_goes_on(planned, script, text):
    plan = planned(script(HEAD + text))
    assert plan["outcome"] == "ok" and plan["values"] is None, "no further run"
    assert {read["assumed"] for read in plan["reads"]} == {"held"} and not any(read["decides"] for read in plan["reads"])
    assert any("raises unless" in sentence for sentence in plan["unknown"])


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS.keys())
def test_other_questions_are_answered_as_before(planned, script, text):
    assert "held" not in {read["assumed"] for read in planned("--values", "0", script(HEAD + text))["reads"]}
