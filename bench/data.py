"""A deterministic synthetic data set, Chinese and English, with no copied text.

The same seed gives the same data, so that two servers, or two versions of one, are asked the same. It is harsh on
recall: its few words stand in many entries, so that a query meets more of them than a question about real text does.
"""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SEED = 7
KINDS = ("fact", "decision", "constraint", "preference", "working_note")
ENTRY_BYTES = (40, 1500)
"""The sizes of Memory entries. Their logarithms are evenly spread: most are short, a few near the upper end."""

FIELD_BYTES = (60, 500)
CHINESE_SHARE, ENGLISH_SHARE = 0.45, 0.45  # the rest mixes both
LINE_BREAK_SHARE = 0.12


class _Words(NamedTuple):
    """Sentences are subject + verb + object + tail."""

    subjects: Sequence[str]
    verbs: Sequence[str]
    objects: Sequence[str]
    tails: Sequence[str]


def _split(listed: str) -> list[str]:
    return listed.split("|")


_CHINESE = _Words(
    _split(
        "接口层|客户端|调度器|索引服务|缓存节点|迁移脚本|权限模块|导入任务|网关|日志管道|构建流水线|"
        "配置中心|消息队列|检索引擎|会话管理|报表作业|备份程序|证书轮换|监控面板|测试夹具"
    ),
    _split(
        "需要重新生成|必须先校验|不应直接覆盖|会在夜间重建|曾经触发超时|已改为异步处理|依赖固定版本|"
        "要求显式声明|默认关闭|会回退到旧实现|需要人工确认|不再支持|会写入审计记录|应当保持幂等|"
        "被限制为单线程"
    ),
    _split(
        "契约文件|数据库连接|分页游标|字节预算|重试策略|引用版本|环境变量|请求超时|字段映射|编码检测|"
        "并发上限|错误代码|响应结构|快照目录|增量日志|校验规则|排序结果|合并冲突|命名约定|回滚步骤"
    ),
    _split(
        "，否则下游会读到不一致的结果|，这一点在上次故障复盘中已经确认|，验证命令写在项目说明里|"
        "，变更前请先通知维护者|，尤其是在高负载期间|，并且要保留原始记录|，以便后续追踪来源|"
        "，测试覆盖率不得下降|，除非当前用户明确要求|，处理完毕后再更新文档"
    ),
)
_ENGLISH = _Words(
    _split(
        "the ingest worker|the HTTP client|the scheduler|the index builder|the cache node|"
        "the migration script|the permission layer|the import job|the gateway|the log pipeline|"
        "the build system|the config service|the queue consumer|the search engine|the session manager|"
        "the report task|the backup tool|the certificate rotator|the dashboard|the test fixture"
    ),
    _split(
        "must regenerate|has to validate|should never overwrite|rebuilds nightly|once timed out on|"
        "now handles asynchronously|is pinned to|requires an explicit|disables by default|"
        "falls back to the old|needs manual approval for|no longer supports|writes an audit record for|"
        "stays idempotent over|is limited to one thread for"
    ),
    _split(
        "the contract file|database connections|the page cursor|the byte budget|the retry policy|"
        "referenced revisions|environment variables|request timeouts|field mappings|encoding detection|"
        "the concurrency cap|error codes|response envelopes|the snapshot folder|incremental logs|"
        "validation rules|ranking output|merge conflicts|naming conventions|rollback steps"
    ),
    _split(
        ", otherwise downstream readers see stale rows|, as the last incident review confirmed|"
        ", and the check command lives in the project notes|, so tell the maintainers before changing it|"
        ", mostly under heavy load|, keeping the raw record intact|, so that provenance stays traceable|"
        ", without lowering coverage|, unless the current user says otherwise|"
        ", then refresh the documentation"
    ),
)


class Entry(NamedTuple):
    """One Memory entry."""

    kind: str
    text: str


class Data(NamedTuple):
    """What the servers are filled with and asked: a current Scope and one Context Reference of it."""

    memory: list[Entry]
    reference_memory: list[Entry]
    experience: list[dict[str, str]]
    reference_experience: list[dict[str, str]]
    queries: list[str]


def build_data(
    *, memory: int, reference_memory: int, experience: int, reference_experience: int, queries: int, seed: int = SEED
) -> Data:
    """The data set of these sizes."""
    chance = random.Random(seed)
    return Data(
        [_entry(chance) for _ in range(memory)],
        [_entry(chance) for _ in range(reference_memory)],
        [_experience(chance) for _ in range(experience)],
        [_experience(chance) for _ in range(reference_experience)],
        [_query(chance) for _ in range(queries)],
    )


def entries(seed: int) -> Iterator[Entry]:
    """Memory entries without end."""
    chance = random.Random(seed)
    while True:
        yield _entry(chance)


def chinese_prompt(chance: random.Random, length: int) -> str:
    """Chinese sentences of exactly `length` code points together."""
    text = ""
    while len(text) < length:
        text += _chinese(chance)
    return text[:length]


def _entry(chance: random.Random) -> Entry:
    return Entry(chance.choice(KINDS), _body(chance, *ENTRY_BYTES))


def _experience(chance: random.Random) -> dict[str, str]:
    return {field: _body(chance, *FIELD_BYTES) for field in ("situation", "action", "outcome", "lesson")}


def _body(chance: random.Random, low: int, high: int) -> str:
    """Sentences of `low` to `high` UTF-8 bytes together."""
    target = int(low * (high / low) ** chance.random())
    language = chance.random()
    text = ""
    while True:
        if language < CHINESE_SHARE:
            sentence = _chinese
        elif language < CHINESE_SHARE + ENGLISH_SHARE:
            sentence = _english
        else:
            sentence = chance.choice((_chinese, _english))
        longer = text + sentence(chance)
        if text and len(longer.encode()) > high:
            break
        text = longer
        if chance.random() < LINE_BREAK_SHARE:
            text = text.rstrip() + "\n"
        if len(text.encode()) >= target:
            break
    return text.strip()


def _chinese(chance: random.Random) -> str:
    return f"{''.join(chance.choice(part) for part in _CHINESE)}（编号{chance.randrange(10**6)}）。"


def _english(chance: random.Random) -> str:
    subject, verb, about, tail = (chance.choice(part) for part in _ENGLISH)
    return f"{subject[0].upper()}{subject[1:]} {verb} {about}{tail} (ref {chance.randrange(10**6)}). "


def _query(chance: random.Random) -> str:
    if chance.random() < 0.5:
        subject, verb, about = (chance.choice(part) for part in _CHINESE[:3])
        return f"{subject}{verb}{about}时应该怎么做？"
    objects = _ENGLISH.objects
    return f"how should {chance.choice(_ENGLISH.subjects)} treat {chance.choice(objects)} and {chance.choice(objects)}?"
