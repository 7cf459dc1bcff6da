"""JSON against a JSON schema of draft 4. A keyword that is not known here is an error: nothing is skipped unseen."""

from __future__ import annotations

import re

SAYS_NOTHING = {"$schema", "id", "title", "description", "default", "definitions"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
         "null": type(None)}


class Schema:
    def __init__(self, root: dict) -> None:
        self.root = root

    def violations(self, value: object) -> list[str]:
        return list(self._check(value, self.root, "$"))

    def _check(self, value, schema, at):
        for keyword, rule in schema.items():
            if keyword in SAYS_NOTHING:
                continue
            yield from getattr(self, "_" + keyword.removeprefix("$"))(value, rule, at, schema)

    def _ref(self, value, rule, at, _):
        assert rule.startswith("#/")
        schema = self.root
        for part in rule[2:].split("/"):
            schema = schema[part]
        yield from self._check(value, schema, at)

    def _type(self, value, rule, at, _):
        allowed = rule if isinstance(rule, list) else [rule]
        if not any(isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool)) for name in allowed):
            yield f"{at}: {value!r} is no {rule}"

    def _enum(self, value, rule, at, _):
        if value not in rule:
            yield f"{at}: {value!r} is none of {rule}"

    def _properties(self, value, rule, at, _):
        if isinstance(value, dict):
            for name in value.keys() & rule.keys():
                yield from self._check(value[name], rule[name], f"{at}.{name}")

    def _additionalProperties(self, value, rule, at, schema):
        if not isinstance(value, dict):
            return
        for name in value.keys() - schema.get("properties", {}).keys():
            if rule is False:
                yield f"{at}: {name} is not known"
            elif isinstance(rule, dict):
                yield from self._check(value[name], rule, f"{at}.{name}")

    def _required(self, value, rule, at, _):
        if isinstance(value, dict):
            yield from (f"{at}: {name} is missing" for name in rule if name not in value)

    def _items(self, value, rule, at, _):
        if isinstance(value, list):
            for number, item in enumerate(value):
                yield from self._check(item, rule, f"{at}[{number}]")

    def _minItems(self, value, rule, at, _):
        if isinstance(value, list) and len(value) < rule:
            yield f"{at}: fewer than {rule}"

    def _uniqueItems(self, value, rule, at, _):
        if rule and isinstance(value, list) and any(item in value[:number] for number, item in enumerate(value)):
            yield f"{at}: one is there twice"

    def _minimum(self, value, rule, at, _):
        if isinstance(value, (int, float)) and value < rule:
            yield f"{at}: {value} is below {rule}"

    def _maximum(self, value, rule, at, _):
        if isinstance(value, (int, float)) and value > rule:
            yield f"{at}: {value} is above {rule}"

    def _pattern(self, value, rule, at, _):
        if isinstance(value, str) and not re.search(rule, value):
            yield f"{at}: {value!r} does not match {rule}"

    def _format(self, value, rule, at, _):
        assert rule in ("uri", "uri-reference", "date-time"), rule
        if rule.startswith("uri") and isinstance(value, str) and re.search(r"[\s<>\"{}|\\^`]", value):
            yield f"{at}: {value!r} is no {rule}"

    def _anyOf(self, value, rule, at, _):
        if all(list(self._check(value, schema, at)) for schema in rule):
            yield f"{at}: {value!r} fits no alternative"

    def _oneOf(self, value, rule, at, _):
        if sum(not list(self._check(value, schema, at)) for schema in rule) != 1:
            yield f"{at}: {value!r} does not fit exactly one alternative"
