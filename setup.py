"""Entry for tools that still ask for it; everything is declared in ``setup.cfg``."""

from setuptools import setup

setup()
