"""What dashboards ask: other people's, and our own."""

import json
import re
from pathlib import Path

import pytest
from observed import LABELS

HERE = Path(__file__).parent
OURS = HERE.parents[1] / "dashboards" / "aplomb.json"


def lines(name):
    text = (HERE / name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def selector(metric, dashboard):
    """The metric with the labels that the dashboard adds to every query."""
    name, _, matchers = metric.partition("{")
    added = {"strimzi": ("namespace", "strimzi_io_cluster"), "confluent": ("job", "env"), "exporter": ()}[dashboard]
    own = [matchers.rstrip("}")] if matchers else []
    return name + "{" + ",".join(own + [f'{label}="{LABELS[label]}"' for label in added]) + "}"


@pytest.mark.parametrize("line", lines("panels.txt"))
def test_a_panel_has_something_to_show(prometheus, line):
    dashboard, how, metric, by = re.fullmatch(r"(\w+) (\w+) (\S+)(?: by (\S+))?", line).groups()
    query = selector(metric, dashboard)
    if how == "rate":
        query = f"irate({query}[5m])" if dashboard == "strimzi" else f"rate({query}[5m])"
    query = f"sum({query}) by ({by})" if by else f"sum({query})"
    found = prometheus.query(query)
    assert found, query
    for label in (by or "").split(","):
        assert all(series["metric"].get(label) for series in found) or not by, f"{query}: {found}"


@pytest.mark.parametrize("line", lines("left_out.txt"))
def test_what_is_left_out_is_not_there(prometheus, line):
    metric, _, reason = line.partition(" ")
    assert reason
    assert prometheus.query(metric) == [], f"{metric} is there now: its panel is to be tried"


def our_queries():
    dashboard = json.loads(OURS.read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield pytest.param(target["expr"], id=f"{panel['title']}: {target['refId']}")


@pytest.mark.parametrize("expression", list(our_queries()))
def test_our_own_dashboard_has_something_to_show(prometheus, expression):
    query = expression.replace("$__rate_interval", "1m").replace("$instance", ".*")
    assert "$" not in query
    assert prometheus.query(query), query


def test_our_own_dashboard_lets_one_choose_an_instance(prometheus):
    dashboard = json.loads(OURS.read_text())
    (variable,) = dashboard["templating"]["list"]
    metric = re.fullmatch(r"label_values\((\w+), *instance\)", variable["query"]["query"]).group(1)
    assert prometheus.query(metric)
