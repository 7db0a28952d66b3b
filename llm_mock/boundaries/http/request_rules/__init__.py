"""Rules by which providers refuse requests.

Each API has a module with its rules and one or more `RuleSet`s. `rule.py` defines a rule, and
`lookup.py` finds the rules for a request. The rules apply only to the provider's own hosts, as
compatible providers and gateways may accept other requests.
"""
