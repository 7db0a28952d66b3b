"""Families of OpenAI's models, by the features that they support.

A model that belongs to no family is unknown, and its requests are not refused.
"""

from __future__ import annotations

import re

_DATE = r"(-\d{4}-\d{2}-\d{2})?$"
REASONING = re.compile(rf"^(ft:)?(o1|o3|o4-mini|o3-mini|gpt-5|gpt-5-mini|gpt-5-nano){_DATE}")
"""Models that always reason, without the chat models of GPT-5 and without later models."""
NEWER_REASONING = re.compile(rf"^gpt-5\.\d+(-mini|-nano|-sol|-terra|-luna)?{_DATE}")
"""Models that can turn reasoning off; the default depends on the version."""
FIRST_REASONING = re.compile(r"^(o1-mini|o1-preview)(-|$)")
"""Models that support neither tools nor system messages."""
NO_STOP = re.compile(rf"^(o3|o4-mini){_DATE}")
"""Models that do not accept stop sequences."""
NO_SAMPLING_TOKENS = re.compile(rf"^gpt-5\.6(-sol|-terra|-luna)?{_DATE}")
"""Models that do not accept stop sequences, biases or predictions, even without reasoning."""
NO_REASONED_CALLS = re.compile(r"^gpt-(5\.6|6)(-|$)")
"""Models that call functions in Chat Completions only if the effort is `none`."""
RESPONSES_ONLY = re.compile(r"^(o1-pro|o3-pro|codex-mini-latest|gpt-5-pro|gpt-5(\.1)?-codex)(-|$)")
"""Models that Chat Completions does not offer."""
NO_CHAT = re.compile(r"^(gpt-5\.\d+-pro|gpt-3\.5-turbo-instruct|davinci-002|babbage-002)(-|$)")
"""Models that are not chat models for Chat Completions."""
NOT_REASONING = re.compile(r"^(gpt-3\.5|gpt-4)")
"""Models that never reason."""
NO_JSON_SCHEMA = re.compile(r"^(gpt-3\.5-turbo|gpt-4(-\d{4})?$|gpt-4-turbo|gpt-4o-2024-05-13$)")
"""Models before structured outputs."""
NO_JSON_MODE = re.compile(r"^(gpt-4(-0\d{3})?|gpt-4-32k.*|gpt-3\.5-turbo-(0301|0613))$")
"""Models before the JSON mode."""
NO_IMAGES = re.compile(r"^(gpt-3\.5-turbo|o1-mini|o1-preview|o3-mini)(-|$)")
"""Models that do not accept images."""
NO_AUDIO = re.compile(r"^(gpt-3|gpt-4|gpt-5|o\d)(?!.*audio)")
"""Models that do not accept audio."""
SEARCHES = re.compile(r"^gpt-4o(-mini)?-search-preview|^gpt-5-search")
"""Models of Chat Completions that search the web."""
