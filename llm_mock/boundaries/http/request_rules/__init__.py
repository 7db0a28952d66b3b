"""Rules by which providers refuse requests.

Each API has a module with its rules and a `RULES`, or several for its variants. `rule.py` says what
a rule is, and `lookup.py` finds the rules for a request. A rule holds at the provider's own hosts:
what a compatible provider or a gateway accepts is not known.
"""
