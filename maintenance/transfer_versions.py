"""The queries by which earlier texts of summaries leave the database and come into another: part of `transfer`."""

from __future__ import annotations
