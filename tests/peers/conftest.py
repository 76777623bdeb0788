"""Other people's programs against this server. Left out unless `-m peers` is given: each is installed by itself.

`make peers-test` installs what is needed and runs them.
"""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "peers" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("peers")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
