"""Families of OpenAI's models, by what they support.

A name that is in no family is that of a model that is not known, of which nothing is refused.
"""

from __future__ import annotations

import re

_DATE = r"(-\d{4}-\d{2}-\d{2})?$"
REASONING = re.compile(rf"^(ft:)?(o1|o3|o4-mini|o3-mini|gpt-5|gpt-5-mini|gpt-5-nano){_DATE}")
"""Models that always reason; of GPT-5 not the chat models, and none after it."""
NEWER_REASONING = re.compile(rf"^gpt-5\.\d+(-mini|-nano|-sol|-terra|-luna)?{_DATE}")
"""Models that reason only if an effort is set, or by default, by version."""
FIRST_REASONING = re.compile(r"^(o1-mini|o1-preview)(-|$)")
"""Models that have neither tools nor system messages."""
NO_STOP = re.compile(rf"^(o3|o4-mini){_DATE}")
"""Models that take no stop sequences."""
NO_SAMPLING_TOKENS = re.compile(rf"^gpt-5\.6(-sol|-terra|-luna)?{_DATE}")
"""Models that take no stop sequences, biases or predictions, even if they do not reason."""
NO_REASONED_CALLS = re.compile(r"^gpt-(5\.6|6)(-|$)")
"""Models that call functions over Chat Completions only if their effort is `none`."""
RESPONSES_ONLY = re.compile(r"^(o1-pro|o3-pro|codex-mini-latest|gpt-5-pro|gpt-5(\.1)?-codex)(-|$)")
"""Models that Chat Completions does not have."""
NO_CHAT = re.compile(r"^(gpt-5\.\d+-pro|gpt-3\.5-turbo-instruct|davinci-002|babbage-002)(-|$)")
"""Models that Chat Completions does not take for chat models."""
NOT_REASONING = re.compile(r"^(gpt-3\.5|gpt-4)")
"""Models that never reason."""
NO_JSON_SCHEMA = re.compile(r"^(gpt-3\.5-turbo|gpt-4(-\d{4})?$|gpt-4-turbo|gpt-4o-2024-05-13$)")
"""Models before structured outputs."""
NO_JSON_MODE = re.compile(r"^(gpt-4(-0\d{3})?|gpt-4-32k.*|gpt-3\.5-turbo-(0301|0613))$")
"""Models before the JSON mode."""
NO_IMAGES = re.compile(r"^(gpt-3\.5-turbo|o1-mini|o1-preview|o3-mini)(-|$)")
"""Models that read no images."""
NO_AUDIO = re.compile(r"^(gpt-3|gpt-4|gpt-5|o\d)(?!.*audio)")
"""Models that hear nothing."""
SEARCHES = re.compile(r"^gpt-4o(-mini)?-search-preview|^gpt-5-search")
"""Models of Chat Completions that search the web."""
