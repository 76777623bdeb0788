"""What can be said of the container's files without a Docker engine; `make compose-test` does the rest."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from service.settings import FILE_SUFFIX, SECRETS, Settings, variable_of

ROOT = Path(__file__).parents[2]
SIDECARS = ("sidecar", "sidecar-postgres", "sidecar-oceanbase")
DATABASES = ("postgres", "oceanbase")
SCRIPTS = sorted((ROOT / "deploy").glob("*.sh"))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load(read("docker-compose.yml"))
    return parsed


def final_stage() -> str:
    return read("deploy/Dockerfile").rpartition("\nFROM ")[2]


def test_compose_has_one_sidecar_for_each_database(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {*SIDECARS, *DATABASES}
    assert "profiles" not in compose["services"]["sidecar"]
    for name in DATABASES:
        assert compose["services"][name]["profiles"] == [name]
        assert compose["services"][f"sidecar-{name}"]["profiles"] == [name]


@pytest.mark.parametrize("name", SIDECARS)
def test_a_sidecar_is_hardened_and_bounded(compose: dict[str, Any], name: str) -> None:
    service = compose["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "privileged" not in service
    assert "no-new-privileges:true" in service["security_opt"]
    assert any(mount.startswith("/tmp:size=") for mount in service["tmpfs"])
    assert {"mem_limit", "cpus", "pids_limit"} <= set(service)
    assert service["restart"] == "unless-stopped"
    assert service["logging"]["options"].keys() >= {"max-size", "max-file"}


@pytest.mark.parametrize("name", SIDECARS)
def test_a_sidecar_listens_on_loopback_alone_and_wants_a_token(compose: dict[str, Any], name: str) -> None:
    service = compose["services"][name]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    # `:?` refuses an absent and an empty value.
    token = service["environment"][variable_of("auth_token")]
    assert re.fullmatch(r"\$\{POWERCONTEXT_TOKEN:\?[^}]+\}", token)


def test_a_sidecar_is_stopped_no_sooner_than_it_gives_up_on_requests(compose: dict[str, Any]) -> None:
    for name in SIDECARS:
        grace = compose["services"][name]["stop_grace_period"]
        assert int(grace.removesuffix("s")) > Settings().http_shutdown_timeout_seconds


def test_a_database_is_reached_by_its_sidecar_alone(compose: dict[str, Any]) -> None:
    assert compose["networks"]["database"]["internal"] is True
    for name in DATABASES:
        service = compose["services"][name]
        assert "ports" not in service
        assert service["networks"] == ["database"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert "healthcheck" in service
        assert compose["services"][f"sidecar-{name}"]["depends_on"] == {name: {"condition": "service_healthy"}}


def test_data_lies_in_named_volumes(compose: dict[str, Any]) -> None:
    mounted = [mount for service in compose["services"].values() for mount in service.get("volumes", ())]
    assert sorted(mount.partition(":")[0] for mount in mounted) == sorted(compose["volumes"])


@pytest.mark.parametrize("name", ["docker-compose.yml", "deploy/Dockerfile", "docs/operate/container.md"])
def test_every_setting_that_is_named_exists(name: str) -> None:
    known = {variable_of(field.name) for field in msgspec.structs.fields(Settings)}
    known |= {variable_of(secret) + FILE_SUFFIX for secret in SECRETS}
    named = set(re.findall(r"POWERCONTEXT_SERVER_[A-Z_]+", read(name)))
    assert named
    assert named <= known


def test_the_image_runs_the_program_itself_as_an_unprivileged_user_of_fixed_number() -> None:
    stage = final_stage()
    # The exec form: a shell between would keep SIGTERM for itself.
    assert 'ENTRYPOINT ["powercontext-sidecar"]' in stage
    assert 'CMD ["serve", "--migrate"]' in stage
    assert re.search(r"^USER 10001:10001$", stage, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK .*\\\n +CMD \[.*/ready\.py", stage, re.MULTILINE)


def test_the_last_stage_installs_nothing() -> None:
    assert not re.search(r"\b(pip|apt-get|curl|wget)\b", final_stage())
    assert "--require-hashes -r requirements/runtime.txt" in read("deploy/Dockerfile")


def test_the_image_bears_the_version_of_the_project() -> None:
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert f'org.opencontainers.image.version="{version}"' in final_stage()


def test_a_build_sees_what_it_copies_and_nothing_else() -> None:
    lines = [line for line in read(".dockerignore").splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*"
    let_through = {line.removeprefix("!") for line in lines if line.startswith("!")}
    own = [line for line in read("deploy/Dockerfile").splitlines() if line.startswith("COPY ") and "--from" not in line]
    copied = {source for line in own for source in line.split()[1:-1]}
    assert copied == let_through
    for name in copied:
        assert (ROOT / name).exists()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_is_executable_and_parses(script: Path) -> None:
    assert script.stat().st_mode & 0o111
    shell = script.read_text(encoding="utf-8").splitlines()[0].rpartition("/")[2].rpartition(" ")[2]
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("docker") is None, reason="checks what happens when docker finds no engine")
def test_compose_test_says_so_when_there_is_no_engine(tmp_path: Path) -> None:
    script = ROOT / "deploy" / "compose-test.sh"
    nowhere = {"DOCKER_HOST": f"unix://{tmp_path}/none", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run([script], env=nowhere, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 2
    assert f"no Docker engine answers at unix://{tmp_path}/none" in done.stderr
    assert "set DOCKER_HOST" in done.stderr
