import socket
from pathlib import Path

import pytest

from bus.permissions import PERMISSIONS
from cli.up.folder import DataFolder
from cli.up.services import SERVICES, all_roles
from cli.up.settings import load_settings
from cli.up.stack import Stack, assemble
from store.migrate import ROLES


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    built = assemble(DataFolder(tmp_path), load_settings(port=0), None)
    yield built
    built.listener.close()


def test_every_service_has_a_nats_user_and_two_logins() -> None:
    assert {service.name for service in SERVICES} == set(PERMISSIONS) - {"admin"}
    assert set(all_roles()) == set(ROLES)


def test_one_gateway_two_runners_three_servers(stack: Stack) -> None:
    assert [program.name for program in stack.servers] == ["nats", "postgres", "valkey"]
    assert [program.name for program in stack.services] == ["gateway-1", "turn-runner-1", "turn-runner-2"]


def test_the_gateway_gets_the_public_socket_and_the_runners_do_not(stack: Stack) -> None:
    gateway, runner, _ = stack.services
    listener = socket.socket(fileno=socket.dup(gateway.inherited[0]))
    with listener:
        assert listener.getsockname()[1] == gateway.ports[0]
    assert gateway.env["RETINUE_LISTEN_FD"] == str(gateway.inherited[0])
    assert "RETINUE_LISTEN_FD" not in runner.env
    assert "REDIS_URL" in gateway.env
    assert "REDIS_URL" not in runner.env


def test_each_service_logs_in_as_itself(stack: Stack) -> None:
    gateway, runner, other = stack.services
    assert gateway.env["DATABASE_URL"].startswith("postgresql://gateway:")
    assert runner.env["RETINUE_DATABASE_SYSTEM_URL"].startswith("postgresql://turn_runner_system:")
    assert runner.env["NATS_URL"].startswith("nats://turn_runner:")
    assert runner.env["RETINUE_METRICS_TOKEN"] != other.env["RETINUE_METRICS_TOKEN"]


def test_no_password_is_an_argument(stack: Stack) -> None:
    arguments = " ".join(part for program in (*stack.servers, *stack.services) for part in program.argv)
    assert not any(secret in arguments for secret in stack.ground.secrets.values())


def test_numbers_of_instances_are_settings(tmp_path: Path) -> None:
    built = assemble(DataFolder(tmp_path), load_settings(port=0, gateways=2, turn_runners=1), None)
    with built.listener:
        assert [program.name for program in built.services] == ["gateway-1", "gateway-2", "turn-runner-1"]


def test_a_service_and_its_twin_differ_in_their_health_ports_alone(stack: Stack) -> None:
    for program in stack.services:
        twin = program.beside()
        assert (twin.name, twin.argv, twin.inherited) == (program.name, program.argv, program.inherited)
        assert twin.ports[-1] != program.ports[-1]
        assert twin.ports[:-1] == program.ports[:-1]
        told = {key for key in program.env if program.env[key] != twin.env[key]}
        assert told == {"RETINUE_HEALTH_PORT"}
        assert twin.beside().ports == program.ports
        assert twin.beside().beside().ports == twin.ports


def test_a_server_cannot_run_beside_itself(stack: Stack) -> None:
    for program in stack.servers:
        with pytest.raises(ValueError, match=f"{program.name} has no twin"):
            program.beside()
