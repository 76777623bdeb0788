"""One prepare through a published PowerContext client; run by that client's own interpreter.

Usage: published_prepare.py BASE_URL SCOPE_ID QUERY. Prints the content as JSON.
"""

import asyncio
import json
import sys
import typing

from powercontext.client import PowerContextClient  # type: ignore[import-not-found]  # of another environment


async def prepared(base_url: str, scope_id: str, query: str) -> typing.Any:
    """The content that the client returns, as it stands."""
    kind = typing.get_type_hints(PowerContextClient.prepare_context)["request"]
    client = PowerContextClient(base_url)
    try:
        answer = await client.prepare_context(kind.model_validate({"scope_id": scope_id, "query": query}))
    finally:
        await client.aclose()
    return answer.content


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(prepared(*sys.argv[1:4]))))
