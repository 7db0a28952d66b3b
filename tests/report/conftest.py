"""Fixtures of the tests of the report."""

from .browser import browser as browser
from .browser import open_page as open_page
